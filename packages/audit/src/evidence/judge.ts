/** From everything known of one operation to the evidence vector, the verdict and what stands beside it. */
import { ATTR_ARGS_DIGEST, ATTR_CALL_CONTINUES, countEffects, decide, effectsInput } from '@waybill/core';
import type {
  Assurance,
  Decision,
  EffectState,
  EvidenceState,
  EvidenceVector,
  OperationFlag,
  TargetCount,
  Verdict,
} from '@waybill/core';
import type { Gap } from '../rule.js';
import { clientInput, decidingLeg, inflightInput, legOf, serverInput } from './legs.js';
import type { Leg } from './legs.js';
import type { OperationGroup } from './operations.js';
import { readReceiptsOf } from './receipts.js';
import type { ReceiptOptions, ReceiptReading } from './receipts.js';
import { readTarget } from './target.js';
import type { TargetReading } from './target.js';
import type { SpanRow } from './rows.js';
import { textOf } from './rows.js';
import { gapsOf } from './side.js';

export interface JudgeContext extends ReceiptOptions {
  readonly asOfUnixNano: bigint;
  readonly graceNano: bigint;
  /** Rows that were cut by `--as-of`: their end is not known yet. */
  readonly openRows: ReadonlySet<SpanRow>;
  /** Telemetry is known to be lost, so that a side without a record was perhaps recorded. */
  readonly lossOf: (service: string | undefined) => readonly Gap[];
  readonly readBackRequired: (tool: string | undefined) => boolean;
}

export interface Judgement {
  readonly vector: EvidenceVector;
  readonly decision: Decision;
  readonly flags: readonly OperationFlag[];
  readonly told: string | undefined;
  readonly effect: EffectState;
  readonly evidence: EvidenceState;
  readonly assurance: Assurance;
  readonly effects: { readonly atLeast: number; readonly atMost: number };
  readonly gaps: readonly Gap[];
  readonly legs: readonly Leg[];
  readonly receipts: ReceiptReading;
  readonly target: TargetReading;
}

export function judge(operation: OperationGroup, context: JudgeContext): Judgement {
  const legs = operation.calls.map((call) => legOf(call, context.openRows));
  const client = clientInput(legs);
  const receipts = readReceiptsOf(operation, legs, context);
  const target = readTarget(operation.targets, receipts, client);
  const kind = kindInput(operation, legs, receipts);
  const effects = countEffects({
    confirmed: receipts.effects,
    openAttempts: kind === 'read' ? 0 : receipts.openAttempts,
    target: countOf(target),
    deduplicates: target.deduplicates,
  });
  const vector: EvidenceVector = {
    target: target.input,
    receipt: receiptInput(receipts, target),
    client,
    server: serverInput(legs),
    kind,
    params: paramsInput(operation),
    effects: effectsInput(effects),
    inflight: inflightInput(legs),
    retryable: target.deduplicates,
    read_back_required: operation.calls.some((call) => context.readBackRequired(call.tool)),
    grace: graceInput(operation, context),
  };
  const decided = decide(vector);
  // Parts of it are there: a repeat would apply them twice, and no read alone tells what to do about the rest.
  const decision: Decision =
    target.partial && decided.verdict === 'unknown_needs_reconciliation'
      ? { ...decided, action: 'escalate' }
      : decided;
  const gaps = gapsOfOperation(operation, context);
  const flags = flagsOf({ operation, legs, vector, decision, receipts, target, gaps });
  const { atLeast, atMost } = effects;
  return {
    vector,
    decision,
    flags,
    told: toldOf(legs),
    effect: target.partial ? 'partial' : EFFECTS[decision.verdict],
    evidence: evidenceState(decision, flags, gaps),
    assurance: receipts.assurance,
    effects: { atLeast, atMost },
    gaps: [...gaps, ...missingSides(operation, flags)],
    legs,
    receipts,
    target,
  };
}

/**
 * A failure receipt of one attempt decides nothing while another may have landed. Behind a fence nothing can land any
 * more, and the receipt says again what the target says.
 */
export function receiptInput(
  receipts: Pick<ReceiptReading, 'input' | 'negative'>,
  target: Pick<TargetReading, 'input'>,
): EvidenceVector['receipt'] {
  const { input, negative } = receipts;
  if (input !== 'none' || negative.length === 0 || target.input !== 'not_applied_proven') return input;
  return negative.some((row) => row.receipt.stage === 'read_back') ? 'failure_read_back' : 'failure';
}

function countOf(target: TargetReading): TargetCount {
  if (target.count !== undefined) return { kind: 'count', count: target.count };
  if (target.row === undefined) return { kind: 'unread' };
  if (target.input === 'not_applied_proven') return { kind: 'absent_fenced' };
  const applied = target.input === 'applied_current' || target.input === 'applied_superseded';
  return { kind: applied ? 'exists' : 'unread' };
}

/** A read only where every call is one and nothing shows an effect. */
export function kindInput(
  operation: Pick<OperationGroup, 'calls'>,
  legs: readonly Pick<Leg, 'effectRequested' | 'effectConfirmed'>[],
  receipts: Pick<ReceiptReading, 'applied' | 'negative'>,
): EvidenceVector['kind'] {
  const read = operation.calls.length > 0 && operation.calls.every((call) => call.effectKind === 'read');
  const shown =
    legs.some((leg) => leg.effectRequested + leg.effectConfirmed > 0) ||
    receipts.applied.length + receipts.negative.length > 0;
  return read && !shown ? 'read' : 'effect';
}

/** Digests compare within one side only: two sides may use two keys. Rounds of one leg carry what they were asked for. */
export function paramsInput(operation: Pick<OperationGroup, 'calls' | 'receipts'>): EvidenceVector['params'] {
  for (const side of ['client', 'server'] as const) {
    const digests = new Set<string>();
    for (const call of operation.calls) {
      if (call[side].some((row) => textOf(row.attributes, ATTR_CALL_CONTINUES) !== undefined)) continue;
      for (const row of call[side]) {
        const digest = textOf(row.attributes, ATTR_ARGS_DIGEST);
        if (digest !== undefined) digests.add(digest);
      }
    }
    if (digests.size > 1) return 'different';
  }
  const hashes = new Set(
    operation.receipts.map((row) => row.receipt.paramsHash).filter((hash) => hash !== undefined),
  );
  return hashes.size > 1 ? 'different' : 'same';
}

/** Within the grace period until it has passed since the last thing that was seen of the operation. */
export function graceInput(
  operation: Pick<OperationGroup, 'calls' | 'receipts'>,
  context: Pick<JudgeContext, 'asOfUnixNano' | 'graceNano'>,
): EvidenceVector['grace'] {
  const times = [
    ...operation.calls.map((call) => call.endTimeUnixNano),
    ...operation.receipts.map((row) => row.receipt.atUnixNano ?? 0n),
  ];
  const last = times.reduce((a, b) => (a > b ? a : b), 0n);
  return context.asOfUnixNano - last < context.graceNano ? 'within' : 'past';
}

function toldOf(legs: readonly Leg[]): string | undefined {
  const leg = decidingLeg(legs);
  if (leg?.told === undefined) return undefined;
  const { outcome, reason } = leg.told;
  return reason === undefined ? outcome : `${outcome}/${reason}`;
}

interface FlagFacts {
  readonly operation: OperationGroup;
  readonly legs: readonly Leg[];
  readonly vector: EvidenceVector;
  readonly decision: Decision;
  readonly receipts: ReceiptReading;
  readonly target: TargetReading;
  readonly gaps: readonly Gap[];
}

/** The operation's flags (DESIGN 2.5), in the order of their definition. */
export function flagsOf(facts: FlagFacts): readonly OperationFlag[] {
  const { legs, vector, decision, receipts, target, operation } = facts;
  const hasClient = legs.some((leg) => leg.client !== undefined);
  const hasServer = legs.some((leg) => leg.server !== 'none');
  const boundary = operation.calls.every((call) => call.client.every((row) => row.role !== 'tool'));
  const applied = vector.target === 'applied_current' || vector.target === 'applied_superseded';
  const responded = legs.some((leg) => leg.responded);
  const done = decision.verdict === 'verified_done' || decision.verdict === 'executed_receipt_pending';
  const settled = vector.inflight === 'none';
  const genuine = receipts.applied.length + receipts.negative.length > 0 && vector.receipt !== 'invalid';
  const serverTookPart =
    responded ||
    genuine ||
    operation.outbox.length > 0 ||
    (applied && target.row !== undefined) ||
    (facts.gaps.some((gap) => gap.kind === 'collector_loss') && vector.client !== 'not_sent');
  const flags: readonly (readonly [OperationFlag, boolean])[] = [
    [
      'reply_lost',
      hasClient &&
        settled &&
        !responded &&
        vector.client !== 'not_sent' &&
        vector.receipt !== 'invalid' &&
        (receipts.applied.length > 0 || legs.some((leg) => leg.replied)),
    ],
    ['false_failure', done && vector.client === 'error' && responded],
    ['trace_missing_client', !hasClient && boundary],
    ['trace_missing_server', !hasServer && boundary && serverTookPart],
    ['superseded', done && vector.target === 'applied_superseded'],
    ['receipt_overdue', decision.row === 'E3'],
    ['not_read_back', decision.row === 'O0' && !receipts.readBack],
    ['partial_effect', target.partial],
    ['tamper_suspected', receipts.forged],
    ['weak_join', operation.calls.some((call) => call.join === 'rpc_id_in_trace')],
  ];
  return flags.filter(([, holds]) => holds).map(([flag]) => flag);
}

const EFFECTS: Readonly<Record<Verdict, EffectState>> = {
  verified_done: 'applied',
  executed_receipt_pending: 'applied',
  duplicate_effect: 'applied',
  verified_not_done: 'not_applied',
  not_delivered: 'not_applied',
  false_success: 'not_applied',
  no_effect_expected: 'not_applied',
  evidence_conflict: 'unknown',
  open: 'unknown',
  unknown_needs_reconciliation: 'unknown',
  insufficient_evidence: 'unknown',
};

function evidenceState(
  decision: Decision,
  flags: readonly OperationFlag[],
  gaps: readonly Gap[],
): EvidenceState {
  if (decision.verdict === 'evidence_conflict') return 'conflicting';
  if (decision.verdict === 'open' || decision.verdict === 'executed_receipt_pending') return 'pending';
  const lost =
    flags.includes('trace_missing_client') ||
    flags.includes('trace_missing_server') ||
    gaps.some((gap) => gap.kind !== 'foreign_emitter');
  return lost ? 'lost' : 'complete';
}

/** Gaps of the sides that are there, and known losses where a side is not. */
function gapsOfOperation(operation: OperationGroup, context: JudgeContext): readonly Gap[] {
  const gaps: Gap[] = [];
  let oneSided = operation.calls.length === 0;
  for (const call of operation.calls) {
    gaps.push(...gapsOf(call.client, 'client'), ...gapsOf(call.server, 'server'));
    oneSided ||= call.client.length === 0 || call.server.length === 0;
  }
  if (oneSided) gaps.push(...context.lossOf(undefined));
  return gaps;
}

function missingSides(operation: OperationGroup, flags: readonly OperationFlag[]): readonly Gap[] {
  const call = operation.calls[0];
  const at = call?.client[0]?.at ?? call?.server[0]?.at ?? operation.receipts[0]?.at;
  if (at === undefined) return [];
  return (['client', 'server'] as const)
    .filter((side) => flags.includes(`trace_missing_${side}`))
    .map((side) => ({
      kind: 'span_missing',
      at,
      note: `no ${side} span of this operation is in the evidence`,
    }));
}
