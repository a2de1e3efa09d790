import { canonicalJson } from '@waybill/core';
import type { Seen } from './types.js';

/**
 * What a read back says of an effect that was committed. `confirmed`: the target shows it. `superseded`: a later
 * change is there, which says nothing about ours. `denied`: the target does not show it.
 */
export type ReadBack =
  | { readonly kind: 'confirmed'; readonly seen: Seen | undefined }
  | { readonly kind: 'superseded'; readonly seen: Seen }
  | { readonly kind: 'denied'; readonly seen: Seen | undefined; readonly detail: string };

/**
 * Compares what was read with what was to be there.
 *
 * @param expected JSON value; of an object only its fields count; null: the target must be gone.
 * @param appliedVersion version that the write itself returned, where it did.
 * @param seen undefined when the object is not there.
 */
export function judgeReadBack(
  expected: unknown,
  appliedVersion: string | number | undefined,
  seen: Seen | undefined,
): ReadBack {
  if (seen === undefined) {
    return expected === null
      ? { kind: 'confirmed', seen }
      : { kind: 'denied', seen, detail: 'the object is not there' };
  }
  const order = compareVersions(seen.version, appliedVersion);
  // The operation's row proves that our transaction is there, so another version that cannot be older is a later one.
  if (order === 'later' || order === 'different') return { kind: 'superseded', seen };
  if (order === 'earlier') {
    return {
      kind: 'denied',
      seen,
      detail: `the target is at version ${seen.version}, the effect returned ${appliedVersion}`,
    };
  }
  if (expected === null) return { kind: 'denied', seen, detail: 'the object is still there' };
  return matches(expected, seen.observed)
    ? { kind: 'confirmed', seen }
    : { kind: 'denied', seen, detail: 'the target shows something else' };
}

/** Versions are ordered only when both are integers, or text of digits; other text is equal or different. */
function compareVersions(
  seen: string | number | undefined,
  applied: string | number | undefined,
): 'same' | 'later' | 'earlier' | 'different' {
  if (seen === undefined || applied === undefined || String(seen) === String(applied)) return 'same';
  const [a, b] = [String(seen), String(applied)];
  if (!/^\d+$/.test(a) || !/^\d+$/.test(b)) return 'different';
  return BigInt(a) > BigInt(b) ? 'later' : 'earlier';
}

function matches(expected: unknown, observed: unknown): boolean {
  return isObject(expected) && isObject(observed)
    ? Object.entries(expected).every(
        ([key, value]) => value === undefined || (Object.hasOwn(observed, key) && same(value, observed[key])),
      )
    : same(expected, observed);
}

/** The fields of what was observed that `expected` names, so that both can be compared as wholes. */
export function comparedPart(expected: unknown, observed: unknown): unknown {
  if (!isObject(expected) || !isObject(observed)) return observed;
  return Object.fromEntries(
    Object.keys(expected)
      .filter((key) => expected[key] !== undefined && Object.hasOwn(observed, key))
      .map((key) => [key, observed[key]]),
  );
}

function same(a: unknown, b: unknown): boolean {
  if (a === undefined || b === undefined) return a === b;
  return canonicalJson(a, { fractions: 'allow' }) === canonicalJson(b, { fractions: 'allow' });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
