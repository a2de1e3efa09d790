import { patchExports } from '../patch/index.js';
import type { PatchTarget } from '../patch/index.js';
import type { PatchReport } from '../types.js';
import { loadingState } from './state.js';

/**
 * Patches the classes of one module namespace and remembers the result for `patchReport()`. A module without a class
 * of interest leaves no entry. Never throws: it runs inside the application's `import` and `require`.
 *
 * @param essential Whether a module without any patched class means that calls cannot be seen.
 */
export function patchModule(exports: object, target: PatchTarget, essential: boolean): void {
  const state = loadingState();
  try {
    const { patched, missing } = patchExports(exports, target);
    if (patched.length === 0) {
      if (essential) noteUnpatchable(target);
      return;
    }
    const anchor = firstClass(exports);
    if (anchor !== undefined) {
      const modules = state.known.get(anchor) ?? new Set();
      if (modules.has(target.module)) return;
      state.known.set(anchor, modules.add(target.module));
    }
    state.patched.push({ ...target, missing: [...missing] });
  } catch {
    if (essential) noteUnpatchable(target);
  }
}

/** Once for each: an application may hand over a new client of the same kind for every call. */
function noteUnpatchable(target: PatchTarget): void {
  const { unpatchable } = loadingState();
  if (!unpatchable.includes(label(target))) unpatchable.push(label(target));
}

/** Which modules of the MCP SDKs were patched so far in this process, in order, and which hook points each lacks. */
export function patchReport(): PatchReport {
  return { patched: loadingState().patched.map((entry) => ({ ...entry, missing: [...entry.missing] })) };
}

/**
 * Patches SDK modules that the application hands over: for bundled programs, and where no loader hook can work.
 * Takes effect while a `McpInstrumentation` is enabled, before or after this call.
 *
 * @param modules Module namespaces by a name of the caller's choice, which `patchReport()` repeats.
 * @returns The report of everything patched so far.
 * @example
 * import * as client from '@modelcontextprotocol/client';
 * instrumentModules({ '@modelcontextprotocol/client': client });
 */
export function instrumentModules(modules: Readonly<Record<string, object>>): PatchReport {
  for (const [module, exports] of Object.entries(modules)) {
    if (isObject(exports)) patchModule(exports, { module, version: undefined, format: 'given' }, true);
  }
  return patchReport();
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/** The same function in the module and in what a loader hook shows of it. */
function firstClass(exports: object): object | undefined {
  return Object.values(exports).find((value) => typeof value === 'function');
}

function label(target: PatchTarget): string {
  return `${target.module}${target.version === undefined ? '' : ` ${target.version}`} (${target.format})`;
}
