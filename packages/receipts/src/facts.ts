import { digestOf } from './digest.js';
import type { EffectIds } from './ids.js';
import type { OperationKey, OperationRow } from './operations.js';
import { comparedPart } from './read-back.js';
import type { EffectDatabase, EffectOutcome, EffectRequest, ReceiptFacts, Seen } from './types.js';

/** What is fixed before anything is written. */
export interface Plan<C> {
  readonly database: EffectDatabase<C>;
  readonly request: EffectRequest<C>;
  readonly ids: EffectIds;
  readonly key: OperationKey;
  readonly paramsHash: string;
  readonly effectId: string;
  readonly receiptId: string;
}

/** The row of an attempt that begins; until it is settled, its facts are those of a failure. */
export function newRow<C>(plan: Plan<C>, attempts: number, now: string): OperationRow {
  return {
    ...plan.key,
    paramsHash: plan.paramsHash,
    state: 'running',
    effectId: plan.effectId,
    attempts,
    result: undefined,
    receipt: undefined,
    receiptState: 'owed',
    facts: {
      receiptId: plan.receiptId,
      effectId: undefined,
      operationId: plan.key.operationId,
      callId: plan.ids.callId,
      runId: plan.ids.runId,
      attempt: attempts,
      outcome: 'failed',
      stage: 'committed',
      paramsHash: plan.paramsHash,
      target: plan.request.target,
      expected: plan.request.expected,
      observed: undefined,
      version: undefined,
      effectAt: now,
      observedAt: now,
    },
  };
}

/** What the transaction knows of its own effect. */
export function settledRow<R, C>(
  row: OperationRow,
  plan: Plan<C>,
  outcome: EffectOutcome<R>,
  now: string,
): OperationRow {
  const times = { effectAt: now, observedAt: now };
  if (outcome.kind === 'refused') {
    const facts = { ...row.facts, ...times, outcome: outcome.kind };
    return { ...row, state: 'refused', result: storable(outcome.reason), facts };
  }
  const { version, observed } = outcome;
  const expected = plan.request.expected === undefined ? observed : plan.request.expected;
  // Refused now, while everything can still be rolled back, and not when the receipt is due.
  digestOf(observed, undefined);
  const facts: ReceiptFacts = {
    ...row.facts,
    ...times,
    outcome: 'applied',
    effectId: plan.effectId,
    expected,
    version,
  };
  return { ...row, state: 'applied', result: storable(outcome.value), facts };
}

/** What was read, as a receipt states it; an object that is not there was observed as null. */
export function observation(
  expected: unknown,
  seen: Seen | undefined,
  appliedVersion?: string | number,
): Pick<ReceiptFacts, 'observed' | 'version'> {
  return seen === undefined
    ? { observed: null, version: appliedVersion }
    : { observed: comparedPart(expected, seen.observed), version: seen.version ?? appliedVersion };
}

/** JSON text of a result, which a repeat is answered with. */
function storable(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const text: unknown = JSON.stringify(value);
  if (typeof text !== 'string') {
    throw new TypeError(
      'the value of an effect must be JSON, since a repeat is answered with the stored one',
    );
  }
  return text;
}
