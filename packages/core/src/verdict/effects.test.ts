import { describe, expect, it } from 'vitest';
import { countEffects, effectsInput } from './effects.js';
import type { EffectCount, TargetCount } from './effects.js';

const MAX_ATTEMPTS = 6;

/** What one attempt left behind: proof of an effect by its number, proof of none, or neither. */
type Attempt = number | 'refuted' | 'open';

/** Every history up to six attempts; effects are numbered in order of first appearance, so none is listed twice. */
function* histories(length: number, effects = 0): Generator<readonly Attempt[]> {
  yield [];
  if (length === 0) return;
  for (const rest of histories(length - 1, effects)) {
    yield ['refuted', ...rest];
    yield ['open', ...rest];
  }
  for (let id = 0; id <= effects; id++) {
    for (const rest of histories(length - 1, Math.max(effects, id + 1))) yield [id, ...rest];
  }
}

/** Effect counts of all worlds that fit: every open attempt did or did not add an effect of its own. */
function worlds(attempts: readonly Attempt[], target: TargetCount, deduplicates: boolean): Set<number> {
  const confirmed = new Set(attempts.filter((attempt) => typeof attempt === 'number')).size;
  const open = attempts.filter((attempt) => attempt === 'open').length;
  const counts = new Set<number>();
  for (let choice = 0; choice < 2 ** open; choice++) {
    let added = 0;
    for (let bit = choice; bit > 0; bit >>= 1) added += bit & 1;
    const total = confirmed + added;
    if (deduplicates && added > 0 && total > 1) continue;
    const fits =
      target.kind === 'unread' ||
      (target.kind === 'absent_fenced' && total === 0) ||
      (target.kind === 'exists' && total >= 1) ||
      (target.kind === 'count' && total === target.count);
    if (fits) counts.add(total);
  }
  return counts;
}

const targets: readonly TargetCount[] = [
  { kind: 'unread' },
  { kind: 'absent_fenced' },
  { kind: 'exists' },
  ...Array.from({ length: MAX_ATTEMPTS + 2 }, (_, count) => ({ kind: 'count' as const, count })),
];

describe('countEffects', () => {
  it('equals the enumeration of all worlds for every history of up to six attempts', () => {
    const wrong: unknown[] = [];
    let compared = 0;
    for (const attempts of histories(MAX_ATTEMPTS)) {
      const confirmed = attempts.filter((attempt) => typeof attempt === 'number').map(String);
      const openAttempts = attempts.filter((attempt) => attempt === 'open').length;
      for (const target of targets) {
        for (const deduplicates of [false, true]) {
          const found = countEffects({ confirmed, openAttempts, target, deduplicates });
          const counts = [...worlds(attempts, target, deduplicates)];
          compared += 1;
          const right =
            counts.length === 0
              ? found.contradiction
              : !found.contradiction &&
                found.atLeast === Math.min(...counts) &&
                found.atMost === Math.max(...counts);
          if (!right && wrong.length < 3) wrong.push({ attempts, target, deduplicates, found, counts });
        }
      }
    }
    expect(wrong).toEqual([]);
    expect(compared).toBeGreaterThan(50_000);
  });

  it('covers both claims when target and receipts contradict each other', () => {
    expect(
      countEffects({
        confirmed: ['a', 'b'],
        openAttempts: 1,
        target: { kind: 'count', count: 1 },
        deduplicates: false,
      }),
    ).toEqual({ atLeast: 1, atMost: 3, contradiction: true });
  });
});

describe('effectsInput', () => {
  const cases: readonly [Pick<EffectCount, 'atLeast' | 'atMost'>, string][] = [
    [{ atLeast: 0, atMost: 0 }, 'at_most_one'],
    [{ atLeast: 0, atMost: 1 }, 'at_most_one'],
    [{ atLeast: 1, atMost: 1 }, 'at_most_one'],
    [{ atLeast: 0, atMost: 2 }, 'cannot_tell'],
    [{ atLeast: 1, atMost: 5 }, 'cannot_tell'],
    [{ atLeast: 2, atMost: 2 }, 'two_or_more'],
    [{ atLeast: 2, atMost: 9 }, 'two_or_more'],
  ];
  it.each(cases)('%o -> %s', (count, expected) => {
    expect(effectsInput(count)).toBe(expected);
  });
});
