import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CanonicalError, canonicalBytes, canonicalJson, duplicateKey, hasDistinctKeys } from './canonical.js';

describe('canonicalJson', () => {
  const forms: readonly [string, unknown, string][] = [
    [
      'sorts members by UTF-16 code units',
      { b: 1, a: 2, '€': 3, '\u{1f600}': 4, '\ufb33': 5 },
      '{"a":2,"b":1,"€":3,"\u{1f600}":4,"\ufb33":5}',
    ],
    ['escapes only what must be escaped', { t: '\u0000\n"\\/é' }, '{"t":"\\u0000\\n\\"\\\\/é"}'],
    ['leaves out what is undefined', { a: undefined, b: null }, '{"b":null}'],
    ['keeps the order of items', [3, 1, 2], '[3,1,2]'],
    ['writes minus zero as zero', { n: -0 }, '{"n":0}'],
  ];
  it.each(forms)('%s', (_, value, expected) => {
    expect(canonicalJson(value)).toBe(expected);
  });

  const cycle: Record<string, unknown> = {};
  cycle['self'] = cycle;
  const refused: readonly [string, unknown, string][] = [
    ['NaN', { a: [Number.NaN] }, '$.a[0]'],
    ['infinity', { a: Infinity }, '$.a'],
    ['a fraction', { target: { version: 1.5 } }, '$.target.version'],
    ['an integer beyond 2^53', 2 ** 53, '$'],
    ['a lone surrogate in a value', { id: '\ud800' }, '$.id'],
    ['a lone surrogate in a name', { '\udc00': 1 }, '$'],
    ['a BigInt', { n: 1n }, '$.n'],
    ['a function', { f: () => 1 }, '$.f'],
    ['an undefined item', [undefined], '$[0]'],
    ['a date', { at: new Date(0) }, '$.at'],
    ['a map', new Map(), '$'],
    ['bytes', new Uint8Array(1), '$'],
    ['nothing', undefined, '$'],
  ];
  it.each(refused)('refuses %s and names the place', (_, value, path) => {
    const attempt = (): string => canonicalJson(value);
    expect(attempt).toThrow(CanonicalError);
    expect(attempt).toThrow(expect.objectContaining({ path }));
  });

  it('refuses a cycle instead of running for ever', () => {
    expect(() => canonicalJson(cycle)).toThrow(/levels, or a cycle/);
  });

  it('writes fractions as RFC 8785 does where they are allowed', () => {
    // Values from RFC 8785 appendix B.
    const allow = { fractions: 'allow' } as const;
    expect(canonicalJson([Number('333333333.33333329'), 1e30, 4.5, 2e-3, 1e-27], allow)).toBe(
      '[333333333.3333333,1e+30,4.5,0.002,1e-27]',
    );
  });

  it('gives UTF-8 bytes', () => {
    expect(canonicalBytes('€')).toEqual(new Uint8Array([0x22, 0xe2, 0x82, 0xac, 0x22]));
  });
});

describe('duplicateKey', () => {
  const cases: readonly [string, string | undefined][] = [
    ['{"a":1,"b":{"a":2}}', undefined],
    ['[{"a":1},{"a":2}]', undefined],
    ['{"a":"a","b":"a"}', undefined],
    ['{"a":{"b":[1,{"c":1,"c":2}]}}', '$.a.b[1].c'],
    ['{"a":1,"\\u0061":2}', '$.a'],
    ['{"a":"{\\"x\\":1,\\"x\\":2}"}', undefined],
    ['{"__proto__":1,"__proto__":2}', '$.__proto__'],
    ['{"":1,"":2}', '$.'],
    ['"a"', undefined],
  ];
  it.each(cases)('%s: %s', (text, expected) => {
    expect(duplicateKey(text)).toBe(expected);
  });
});

const flat = fc.dictionary(
  fc.oneof(fc.string(), fc.constantFrom('2', '10', '__proto__', 'toJSON', '\ufb33', '\u{1f600}')),
  fc.oneof(fc.string({ unit: 'grapheme' }), fc.integer(), fc.boolean(), fc.constant(null), fc.constant(-0)),
);

it('writes what holds nothing nested as the library does', () => {
  fc.assert(
    fc.property(flat, (value) => {
      // What holds something nested is written by the library.
      expect(canonicalJson({ inner: value })).toBe(`{"inner":${canonicalJson(value)}}`);
    }),
  );
});

it('counts no text as one with distinct keys that names a member twice', () => {
  const member = fc.tuple(
    fc.constantFrom('a', 'b', 'c', '"', '":'),
    fc.oneof(fc.constantFrom('x', '":', ','), fc.nat()),
  );
  const texts = fc.array(member, { maxLength: 5 }).map((members) => {
    const written = members.map(([key, value]) => `${JSON.stringify(key)} :${JSON.stringify(value)}`);
    return `{${written.join(', ')}}`;
  });
  let counted = 0;
  fc.assert(
    fc.property(texts, (text) => {
      if (!hasDistinctKeys(text, JSON.parse(text) as Record<string, unknown>)) return;
      counted += 1;
      expect(duplicateKey(text)).toBeUndefined();
    }),
    { numRuns: 1_000 },
  );
  expect(counted).toBeGreaterThan(50);
});
