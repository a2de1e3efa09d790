/** What a read of the target says about one operation. */
import { createHash } from 'node:crypto';
import type { EvidenceValue } from '@waybill/core';
import type { ReceiptReading } from './receipts.js';
import type { TargetRow } from './records.js';

export interface TargetReading {
  readonly input: EvidenceValue<'target'>;
  /** The latest read; undefined when the target was not read by anybody but the writer of a receipt. */
  readonly row: TargetRow | undefined;
  readonly partial: boolean;
  /** Effects of the operation that the target counts. */
  readonly count: number | undefined;
  readonly deduplicates: boolean;
}

/**
 * The target input. A separate read decides; without one, a receipt whose writer read the target back counts as a
 * read, unless another attempt may have landed: the writer read its own effect, not the only one.
 */
export function readTarget(
  rows: readonly TargetRow[],
  receipts: ReceiptReading,
  client: EvidenceValue<'client'>,
): TargetReading {
  const latest = latestByObject(rows);
  const row = latest.at(-1);
  const relations = latest.map((each) => relationOf(each, receipts, client));
  const partial =
    rows.some((each) => each.applied === 'partial') ||
    (relations.some(isApplied) && relations.some((each) => each.startsWith('not_applied')));
  const counts = latest.map((each) => each.effects).filter((each) => each !== undefined);
  return {
    input: partial || receipts.partial ? 'unreadable' : combine(relations, receipts),
    row,
    partial: partial || receipts.partial,
    count: counts.length === 0 ? undefined : counts.reduce((a, b) => Math.max(a, b), 0),
    deduplicates: latest.some((each) => each.deduplicates),
  };
}

function isApplied(relation: EvidenceValue<'target'>): boolean {
  return relation === 'applied_current' || relation === 'applied_superseded';
}

/** The latest read of each object, in order of time; rows come sorted by time and content. */
function latestByObject(rows: readonly TargetRow[]): readonly TargetRow[] {
  const latest = new Map<string, TargetRow>();
  for (const row of rows) {
    latest.delete(row.object);
    latest.set(row.object, row);
  }
  return [...latest.values()];
}

const WEIGHT: readonly EvidenceValue<'target'>[] = [
  'contradicts',
  'not_applied_proven',
  'not_applied_observed',
  'applied_superseded',
  'applied_current',
  'value_match_only',
  'unreadable',
];

function combine(
  relations: readonly EvidenceValue<'target'>[],
  receipts: ReceiptReading,
): EvidenceValue<'target'> {
  for (const value of WEIGHT) if (relations.includes(value) && value !== 'unreadable') return value;
  const readBack = receipts.applied.some(
    (row) => row.receipt.stage === 'read_back' && row.receipt.binding === 'bound',
  );
  return readBack && receipts.openAttempts === 0 ? 'applied_current' : 'unreadable';
}

/** One read held against what the receipts of the operation say about the same object. */
export function relationOf(
  row: TargetRow,
  receipts: Pick<ReceiptReading, 'applied' | 'negative' | 'input'>,
  client: EvidenceValue<'client'>,
): EvidenceValue<'target'> {
  const notApplied = row.fenced ? 'not_applied_proven' : 'not_applied_observed';
  if (row.applied === false) return notApplied;
  const applied = latestOf(receipts.applied, row.object);
  if (row.applied === true) {
    return applied !== undefined && isLater(row.version, applied.target.version)
      ? 'applied_superseded'
      : 'applied_current';
  }
  if (applied !== undefined) {
    const same = applied.observed ?? applied.expected;
    const matches = sameState(same, row.state);
    if (row.version === undefined || applied.target.version === undefined) {
      if (matches === undefined) return 'unreadable';
      return matches ? 'value_match_only' : row.fenced ? 'not_applied_proven' : 'contradicts';
    }
    if (row.version === applied.target.version) return matches === false ? 'contradicts' : 'applied_current';
    if (isLater(row.version, applied.target.version)) return 'applied_superseded';
    if (isLater(applied.target.version, row.version)) return notApplied;
    // Versions without an order (entity tags): another one may be older or newer.
    return matches === true ? 'value_match_only' : 'contradicts';
  }
  const failed = latestOf(receipts.negative, row.object);
  const expected = row.expected ?? failed?.expected;
  const reached = sameState(expected, row.state);
  if (reached !== undefined) return reached && !row.fenced ? 'value_match_only' : notApplied;
  if (row.fenced || failed !== undefined) return notApplied;
  // Read, and nothing says what the state should be: it proves nothing against a caller who was told success.
  const undecided = receipts.input === 'none' && client !== 'success' && client !== 'not_sent';
  return undecided ? 'not_applied_observed' : 'unreadable';
}

/** Whether two states are equal; undefined when one is not known, or only its digest with an unknown key. */
export function sameState(a: string | undefined, b: string | undefined): boolean | undefined {
  if (a === undefined || b === undefined) return undefined;
  const digests = [a, b].filter((state) => DIGEST.test(state));
  if (digests.length !== 1) return a === b;
  const [digest = ''] = digests;
  if (!digest.startsWith('sha256:')) return undefined;
  const state = digest === a ? b : a;
  return digest === `sha256:${createHash('sha256').update(state).digest('hex')}`;
}

const DIGEST = /^(?:hmac-)?sha256:[0-9a-f]{64}$/;

function latestOf(
  rows: ReceiptReading['applied'],
  object: string,
): ReceiptReading['applied'][number]['receipt'] | undefined {
  return rows.findLast((row) => row.receipt.target.id === object)?.receipt;
}

/** True when both are integers and `a` is the greater one. */
function isLater(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined || !/^\d{1,30}$/.test(a) || !/^\d{1,30}$/.test(b)) return false;
  return BigInt(a) > BigInt(b);
}
