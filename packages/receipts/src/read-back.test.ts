import { describe, expect, it } from 'vitest';
import { comparedPart, judgeReadBack } from './read-back.js';
import type { Seen } from './types.js';

const cases: readonly [
  what: string,
  expected: unknown,
  applied: string | number | undefined,
  seen: Seen | undefined,
  kind: string,
][] = [
  ['same value, same version', 'done', 2, { version: 2, observed: 'done' }, 'confirmed'],
  ['same value, version as text', 'done', 2, { version: '2', observed: 'done' }, 'confirmed'],
  ['same value, no version known', 'done', undefined, { observed: 'done' }, 'confirmed'],
  [
    'the fields that matter',
    { status: 'done' },
    2,
    { version: 2, observed: { status: 'done', by: 'x' } },
    'confirmed',
  ],
  [
    'fields in another order',
    { a: { x: 1, y: 2 } },
    2,
    { version: 2, observed: { a: { y: 2, x: 1 } } },
    'confirmed',
  ],
  ['another value', 'done', 2, { version: 2, observed: 'open' }, 'denied'],
  ['a missing field', { status: 'done' }, 2, { version: 2, observed: {} }, 'denied'],
  ['the version before ours', 'done', 2, { version: 1, observed: 'open' }, 'denied'],
  ['the version before ours, with the same value', 'done', 2, { version: 1, observed: 'done' }, 'denied'],
  ['a later version', 'done', 2, { version: 3, observed: 'open' }, 'superseded'],
  ['a later version, 10 after 9', 'done', '9', { version: '10', observed: 'open' }, 'superseded'],
  ['another version without an order', 'done', 'W/"a"', { version: 'W/"b"', observed: 'open' }, 'superseded'],
  ['nothing there', 'done', 2, undefined, 'denied'],
  ['nothing there, as wanted', null, 2, undefined, 'confirmed'],
  ['still there', null, 2, { version: 2, observed: 'open' }, 'denied'],
];

describe('judgeReadBack', () => {
  it.each(cases)('%s', (_, expected, applied, seen, kind) => {
    expect(judgeReadBack(expected, applied, seen).kind).toBe(kind);
  });
});

describe('comparedPart', () => {
  it('keeps of an object the fields that were expected, and anything else whole', () => {
    expect(comparedPart({ a: 1, b: 2 }, { a: 3, c: 4 })).toEqual({ a: 3 });
    expect(comparedPart({ a: 1, b: undefined }, { a: 1, b: 2 })).toEqual({ a: 1 });
    expect(comparedPart('done', { a: 3 })).toEqual({ a: 3 });
    expect(comparedPart({ a: 1 }, 'done')).toBe('done');
  });
});
