import { type AnyFunction, type Foreign, isFunction } from './foreign.js';
import type { HookPoint } from './hooks.js';
import { holder } from './table.js';

/** Marks a prototype whose methods are wrapped, whoever wraps them again later and whichever copy of ours looks. */
const GUARD = Symbol.for('waybill.patched');

export type WrapResult = 'wrapped' | 'already' | 'missing';

/**
 * Replaces `prototype[method]` by a wrapper that calls the active table. It is never taken back: taking a wrapper out
 * from under another instrumentation's breaks both. With no active table the wrapper is the method itself.
 */
export function wrapMethod(prototype: Foreign, method: string, point: HookPoint): WrapResult {
  const done = guardOf(prototype);
  if (done.has(point)) return 'already';
  const descriptor = Object.getOwnPropertyDescriptor(prototype, method);
  const original: unknown = descriptor?.value;
  if (descriptor === undefined || !isFunction(original)) return 'missing';
  try {
    Object.defineProperty(prototype, method, { ...descriptor, value: around(original, point) });
  } catch {
    return 'missing'; // a frozen prototype
  }
  done.add(point);
  return 'wrapped';
}

function guardOf(prototype: Foreign): Set<string> {
  const known = Object.hasOwn(prototype, GUARD) ? prototype[GUARD] : undefined;
  if (known instanceof Set) return known as Set<string>;
  const fresh = new Set<string>();
  try {
    Object.defineProperty(prototype, GUARD, { value: fresh, enumerable: false, configurable: true });
  } catch {
    // Frozen: the method cannot be replaced either.
  }
  return fresh;
}

/**
 * Runs a handler around `original`. Whatever goes wrong in the handler, the caller gets what `original` gave: it is
 * called once, its value or its error comes back.
 */
export function around(original: AnyFunction, point: HookPoint): AnyFunction {
  const wrapper = function (this: object, ...args: readonly unknown[]): unknown {
    const table = holder().active;
    const handler = table?.handlers[point];
    if (table === undefined || handler === undefined || !table.isEnabled(point))
      return Reflect.apply(original, this, args);
    let outcome: { readonly value: unknown } | { readonly error: unknown } | undefined;
    const proceed = (other: readonly unknown[] = args): unknown => {
      try {
        const value = Reflect.apply(original, this, other);
        outcome = { value };
        return value;
      } catch (error) {
        outcome = { error };
        throw error;
      }
    };
    try {
      return handler({ self: this, args, proceed });
    } catch (error) {
      if (outcome === undefined) {
        table.failed(point, error);
        return Reflect.apply(original, this, args);
      }
      if ('error' in outcome) throw outcome.error;
      table.failed(point, error);
      return outcome.value;
    }
  };
  return named(wrapper as AnyFunction, original);
}

/** The wrapper with the name and the length of what it wraps. */
export function named(wrapper: AnyFunction, original: AnyFunction): AnyFunction {
  return Object.defineProperties(wrapper, {
    name: { value: original.name, configurable: true },
    length: { value: original.length, configurable: true },
  });
}
