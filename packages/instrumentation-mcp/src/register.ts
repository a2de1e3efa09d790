/**
 * `node --import @waybill/instrumentation-mcp/register app.mjs`: installs the loader hook and one McpInstrumentation
 * on the global providers. Starts no SDK. Options come from the module that WAYBILL_CONFIG names.
 */
import { createRequire, register as registerAsynchronous } from 'node:module';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type * as ImportInTheMiddle from 'import-in-the-middle';
import type * as SynchronousHooksModule from 'import-in-the-middle/register-hooks.mjs';
import { McpInstrumentation } from './instrumentation.js';
import { HOOK_INCLUDE } from './loading/packages.js';
import { loadingState } from './loading/state.js';
import type { LoaderHook } from './loading/state.js';
import { CONFIG, warnOnce } from './loading/warnings.js';
import type { McpInstrumentationConfig } from './types.js';

type SynchronousHooks = typeof SynchronousHooksModule;
type HookModule = typeof ImportInTheMiddle;

const PROBE = new URL('./loading/hook-probe.js', import.meta.url);

const state = loadingState();
if (!state.registered) {
  state.registered = true;
  state.preloaded = wasPreloaded();
  if (state.preloaded) {
    state.hook = await installHook();
    void new McpInstrumentation(await readConfig(process.env['WAYBILL_CONFIG']));
  } else {
    // Imported by the program itself: what it imports beside this module does not wait for it, so patch at once.
    const instrumentation = new McpInstrumentation();
    instrumentation.setConfig(await readConfig(process.env['WAYBILL_CONFIG']));
    state.hook = await installHook();
  }
}

/**
 * Hooks are those of the copy of import-in-the-middle that InstrumentationBase uses: what another copy saw would never
 * reach it. A hook counts only if it is seen to work; in Bun it can be registered and does nothing.
 */
async function installHook(): Promise<LoaderHook> {
  // Deno 2.9.6 runs synchronous hooks, and with any of them it compiles JSON that a CommonJS module requires as JavaScript.
  if (process.versions['deno'] !== undefined) return 'none';
  try {
    const base = createRequire(createRequire(import.meta.url).resolve('@opentelemetry/instrumentation'));
    const include = [HOOK_INCLUDE, new RegExp(quoteForRegExp(PROBE.href))];
    const synchronous = await registerSynchronous(base, include);
    if (!synchronous) {
      registerAsynchronous('@opentelemetry/instrumentation/hook.mjs', import.meta.url, { data: { include } });
    }
    if (!(await hookWorks(base('import-in-the-middle') as HookModule))) return 'none';
    return synchronous ? 'synchronous' : 'asynchronous';
  } catch {
    // Without a hook the application's own copy of the SDK is patched in place.
    return 'none';
  }
}

/** False where Node cannot run synchronous hooks (before 22.22.3 and 24.11.1). */
async function registerSynchronous(base: NodeJS.Require, include: RegExp[]): Promise<boolean> {
  try {
    const url = pathToFileURL(base.resolve('import-in-the-middle/register-hooks.mjs')).href;
    const hooks = (await import(url)) as SynchronousHooks;
    if (!hooks.supportsSyncHooks()) return false;
    hooks.register({ include });
    return true;
  } catch {
    return false;
  }
}

async function hookWorks({ Hook }: HookModule): Promise<boolean> {
  let seen = false;
  const probeHook = new Hook([fileURLToPath(PROBE)], { internals: true }, () => {
    seen = true;
  });
  try {
    await import(PROBE.href);
  } finally {
    probeHook.unhook();
  }
  return seen;
}

async function readConfig(path: string | undefined): Promise<McpInstrumentationConfig> {
  if (path === undefined || path === '') return {};
  const file = resolve(path);
  try {
    const module = (await import(pathToFileURL(file).href)) as { default?: unknown };
    if (typeof module.default === 'object' && module.default !== null) return module.default;
    warnOnce(CONFIG, `WAYBILL_CONFIG: ${file} has no default export that is an object. Defaults are used.`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    warnOnce(CONFIG, `WAYBILL_CONFIG: ${file} cannot be loaded (${reason}). Defaults are used.`);
  }
  return {};
}

/** Whether some `--import` or `--require` is in play: then this module was evaluated before the main module. */
function wasPreloaded(): boolean {
  const options = [...process.execArgv, ...(process.env['NODE_OPTIONS'] ?? '').split(/\s+/)];
  return options.some((option) =>
    /^(?:--import|--require|-r|--loader|--experimental-loader)(?:=|$)/.test(option),
  );
}

function quoteForRegExp(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
