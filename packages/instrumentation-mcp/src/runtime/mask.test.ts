import { describe, expect, it } from 'vitest';
import { maskedText, shapeOf } from './mask.js';

describe('a masked message', () => {
  it.each([
    ['Unknown tool: delete_user', 'Unknown tool: delete_user'],
    ['order 4711 of 3 items', 'order <number> of 3 items'],
    ['card 4111 1111 1111 1111 refused', 'card <number> refused'],
    ['MCP error -32602: bad', 'MCP error -<number>: bad'],
    ['no user anna.b+x@mail.example.org here', 'no user <email> here'],
    ['Bearer abc.def-ghi was refused', 'Bearer <token> was refused'],
    ['token eyJhbGciOi.eyJzdWIi.c2ln expired', 'token <token> expired'],
    ['GET https://api.example/v1/x?key=s3cret&u=anna failed', 'GET https://api.example/v1/x?<query> failed'],
    ['postgres://bob:pw@db/x is down', 'postgres://<credentials>@db/x is down'],
    ['id 6f1c2b7e-0000-4000-8000-00805f9b34fb gone', 'id <id> gone'],
    ['account cus_N9f3kQ2x not found', 'account <id> not found'],
    ['2026-07-28 is no day', '<number> is no day'],
  ])('%s becomes %s', (text, expected) => {
    expect(maskedText(text)).toBe(expected);
  });

  it('has at most 200 characters, and no half of a token at a cut', () => {
    expect(maskedText('word '.repeat(1000))).toHaveLength(200);
    const padded = `${'https://h/p?q='.padEnd(590, 'a')} anna.maria@mail.example.org`;
    expect(maskedText(padded)).not.toContain('anna');
    expect(maskedText('a'.repeat(100_000))).toBe('…');
  });

  it('takes no longer for a text made to be slow', () => {
    for (const piece of ['a.', 'a@', 'ey', '?#', '1 ', 'http://', '-', 'A1-']) {
      const started = performance.now();
      maskedText(piece.repeat(100_000));
      maskedText(piece.repeat(250));
      expect(performance.now() - started, piece).toBeLessThan(500);
    }
  });
});

describe('the shape of a value', () => {
  it('is its keys and types', () => {
    expect(shapeOf({ a: 1, b: 'secret', c: [{ d: null }, 2], e: true, f: [] })).toEqual({
      a: 'number',
      b: 'string',
      c: [{ d: 'null' }],
      e: 'boolean',
      f: [],
    });
  });

  it('ends at three levels, twenty members and forty characters of a key, and masks keys', () => {
    expect(shapeOf({ a: { b: { c: { d: 1 } } } })).toEqual({ a: { b: { c: 'object' } } });
    const wide = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`k${i}`, i]));
    expect(Object.keys(shapeOf(wide))).toHaveLength(20);
    expect(shapeOf({ 'anna@mail.example': 1, ['x'.repeat(99)]: 1 })).toEqual({
      '<email>': 'number',
      ['x'.repeat(40)]: 'number',
    });
  });
});
