import { Hook } from 'require-in-the-middle';
import { readManifest } from './application.js';
import { SDK_PACKAGES, V1_PACKAGE, isSupported } from './packages.js';
import { patchModule } from './patches.js';
import { loadingState } from './state.js';

/**
 * A require hook of our own for SDK v1. The one of InstrumentationBase resolves the package's main file first; v1
 * declares one that it does not ship, so that hook gives up without a word and nothing is patched.
 */
export function hookRequireOfV1(): void {
  const state = loadingState();
  if (state.requireHooked) return;
  state.requireHooked = true;
  const sdk = SDK_PACKAGES.find(({ name }) => name === V1_PACKAGE);
  if (sdk === undefined) return;
  // require-in-the-middle names a file without its extension and without a trailing `/index`.
  const byName = new Map(
    sdk.entries.map((entry) => [`${sdk.name}/${entry.cjs}`.replace(/(?:\/index)?\.js$/, ''), entry]),
  );
  // With `index` and without, since it takes both spellings of a specifier.
  void new Hook([...byName.keys()], { internals: true }, (exports, name, folder) => {
    const entry = byName.get(name.replaceAll('\\', '/'));
    if (entry === undefined || typeof exports !== 'object' || exports === null) return exports;
    const version = folder === undefined ? undefined : readManifest(folder)?.version;
    if (isSupported(sdk, version)) {
      patchModule(exports, { module: entry.specifier, version, format: 'cjs' }, entry.essential);
    }
    return exports;
  });
}
