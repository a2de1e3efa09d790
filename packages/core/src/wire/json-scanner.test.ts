import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonScanner } from './json-scanner.js';
import type { JsonSketch } from './types.js';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
function scan(text: string, split?: number): JsonSketch {
  const scanner = new JsonScanner();
  const bytes = bytesOf(text);
  scanner.push(bytes, 0, split ?? bytes.length);
  if (split !== undefined) scanner.push(bytes, split);
  return scanner.sketch();
}
function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe('JsonScanner', () => {
  it.each([
    ['', 'empty'],
    [' \r\n\t', 'empty'],
    ['{}', 'complete'],
    [' [ 1 , "a" , { "b" : null } ] ', 'complete'],
    ['12', 'complete'],
    ['12.', 'malformed'],
    ['tru', 'malformed'],
    ['"a', 'incomplete'],
    ['{"a":1', 'incomplete'],
    ['{"a":01}', 'malformed'],
    ['{oops', 'malformed'],
    ['{ not valid json', 'malformed'],
    ['{"a":1,}', 'malformed'],
    ['[1,]', 'malformed'],
    ['{"a" 1}', 'malformed'],
    ['[1}', 'malformed'],
    [']', 'malformed'],
    ['"\\x"', 'malformed'],
    ['"\\u00g0"', 'malformed'],
    ['"line\nbreak"', 'malformed'],
    ['{}{}', 'concatenated'],
    ['{"a":1}\n{"a":2}', 'concatenated'],
    ['{} x', 'concatenated'],
  ])('calls %j %s', (text, state) => {
    expect(scan(text).state).toBe(state);
  });

  it('keeps the members of an envelope, the last of two of the same name, and empties containers', () => {
    const text = String.raw`{"jsonrpc":"2.0","i\u0064":1,"id":"\u00e9\n","result":{"id":5,"content":[{"method":1}]},"x":[1]}`;
    expect(scan(text).envelope).toEqual({ jsonrpc: '2.0', id: 'é\n', result: {} });
  });

  it('keeps code and message of an error and nothing else of it', () => {
    const text =
      '{"id":null,"error":{"data":{"code":"x","message":3},"code":-32602,"message":"no","extra":{"code":1}}}';
    expect(scan(text).envelope).toEqual({ id: null, error: { code: -32602, message: 'no' } });
    expect(scan('{"error":{"code":1},"error":null}').envelope).toEqual({ error: null });
    expect(scan('{"error":[{"code":1}]}').envelope).toEqual({ error: [] });
  });

  it('does not keep a member that is too long, and knows that it is there', () => {
    const { envelope } = scan(JSON.stringify({ id: 'a'.repeat(10_000), jsonrpc: '2.0' }));
    expect(envelope?.['jsonrpc']).toBe('2.0');
    expect(envelope).toHaveProperty('id');
    expect(envelope?.['id']).not.toBe('a'.repeat(10_000));
  });

  it('calls a text that is nested deeper than 65,536 levels malformed instead of growing', () => {
    expect(scan('['.repeat(65_536)).state).toBe('incomplete');
    expect(scan('['.repeat(65_537)).state).toBe('malformed');
  });

  it('agrees with JSON.parse on generated texts and their damages, wherever they are split', () => {
    const damaged = fc
      .tuple(
        fc.json({ maxDepth: 4 }),
        fc.nat(),
        fc.constantFrom('', '"', '\\', '{', '}', ',', '0', '\n', 'é', 'e'),
        fc.nat(2),
      )
      .map(([text, at, insert, drop]) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + insert + text.slice(place + drop);
      });
    fc.assert(
      fc.property(fc.oneof(fc.json({ maxDepth: 4 }), damaged), fc.nat(), (text, at) => {
        const length = bytesOf(text).length;
        const whole = scan(text);
        expect(whole.state === 'complete').toBe(parses(text));
        expect(scan(text, at % (length + 1))).toEqual(whole);
      }),
      { numRuns: 3000 },
    );
  });

  it('sees in any envelope what JSON.parse sees', () => {
    const member = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.string(), fc.integer());
    const envelope = fc.record(
      { jsonrpc: member, id: member, method: member, result: member, error: member, other: member },
      { requiredKeys: [] },
    );
    const emptied = (value: unknown): unknown =>
      Array.isArray(value) ? [] : typeof value === 'object' && value !== null ? {} : value;
    fc.assert(
      fc.property(envelope, (object) => {
        const parsed = JSON.parse(JSON.stringify(object)) as Record<string, unknown>;
        const expected = Object.entries(parsed)
          .filter(([key]) => key !== 'other' && key !== 'error')
          .map(([key, value]) => [key, emptied(value)]);
        const seen = { ...scan(JSON.stringify(object)).envelope };
        expect('error' in seen).toBe('error' in parsed);
        delete seen['error'];
        expect(seen).toEqual(Object.fromEntries(expected));
      }),
      { numRuns: 1000 },
    );
  });
});
