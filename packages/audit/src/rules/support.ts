/** What several rules ask of calls and facts. Nothing here knows a format, a file or a report. */
import { isOutcome, type Outcome, type Stage } from '@waybill/core';
import type { Call, EvidenceRef, Fact, Operation, Side, SideOutcome, StageFact } from '../rule.js';

/** The value of a fact that was seen; undefined for one that is absent or was never recorded. */
export function seen<T>(fact: Fact<T> | undefined): T | undefined {
  return fact?.state === 'seen' ? fact.value : undefined;
}

export function stageOf(side: Side | undefined, stage: Stage): StageFact | undefined {
  return seen(side?.stage(stage));
}

export function outcomeOf(side: Side | undefined): SideOutcome | undefined {
  return seen(side?.outcome());
}

/** What the caller saw of the call; where the client left no record, what the server says it answered. */
export function toldBy(call: Call): SideOutcome | undefined {
  return call.client ? outcomeOf(call.client) : outcomeOf(call.server);
}

export function toolOf(call: Call | undefined): string {
  return call?.tool ?? 'the call';
}

/** The first record of each side: enough to find the call in a trace viewer. */
export function placesOf(call: Call): readonly EvidenceRef[] {
  return [call.client?.spans[0], call.server?.spans[0]].filter((place) => place !== undefined);
}

/** Every place of an operation, first record of each side of each call, then its receipts. */
export function placesOfOperation(operation: Operation): readonly EvidenceRef[] {
  return [...operation.calls.flatMap(placesOf), ...operation.receipts.map((receipt) => receipt.at)];
}

/** Place of a stage that was seen, as a list of one, so that callers can spread it. */
export function placeOfStage(side: Side | undefined, stage: Stage): readonly EvidenceRef[] {
  const fact = side?.stage(stage);
  return fact?.state === 'seen' ? [fact.at] : [];
}

/** An attribute that is a non-empty string, from the side that recorded it. */
export function textAttribute(side: Side | undefined, key: string): string | undefined {
  const value = seen(side?.attribute(key));
  return typeof value === 'string' && value !== '' ? value : undefined;
}

const settled: ReadonlySet<Outcome> = new Set<Outcome>([
  'TOOL_SUCCESS',
  'TOOL_ERROR',
  'JSONRPC_ERROR',
  'INPUT_REQUIRED',
  'TASK_PENDING',
]);

/** Calls that ended at the client without a response that says what became of the request. */
export function endedUnanswered(call: Call): boolean {
  if (!call.client) return false;
  const told = outcomeOf(call.client);
  if (told === undefined) {
    return (['client.timeout', 'client.cancelled', 'client.failed'] as const).some(
      (stage) => stageOf(call.client, stage) !== undefined,
    );
  }
  return isOutcome(told.outcome) && !settled.has(told.outcome);
}

/** In the order in which the calls began; ties by call id, so that any order of input gives the same. */
export function inOrder(calls: readonly Call[]): readonly Call[] {
  return [...calls].sort(
    (a, b) => compare(a.startTimeUnixNano, b.startTimeUnixNano) || compare(a.callId, b.callId),
  );
}

export function compare<T extends bigint | string | number>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Legs that are attempts of their own, not rounds or polls of another one. */
export function attempts(operation: Operation): readonly Call[] {
  return inOrder(operation.calls).filter((call) => call.continues === undefined);
}

/** Reads change nothing, so repeating or losing one is never a matter of effects. */
export function mayHaveEffect(call: Call): boolean {
  return call.effectKind !== 'read';
}

/** Whole milliseconds, for messages. */
export function milliseconds(nano: bigint): number {
  return Number(nano / 1_000_000n);
}
