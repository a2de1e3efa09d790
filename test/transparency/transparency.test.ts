import { isDeepStrictEqual } from 'node:util';
import { ATTR_CALL_ATTEMPT, ATTR_OUTCOME, ATTR_RETRY_ORIGIN } from '@waybill/core';
import { beforeAll, describe, expect, it } from 'vitest';
import { CLIENTS } from '../wire/support/application.js';
import { comparableRequests, told } from '../wire/support/comparable.js';
import { keyOf, play, toolName, type Played } from '../wire/support/play.js';
import { eleven, scenarios } from './scenarios.js';

const pairs = scenarios.flatMap((scenario) => CLIENTS.map((client) => ({ scenario, client })));
const keys = pairs.map(({ scenario, client }) => keyOf(scenario, client));

let off: Played;
let on: Played;
/** What a busy machine makes of a race is told from what the plugin does by playing that scenario again, alone. */
const REPLAYS = 2;

beforeAll(async () => {
  off = await play(pairs, { plugin: false, concurrency: 24 });
  on = await play(pairs, { plugin: true, concurrency: 24 });
  for (let replay = 1; replay <= REPLAYS; replay += 1) {
    const differing = pairs.filter(({ scenario, client }) => !sameOf(off, on, keyOf(scenario, client)));
    if (differing.length === 0) return;
    console.log(
      `replay ${replay}: ${differing.map(({ scenario, client }) => keyOf(scenario, client)).join('; ')}`,
    );
    off = over(off, await play(differing, { plugin: false, concurrency: 4 }));
    on = over(on, await play(differing, { plugin: true, concurrency: 4 }));
  }
}, 240_000);

const comparable = (played: Played, key: string): unknown => ({
  told: told(played.observed.get(key)),
  requests: comparableRequests(played.requests.get(key) ?? []),
});
const sameOf = (a: Played, b: Played, key: string): boolean =>
  isDeepStrictEqual(comparable(a, key), comparable(b, key));
const over = (played: Played, again: Played): Played => ({
  ...played,
  observed: new Map([...played.observed, ...again.observed]),
  requests: new Map([...played.requests, ...again.requests]),
});

describe.each(CLIENTS)('the outcome that the span of %s carries', (client) => {
  it.each(eleven)('$name: $outcomes', ({ name, outcomes }) => {
    const tool = toolName(keyOf({ name }, client));
    const spans = on.spans.filter((span) => span.name === `tools/call ${tool}` && span.kind === 'client');
    expect(spans.map(({ attributes }) => attributes[ATTR_OUTCOME])).toEqual(outcomes);
    // Two calls that the caller made are two calls: nothing says that the second repeats the first.
    for (const { attributes } of spans) {
      expect(attributes[ATTR_RETRY_ORIGIN] ?? 'none').toBe('none');
      expect(attributes[ATTR_CALL_ATTEMPT] ?? 1).toBe(1);
    }
  });
});

describe('with the plugin as without it', () => {
  it.each(keys)('%s: same results and errors, in the same order', (key) => {
    expect(off.observed.get(key)).toMatchObject({ key });
    expect(told(on.observed.get(key))).toEqual(told(off.observed.get(key)));
  });

  it.each(keys)('%s: same requests', (key) => {
    const without = comparableRequests(off.requests.get(key) ?? []);
    expect(without.length).toBeGreaterThan(0);
    expect(comparableRequests(on.requests.get(key) ?? [])).toEqual(without);
  });

  it('as many promises were rejected that nobody handled', () => {
    const sorted = (reasons: readonly unknown[]): string[] =>
      reasons.map((reason) => JSON.stringify(told(reason))).sort();
    expect(off.unhandled.length).toBeGreaterThan(0);
    expect(sorted(on.unhandled)).toEqual(sorted(off.unhandled));
  });

  it('nothing was thrown past the application, and nothing was written to its stderr', () => {
    expect({ uncaught: on.uncaught, warnings: on.warnings, stderr: on.stderr }).toEqual({
      uncaught: off.uncaught,
      warnings: off.warnings,
      stderr: off.stderr,
    });
    expect(off.uncaught).toEqual([]);
  });
});
