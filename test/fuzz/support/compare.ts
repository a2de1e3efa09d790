/** Whether an application can tell that the plugin is there, from what it was told and when. */
import { playLive, type LiveInput, type LiveRun, type Told } from './live.js';

/** How much later than without the plugin an answer may come on a busy machine. */
const MARGIN_MS = 1500;
export interface Pair {
  readonly on: LiveRun;
  readonly off: LiveRun;
}

/** Numbers of the inputs that were answered in another way, or later. */
export function differences({ on, off }: Pair, count: number): readonly number[] {
  return Array.from({ length: count }, (_, number) => number).filter((number) => {
    const a = on.observed.get(number);
    const b = off.observed.get(number);
    if (a?.told === undefined || b?.told === undefined) return true;
    return textOf(a.told) !== textOf(b.told) || a.ms > b.ms + MARGIN_MS;
  });
}

/** Plays by itself of an input that was answered differently: quickly first, then with all the time in the world. */
const STRICTER: readonly Replay[] = [
  { replays: 2, timeoutMs: 1500, concurrency: 12 },
  { replays: 3, timeoutMs: 8000, concurrency: 3 },
];

interface Replay {
  /** A race within the SDK may end either way without us too. */
  readonly replays: number;
  readonly timeoutMs: number;
  readonly concurrency: number;
}

/**
 * Plays inputs by themselves, several times each, and once more those that still differ: on a busy machine a caller gives
 * up before it is answered. What is wrong with those that remain: an answer that does not come without the plugin, or
 * one that comes later.
 */
export async function confirm(inputs: readonly LiveInput[]): Promise<ReadonlyMap<LiveInput, string>> {
  let problems = new Map(inputs.map((input) => [input, '']));
  for (const replay of STRICTER) problems = await replayed([...problems.keys()], replay);
  return problems;
}

async function replayed(
  inputs: readonly LiveInput[],
  { replays, timeoutMs, concurrency }: Replay,
): Promise<Map<LiveInput, string>> {
  const problems = new Map<LiveInput, string>();
  if (inputs.length === 0) return problems;
  const repeated = inputs.flatMap((input) => Array.from({ length: replays }, () => input));
  const options = { timeoutMs, concurrency, laneLength: 1 };
  const on = await playLive(repeated, { ...options, plugin: true });
  const off = await playLive(repeated, { ...options, plugin: false });
  for (const [place, input] of inputs.entries()) {
    const numbers = Array.from({ length: replays }, (_, index) => place * replays + index);
    const answers = (run: LiveRun): readonly string[] =>
      numbers.map((number) => textOf(run.observed.get(number)?.told));
    const without = new Set(answers(off));
    const foreign = answers(on).filter((answer) => !without.has(answer));
    const slowest = (run: LiveRun): number =>
      Math.max(...numbers.map((number) => run.observed.get(number)?.ms ?? Number.POSITIVE_INFINITY));
    if (foreign.length > 0) problems.set(input, `${foreign[0]} instead of ${[...without].join(' or ')}`);
    else if (slowest(on) > slowest(off) + MARGIN_MS) {
      problems.set(input, `took ${slowest(on).toFixed(0)} ms instead of ${slowest(off).toFixed(0)}`);
    }
  }
  return problems;
}

/** A connection that was reset is told as either, with and without the plugin: which comes first is the kernel's affair. */
const BROKEN: ReadonlySet<unknown> = new Set(['ECONNRESET', 'UND_ERR_SOCKET']);

function textOf(told: Told | undefined): string {
  if (told === undefined) return 'no answer';
  return JSON.stringify(told, (_, value: unknown) =>
    typeof value === 'object' && value !== null && BROKEN.has(Reflect.get(value, '.code'))
      ? 'the connection broke'
      : value,
  );
}
