/**
 * The evidence of one operation as a vector of small closed sets, and what the decision table makes of it. The value
 * names are those of the table; a vector is built by the auditor and by `reconcile()`, never by this package.
 */
import type { Action, Verdict } from '../semconv/index.js';

/**
 * Every input of the table with its values. Order matters: enumerations of the space and the row masks follow it.
 *
 * - `target`: the authoritative read. `not_applied_proven` needs a fence that makes it stay so; `applied_superseded`
 *   means that our version is in the target's history; `value_match_only` that the state equals what was expected
 *   without being bound to the operation.
 * - `receipt`: `success_bound` names target id and version; `failure_read_back` read the target; `invalid` means that
 *   signature, inclusion or binding fails; `conflicting` that verified receipts disagree about one effect.
 * - `client`: over all legs, the strongest. `server`: the furthest stage of any leg.
 * - `effects`: the interval count of distinct effects, see `countEffects` and `effectsInput`.
 * - `retryable`: the target deduplicates this key, the key is younger than its retention, attempts are left.
 */
export const EVIDENCE_INPUTS = {
  target: [
    'unreadable',
    'not_applied_proven',
    'not_applied_observed',
    'applied_current',
    'applied_superseded',
    'value_match_only',
    'contradicts',
  ],
  receipt: [
    'ledger_unreadable',
    'none',
    'pending_outbox',
    'success_bound',
    'success_unbound',
    'failure',
    'failure_read_back',
    'invalid',
    'conflicting',
  ],
  client: ['no_trace', 'not_sent', 'sent_only', 'timeout', 'success', 'error'],
  server: ['none', 'received', 'effect_requested', 'effect_confirmed'],
  kind: ['read', 'effect'],
  params: ['same', 'different'],
  effects: ['at_most_one', 'two_or_more', 'cannot_tell'],
  inflight: ['none', 'attempt', 'input'],
  retryable: [true, false],
  read_back_required: [false, true],
  grace: ['within', 'past'],
} as const;

export type EvidenceInput = keyof typeof EVIDENCE_INPUTS;
/** One value of one input, for instance `EvidenceValue<'target'>`. */
export type EvidenceValue<I extends EvidenceInput> = (typeof EVIDENCE_INPUTS)[I][number];

/** One point of the input space (435,456 of them). */
export type EvidenceVector = { readonly [I in EvidenceInput]: EvidenceValue<I> };

/** Every named input must have one of the listed values; an input that is not named may have any. */
export type VerdictCondition = { readonly [I in EvidenceInput]?: readonly EvidenceValue<I>[] };

/** One row of the decision table; the first row whose condition holds decides. */
export interface VerdictRow {
  /** Stable id, for instance `D1`; reports print it as the rule of a verdict. */
  readonly id: string;
  /** The condition in words. */
  readonly title: string;
  readonly when: VerdictCondition;
  readonly verdict: Verdict;
  readonly reason: string;
  readonly action: Action;
}

/** What a vector was decided to be, and by which row. */
export interface Decision {
  readonly row: string;
  readonly title: string;
  readonly verdict: Verdict;
  readonly reason: string;
  readonly action: Action;
}
