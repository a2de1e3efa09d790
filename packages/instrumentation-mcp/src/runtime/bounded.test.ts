import { describe, expect, it } from 'vitest';
import { OpenMap, RecentMap } from './bounded.js';

describe('OpenMap', () => {
  it('holds what a Map holds, in its order, few or many', () => {
    const open = new OpenMap<number, string>();
    const known = new Map<number, string>();
    let seed = 7;
    for (let step = 0; step < 5000; step++) {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      const key = seed % (step % 1000 < 500 ? 60 : 12);
      if (seed % 3 === 0) {
        open.delete(key);
        known.delete(key);
      } else if (!known.has(key)) {
        open.set(key, `v${step}`);
        known.set(key, `v${step}`);
      }
      expect([open.size, open.get(key), open.oldest()]).toEqual([
        known.size,
        known.get(key),
        known.values().next().value,
      ]);
    }
    expect(open.values()).toEqual([...known.values()]);
  });
});

describe('RecentMap', () => {
  it('finds the newest value of a key and forgets the oldest entries', () => {
    const recent = new RecentMap<number, string>(3);
    for (const [key, value] of [
      [1, 'a'],
      [2, 'b'],
      [1, 'c'],
    ] as const)
      recent.set(key, value);
    expect([recent.get(1), recent.get(2), recent.get(3)]).toEqual(['c', 'b', undefined]);
    recent.set(4, 'd');
    recent.set(5, 'e');
    expect([recent.get(1), recent.get(2), recent.get(4), recent.get(5)]).toEqual(['c', undefined, 'd', 'e']);
  });
});
