import { types } from 'node:util';

/** Careful reading of objects that belong to the instrumented SDK: nothing is assumed, nothing throws. */

export type Foreign = Record<PropertyKey, unknown>;
export type AnyFunction = (this: unknown, ...args: readonly unknown[]) => unknown;

/** True for objects and functions: whatever can carry properties. */
export function isForeign(value: unknown): value is Foreign {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

export function isPlainObject(value: unknown): value is Foreign {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isFunction(value: unknown): value is AnyFunction {
  return typeof value === 'function';
}

/** `object[key]`, or undefined when there is no object or its getter throws. */
export function read(object: unknown, key: PropertyKey): unknown {
  if (!isForeign(object)) return undefined;
  try {
    return object[key];
  } catch {
    return undefined;
  }
}

export function readString(object: unknown, key: PropertyKey): string | undefined {
  const value = read(object, key);
  return typeof value === 'string' ? value : undefined;
}

export function readObject(object: unknown, key: PropertyKey): Foreign | undefined {
  const value = read(object, key);
  return isPlainObject(value) ? value : undefined;
}

/** Own data property only: what a peer put there, not what a prototype lends. */
export function readOwn(object: unknown, key: PropertyKey): unknown {
  return isForeign(object) && Object.hasOwn(object, key) ? read(object, key) : undefined;
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return isForeign(value) && isFunction(value['then']);
}

/**
 * A promise that settles as `value` does, with the two told on the way. A derived one: with handlers on the side the
 * application's unhandled rejections would vanish. A thenable that is no promise may give anything from its `then`, and
 * may start its work in it: it is asked once, by the language.
 */
export function follow(
  value: PromiseLike<unknown>,
  onValue: (value: unknown) => void,
  onError: (error: unknown) => void,
): Promise<unknown> {
  const promise = types.isPromise(value) ? value : Promise.resolve(value);
  return promise.then(
    (result) => {
      onValue(result);
      return result;
    },
    (error: unknown) => {
      onError(error);
      throw error;
    },
  );
}

/**
 * Whether `{ ...value, more }` says on the wire what `value` says, and `more`: an object that writes itself, or of which
 * members are inherited, does not survive a copy.
 */
export function isCopyable(value: unknown): value is Foreign {
  if (!isPlainObject(value) || 'toJSON' in value) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
