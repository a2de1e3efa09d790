import { describe, expect, test } from 'vitest';
import { parseMilliseconds, parseMoment, parsePort } from './values.js';

describe('a moment', () => {
  test.each([
    ['2026-09-21T14:13:20Z', 1_790_000_000_000_000_000n],
    ['2026-09-21T16:13:20+02:00', 1_790_000_000_000_000_000n],
    ['2026-09-21T14:13:20.000000001Z', 1_790_000_000_000_000_001n],
    ['1790000000000000001', 1_790_000_000_000_000_001n],
  ])('%s is %s', (text, nano) => {
    expect(parseMoment(text)).toBe(nano);
  });

  test.each(['', 'yesterday', '1790000000', '2026-09-21', '2026-09-21T14:13:20', '2026-99-21T14:13:20Z'])(
    '"%s" is refused',
    (text) => {
      expect(() => parseMoment(text)).toThrow(/Expected a moment/);
    },
  );
});

test.each(['-1', '', 'x', 'Infinity'])('"%s" are no milliseconds', (text) => {
  expect(() => parseMilliseconds(text)).toThrow();
});

test.each(['-1', '', '65536', '80.5', 'http'])('"%s" is no port', (text) => {
  expect(() => parsePort(text)).toThrow();
});
