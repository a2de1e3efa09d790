import {
  InstrumentationNodeModuleDefinition,
  InstrumentationNodeModuleFile,
} from '@opentelemetry/instrumentation';
import type { SdkEntry, SdkPackage } from './packages.js';
import { SDK_PACKAGES } from './packages.js';
import { patchModule } from './patches.js';

/**
 * What the hooks of InstrumentationBase look for: one definition per package, and one file definition per file and
 * format. Only prototypes are patched and never undone: `disable()` makes the wrappers fall through, so that whoever
 * wrapped after us keeps working.
 */
export function moduleDefinitions(): InstrumentationNodeModuleDefinition[] {
  return SDK_PACKAGES.map((sdk) => {
    const main = sdk.entries.find(({ specifier }) => specifier === sdk.name);
    const definition = new InstrumentationNodeModuleDefinition(
      sdk.name,
      [sdk.supported],
      main === undefined ? undefined : patchOf(main, undefined),
      undefined,
      sdk.entries.flatMap((entry) => files(sdk, entry)),
    );
    // Read by the base, absent from the type of the class.
    return Object.assign(definition, { includePrerelease: true });
  });
}

function files(sdk: SdkPackage, entry: SdkEntry): InstrumentationNodeModuleFile[] {
  return (['esm', 'cjs'] as const).map(
    (format) =>
      new InstrumentationNodeModuleFile(
        `${sdk.name}/${entry[format]}`,
        [sdk.supported],
        patchOf(entry, format),
        () => undefined,
      ),
  );
}

function patchOf(
  entry: SdkEntry,
  format: 'esm' | 'cjs' | undefined,
): (exports: unknown, version?: string) => unknown {
  return (exports, version) => {
    if ((typeof exports === 'object' && exports !== null) || typeof exports === 'function') {
      const target = { module: entry.specifier, version, format: format ?? formatOf(exports) };
      patchModule(exports, target, entry.essential);
    }
    return exports;
  };
}

/** A package's main module comes in either format; only a namespace of an ES module has this tag. */
function formatOf(exports: object): 'esm' | 'cjs' {
  return (exports as { [Symbol.toStringTag]?: unknown })[Symbol.toStringTag] === 'Module' ? 'esm' : 'cjs';
}
