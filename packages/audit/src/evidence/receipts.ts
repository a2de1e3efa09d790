/** What the receipts of one operation say to the decision, which effects they confirm, and how far they are trusted. */
import type { Assurance, EvidenceValue } from '@waybill/core';
import type { Leg } from './legs.js';
import { isRefuted } from './legs.js';
import type { OperationGroup } from './operations.js';
import type { ReceiptRow } from './records.js';

export interface ReceiptOptions {
  /** Receipts without a valid signature are no receipts. */
  readonly requireSigned: boolean;
  /** A receipts input was damaged or unreadable: that none is found proves nothing. */
  readonly incomplete: boolean;
}

export interface ReceiptReading {
  readonly input: EvidenceValue<'receipt'>;
  readonly applied: readonly ReceiptRow[];
  readonly negative: readonly ReceiptRow[];
  /** Ids of distinct effects that receipts confirm. */
  readonly effects: readonly string[];
  /** Attempts that are neither confirmed nor refuted. */
  readonly openAttempts: number;
  /** Some parts of one call were applied, others failed. */
  readonly partial: boolean;
  /** A receipt fails verification, or a copy of it says something else. */
  readonly forged: boolean;
  readonly readBack: boolean;
  readonly assurance: Assurance;
}

export function readReceiptsOf(
  operation: OperationGroup,
  legs: readonly Leg[],
  options: ReceiptOptions,
): ReceiptReading {
  const invalid = operation.receipts.filter((row) => row.receipt.verification === 'invalid');
  const usable = operation.receipts.filter(
    (row) =>
      row.receipt.verification === 'valid' ||
      (!options.requireSigned && row.receipt.verification !== 'invalid'),
  );
  const applied = usable.filter((row) => row.receipt.outcome === 'applied');
  const negative = usable.filter((row) => row.receipt.outcome !== 'applied');
  const partial = isPartial(applied, negative, legs);
  const openAttempts = countOpenAttempts(usable, legs);
  const broken = operation.broken.some((row) => FORGED.has(row.reason));
  return {
    input: receiptInput(),
    applied,
    negative,
    effects: effectIds(applied, legs),
    openAttempts,
    partial,
    forged:
      invalid.length > 0 || broken || operation.misbound.some((row) => row.receipt.verification === 'valid'),
    readBack: applied.some((row) => row.receipt.stage === 'read_back'),
    assurance: assuranceOf(usable),
  };

  function receiptInput(): EvidenceValue<'receipt'> {
    if (invalid.length > 0 || broken || operation.misbound.length > 0) return 'invalid';
    if (!partial && contradict(applied, negative, legs)) return 'conflicting';
    if (applied.length > 0) {
      const bound = applied.some((row) => row.receipt.binding === 'bound') && !partial;
      return bound ? 'success_bound' : 'success_unbound';
    }
    if (operation.outbox.some((row) => row.outcome === 'applied')) return 'pending_outbox';
    // A failure speaks of its own attempt; while another may have landed, it decides nothing.
    if (negative.length > 0 && openAttempts === 0) {
      return negative.some((row) => row.receipt.stage === 'read_back') ? 'failure_read_back' : 'failure';
    }
    return options.incomplete ? 'ledger_unreadable' : 'none';
  }
}

/** Lines that were made to look like a receipt of this operation; a wrong field is a writer's defect, not a forgery. */
const FORGED: ReadonlySet<string> = new Set(['duplicate_key', 'not_canonical', 'bad_envelope']);

/** One effect: its own id, else the target in the version that it has since. */
function effectId(row: ReceiptRow): string {
  const { effectId: own, target, receiptId } = row.receipt;
  if (own !== undefined) return `effect:${own}`;
  if (target.id === undefined || target.version === undefined) return `receipt:${receiptId}`;
  return `target:${JSON.stringify([target.system ?? '', target.id, target.version])}`;
}

function targetOf(row: ReceiptRow): string {
  return JSON.stringify([row.receipt.target.system ?? '', row.receipt.target.id ?? '']);
}

/**
 * Distinct effects. A call that was delivered once and confirmed as many effects as it has targets wrote the parts of
 * one effect; the same targets from two deliveries are two effects.
 */
function effectIds(applied: readonly ReceiptRow[], legs: readonly Leg[]): readonly string[] {
  const ids = new Set<string>();
  for (const [callId, rows] of byCall(applied)) {
    const leg = legs.find((each) => each.call.callId === callId);
    const targets = new Set(rows.map(targetOf));
    const parts =
      targets.size > 1 &&
      leg !== undefined &&
      leg.deliveries.length <= 1 &&
      leg.effectConfirmed >= targets.size;
    for (const row of rows) ids.add(parts ? `call:${callId ?? ''}` : effectId(row));
  }
  return [...ids].sort();
}

function byCall(rows: readonly ReceiptRow[]): ReadonlyMap<string | undefined, readonly ReceiptRow[]> {
  const groups = new Map<string | undefined, ReceiptRow[]>();
  for (const row of rows) {
    const { callId } = row.receipt;
    groups.set(callId, [...(groups.get(callId) ?? []), row]);
  }
  return groups;
}

/** Attempts are deliveries of legs; replays, refuted legs and attempts with a receipt of their own are settled. */
function countOpenAttempts(settled: readonly ReceiptRow[], legs: readonly Leg[]): number {
  let open = 0;
  for (const [index, leg] of legs.entries()) {
    if (isRefuted(leg, legs[index + 1])) continue;
    const { callId } = leg.call;
    const own = new Set(
      settled.filter((row) => callId !== undefined && row.receipt.callId === callId).map(effectId),
    );
    open += Math.max(0, Math.max(1, leg.deliveries.length) - leg.replayed - own.size);
  }
  const called = new Set(legs.map((leg) => leg.call.callId));
  const unassigned = settled.filter(
    (row) => row.receipt.callId === undefined || !called.has(row.receipt.callId),
  );
  const attempts = new Set(unassigned.map((row) => String(row.receipt.attempt ?? effectId(row))));
  return Math.max(0, open - attempts.size);
}

/** Two receipts that speak of one effect and disagree, or a receipt that disagrees with itself. */
function contradict(
  applied: readonly ReceiptRow[],
  negative: readonly ReceiptRow[],
  legs: readonly Leg[],
): boolean {
  for (const row of applied) {
    const { expected, observed, stage, callId } = row.receipt;
    if (stage === 'read_back' && expected !== undefined && observed !== undefined && expected !== observed) {
      return true;
    }
    if (negative.some((other) => sameAttempt(row, other))) return true;
    if (
      applied.some(
        (other) =>
          effectId(other) === effectId(row) &&
          other.receipt.observed !== undefined &&
          observed !== undefined &&
          other.receipt.form === row.receipt.form &&
          other.receipt.observed !== observed,
      )
    ) {
      return true;
    }
    const leg = legs.find((each) => each.call.callId === callId && callId !== undefined);
    if (leg !== undefined && leg.effectFailed > 0 && leg.effectConfirmed === 0) return true;
  }
  return false;
}

function sameAttempt(a: ReceiptRow, b: ReceiptRow): boolean {
  if (targetOf(a) !== targetOf(b)) return false;
  return a.receipt.callId === b.receipt.callId && a.receipt.attempt === b.receipt.attempt;
}

function isPartial(
  applied: readonly ReceiptRow[],
  negative: readonly ReceiptRow[],
  legs: readonly Leg[],
): boolean {
  const byReceipt = applied.some((row) =>
    negative.some(
      (other) =>
        other.receipt.callId === row.receipt.callId &&
        other.receipt.attempt === row.receipt.attempt &&
        targetOf(other) !== targetOf(row),
    ),
  );
  return (
    byReceipt ||
    legs.some((leg) => leg.deliveries.length <= 1 && leg.effectConfirmed > 0 && leg.effectFailed > 0)
  );
}

function assuranceOf(rows: readonly ReceiptRow[]): Assurance {
  if (rows.some((row) => row.receipt.verification === 'valid')) return 'signed';
  return rows.length > 0 ? 'unsigned' : 'none';
}
