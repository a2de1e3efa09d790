import { findClasses } from './classes.js';
import { HOOKS } from './hooks.js';
import { holder } from './table.js';
import { wrapMethod } from './wrap.js';

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
 * Patches the prototypes of the SDK classes found in `exports`, and of their ancestors, in place. Idempotent; never
 * throws. The wrappers call the runtime that is installed at the time of the call, and fall straight through when there
 * is none.
 */
export function patchExports(exports: object, target: PatchTarget): PatchResult {
  void target; // part of the contract: the report of the loader names it
  const patched = new Set<string>();
  const missing = new Set<string>();
  for (const { name, prototype } of findClasses(exports)) {
    for (const hook of HOOKS) {
      if (hook.class !== name) continue;
      const result = wrapMethod(prototype, hook.method, hook.point);
      if (result !== 'missing') patched.add(name);
      else if (hook.need === 'required') missing.add(hook.point);
    }
  }
  for (const point of missing) holder().missing.add(point);
  return { patched: [...patched].toSorted(), missing: [...missing].toSorted() };
}
