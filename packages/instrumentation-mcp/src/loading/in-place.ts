import { createRequire } from 'node:module';
import { join, sep } from 'node:path';
import { findApplication, isFile, readManifest } from './application.js';
import { findSdkCopies } from './dependency-tree.js';
import { SDK_PACKAGES, isSupported } from './packages.js';
import type { SdkEntry, SdkPackage } from './packages.js';
import { patchModule } from './patches.js';
import { loadingState } from './state.js';
import { NOT_PATCHED, REMEDY, warnOnce } from './warnings.js';

/**
 * Patches the CommonJS modules of MCP SDKs that are loaded already: prototypes can be patched at any time. Warns when
 * one of them cannot be.
 */
export function patchLoadedCommonJs(): void {
  const state = loadingState();
  const before = state.unpatchable.length;
  const foreign: string[] = [];
  for (const [file, module] of Object.entries(createRequire(join(process.cwd(), 'noop.js')).cache)) {
    const found = locate(file);
    if (found === undefined || module?.loaded !== true) continue;
    const exports: unknown = module.exports;
    if (typeof exports !== 'object' || exports === null) continue;
    const version = readManifest(found.folder)?.version;
    if (!isSupported(found.sdk, version)) {
      if (found.entry.essential) foreign.push(`${found.sdk.name} ${version ?? '(no version)'}`);
      continue;
    }
    patchModule(exports, { module: found.entry.specifier, version, format: 'cjs' }, found.entry.essential);
  }
  const failed = [...foreign, ...state.unpatchable.slice(before)];
  if (failed.length > 0) {
    warnOnce(
      NOT_PATCHED,
      `Loaded before the instrumentation and not patchable: ${failed.join(', ')}. Supported are ${ranges()}. ${REMEDY}`,
    );
  }
}

/**
 * Loads the application's own copies of the SDK as ES modules and patches them, once per process: the way in where no
 * loader hook is active. `require` of an ES module (Node 20.19 and later) gives the very module that a later `import`
 * gets, synchronously, so that nothing can run before it is patched. It loads only what the dependency tree of the
 * application declares, and only where an ES module may import it; CommonJS is seen by the require hook.
 */
export function patchInPlace(): void {
  const state = loadingState();
  if (state.inPlaceDone || !needsInPlace()) return;
  state.inPlaceDone = true;
  const application = findApplication();
  for (const copy of findSdkCopies(application)) {
    if (!copy.importedByEsm || !isSupported(copy.sdk, copy.version)) continue;
    const requireFromCopy = createRequire(join(copy.folder, 'package.json'));
    for (const entry of copy.sdk.entries) {
      const file = join(copy.folder, entry.esm);
      if (!isFile(file)) continue;
      const target = { module: entry.specifier, version: copy.version, format: 'esm' } as const;
      try {
        const exports: unknown = requireFromCopy(file);
        if (typeof exports === 'object' && exports !== null) patchModule(exports, target, entry.essential);
      } catch {
        // A peer that is not installed, or a runtime without require(esm): what stays unpatched is told at exit.
        if (entry.essential) state.unpatchable.push(`${entry.specifier} (esm)`);
      }
    }
  }
}

/**
 * A synchronous hook that was there before the application sees every way of loading. An asynchronous one misses ES
 * modules that CommonJS code requires (Node 20), so a CommonJS application is patched in place as well.
 */
function needsInPlace(): boolean {
  const { hook, preloaded } = loadingState();
  if (hook === 'none' || !preloaded) return true;
  return hook === 'asynchronous' && findApplication().format === 'cjs';
}

function locate(
  file: string,
): { readonly sdk: SdkPackage; readonly entry: SdkEntry; readonly folder: string } | undefined {
  if (!file.includes('@modelcontextprotocol')) return undefined;
  const path = file.split(sep).join('/');
  for (const sdk of SDK_PACKAGES) {
    const at = path.lastIndexOf(`/${sdk.name}/dist/`);
    if (at === -1) continue;
    const inside = path.slice(at + sdk.name.length + 2);
    const entry = sdk.entries.find(({ cjs }) => cjs === inside);
    if (entry !== undefined) return { sdk, entry, folder: file.slice(0, at + sdk.name.length + 1) };
  }
  return undefined;
}

function ranges(): string {
  return SDK_PACKAGES.map(({ name, supported }) => `${name} ${supported}`).join(', ');
}
