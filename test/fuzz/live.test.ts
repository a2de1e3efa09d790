import { OUTCOMES } from '@waybill/core';
import { beforeAll, describe, expect, it } from 'vitest';
import { confirm, differences, type Pair } from './support/compare.js';
import { keep } from './support/corpus.js';
import { liveInput, playLive } from './support/live.js';
import { seedOf } from './support/random.js';
import { SEED, inputCount } from './support/run.js';

const INPUTS = inputCount(1000);
/** What the heap may grow by beyond what it grows by without the plugin, in bytes: noise of the collector. */
const HEAP_MARGIN = 6_000_000;

const inputs = Array.from({ length: INPUTS }, (_, index) => liveInput(seedOf(SEED, index)));
let pair: Pair;
beforeAll(async () => {
  const options = { timeoutMs: 400, concurrency: 12, laneLength: 25 };
  const on = await playLive(inputs, { ...options, plugin: true });
  const off = await playLive(inputs, { ...options, plugin: false });
  pair = { on, off };
}, 1_800_000);

describe(`${INPUTS} mutated replies to real clients, seed ${SEED}`, () => {
  it('are answered as without the plugin, and no later', { timeout: 1_800_000 }, async () => {
    const suspects = differences(pair, INPUTS).flatMap((number) => inputs[number] ?? []);
    const problems = await confirm(suspects);
    console.log(
      `taps: ${INPUTS} inputs, seed ${SEED}; ${suspects.length} played again by themselves, ${problems.size} differ`,
    );
    expect([...problems].slice(0, 5).map(([input, problem]) => `kept as ${keep(input)}: ${problem}`)).toEqual(
      [],
    );
  });

  it('leave no rejection unhandled and no exception uncaught that were not there without it', () => {
    expect(pair.on.unhandled).toHaveLength(pair.off.unhandled.length);
  });

  it('make no hook of the plugin fail', () => {
    expect(pair.on.warnings.filter(({ code }) => code?.startsWith('WAYBILL_') === true)).toEqual([]);
  });

  it('hang no call', () => {
    for (const run of [pair.on, pair.off]) {
      expect([...run.observed.values()].filter(({ told }) => told?.hangs === true)).toEqual([]);
    }
  });

  it('leave no more in memory than without it', () => {
    const growth = ({ heap: [before, after] }: Pair['on']): number => after - before;
    console.log(`heap: grew by ${growth(pair.on)} bytes, by ${growth(pair.off)} without the plugin`);
    expect(growth(pair.on)).toBeLessThan(Math.max(0, growth(pair.off)) + HEAP_MARGIN);
  });

  it('give spans an outcome and a reason of the vocabulary, one a call', () => {
    const legal = new Set(
      OUTCOMES.flatMap(({ outcome, reasons }) => [
        outcome,
        ...reasons.map((reason) => `${outcome} ${reason}`),
      ]),
    );
    console.log(`outcomes: ${JSON.stringify(pair.on.outcomes)}`);
    expect(Object.keys(pair.on.outcomes).filter((name) => !legal.has(name))).toEqual([]);
    const spans = Object.values(pair.on.outcomes).reduce((sum, count) => sum + count, 0);
    expect(spans).toBeGreaterThanOrEqual(INPUTS);
  });
});
