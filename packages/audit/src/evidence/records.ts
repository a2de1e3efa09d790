/**
 * The inputs beside the traces, one JSON object a line: receipts, reads of targets, outbox rows, counters of lost
 * telemetry. A line that cannot be read is damage with its place; the others are still used.
 */
import { canonicalJson, parseReceipt } from '@waybill/core';
import type { InvalidReason, KeySource, ParsedReceipt } from '@waybill/core';
import type { Damage } from '../model.js';
import type { EvidenceRef } from '../rule.js';
import { readLines } from './lines.js';
import type { RecordSource } from './lines.js';

export interface ReceiptRow {
  readonly receipt: ParsedReceipt;
  readonly at: EvidenceRef;
}

/** A line that claims to be a receipt of an operation and is not: evidence against it, not for it. */
export interface BrokenReceipt {
  readonly operationId: string | undefined;
  readonly reason: InvalidReason;
  readonly detail: string;
  readonly at: EvidenceRef;
}

/** One authoritative read of the target for one operation. */
export interface TargetRow {
  readonly operationId: string | undefined;
  readonly callId: string | undefined;
  readonly object: string;
  /** Canonical JSON of `state`, or the text of `hash`. */
  readonly state: string | undefined;
  /** Canonical JSON of the state that the operation was to bring about, where the reader knows it. */
  readonly expected: string | undefined;
  readonly version: string | undefined;
  /** The reader made sure that the operation can no longer land: a tombstone under its key, or a unique key. */
  readonly fenced: boolean;
  /** The target's own index or history of operations says so. */
  readonly applied: boolean | 'partial' | undefined;
  /** The target counts the effects of the operation by a unique id. */
  readonly effects: number | undefined;
  /** The target deduplicates the operation's key, which is within its retention. */
  readonly deduplicates: boolean;
  /** 0n where the row has none. */
  readonly readAtUnixNano: bigint;
  readonly at: EvidenceRef;
}

/** A receipt that is durable beside the effect and not yet delivered. */
export interface OutboxRow {
  readonly operationId: string | undefined;
  readonly callId: string | undefined;
  readonly receiptId: string | undefined;
  readonly outcome: 'applied' | 'refused' | 'failed';
  readonly createdAtUnixNano: bigint;
  readonly at: EvidenceRef;
}

export interface RecordsRead<T> {
  readonly rows: readonly T[];
  readonly damaged: readonly Damage[];
  readonly bytes: number;
}

export type Members = Readonly<Record<string, unknown>>;
type Reader<T> = (value: Members, at: EvidenceRef) => T | string | undefined;

export interface ReceiptsRead {
  readonly receipts: number;
  readonly broken: readonly BrokenReceipt[];
  readonly damaged: readonly Damage[];
  readonly bytes: number;
}

/** Reads receipts of every form, one at a time; `broken` are the lines that claim to be one and fail. */
export function readReceipts(
  source: RecordSource,
  id: string,
  keys: KeySource | undefined,
  take: (row: ReceiptRow) => void,
): ReceiptsRead {
  let receipts = 0;
  const broken: BrokenReceipt[] = [];
  const damaged: Damage[] = [];
  const { bytes, problem } = readLines(source, (text, line) => {
    const at: EvidenceRef = { source: id, line };
    const receipt = parseReceipt(text, keys === undefined ? {} : { keys });
    if (receipt.kind === 'receipt') {
      receipts += 1;
      take({ receipt, at: { ...at, receiptId: receipt.receiptId } });
      return;
    }
    const { operationId, reason, detail } = receipt;
    broken.push({ operationId, reason, detail, at });
    damaged.push({ at, reason: `no receipt: ${detail}`, remedy: 'get the receipts from their source again' });
  });
  if (problem !== undefined) damaged.push(unreadable(id, problem));
  return { receipts, broken, damaged, bytes };
}

export function readTargets(source: RecordSource, id: string): RecordsRead<TargetRow> {
  return readObjects(source, id, targetOf);
}

export function readOutbox(source: RecordSource, id: string): RecordsRead<OutboxRow> {
  return readObjects(source, id, outboxOf);
}

function readObjects<T>(source: RecordSource, id: string, read: Reader<T>): RecordsRead<T> {
  const rows: T[] = [];
  const damaged: Damage[] = [];
  const { bytes, problem } = readLines(source, (text, line) => {
    const at: EvidenceRef = { source: id, line };
    const value = parseObject(text);
    const row = value === undefined ? 'not a JSON object' : read(value, at);
    if (typeof row === 'string') damaged.push({ at, reason: row, remedy: 'repair or remove the line' });
    else if (row !== undefined) rows.push(row);
  });
  if (problem !== undefined) damaged.push(unreadable(id, problem));
  return { rows, damaged, bytes };
}

export function unreadable(source: string, problem: string): Damage {
  return {
    at: { source },
    reason: `cannot be read: ${problem}`,
    remedy: 'check the path and its permissions',
  };
}

export function parseObject(text: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Members)
      : undefined;
  } catch {
    return undefined;
  }
}

function targetOf(value: Members, at: EvidenceRef): TargetRow | string {
  const object = idOf(value, 'object');
  const operationId = idOf(value, 'operation_id');
  const callId = idOf(value, 'call_id');
  if (object === undefined) return 'object is missing: the read names no target';
  if (operationId === undefined && callId === undefined) return 'operation_id is missing';
  const applied = value['applied'];
  const effects = value['effects'];
  return {
    operationId,
    callId,
    object,
    state: comparable(value['state']) ?? idOf(value, 'hash'),
    expected: comparable(value['expected']),
    version: versionOf(value['version']),
    fenced: value['fenced'] === true,
    applied: applied === true || applied === false || applied === 'partial' ? applied : undefined,
    effects:
      typeof effects === 'number' && Number.isSafeInteger(effects) && effects >= 0 ? effects : undefined,
    deduplicates: value['deduplicates'] === true,
    readAtUnixNano: timeOf(value['read_at']),
    at,
  };
}

function outboxOf(value: Members, at: EvidenceRef): OutboxRow | string | undefined {
  const operationId = idOf(value, 'operation_id');
  const callId = idOf(value, 'call_id');
  if (operationId === undefined && callId === undefined) return 'operation_id is missing';
  const state = value['state'];
  // Delivered: the receipt is where receipts are, or it was lost there. The row says nothing more.
  if (state === 'delivered' || state === 'acked') return undefined;
  const outcome = value['outcome'] ?? value['result'];
  return {
    operationId,
    callId,
    receiptId: idOf(value, 'receipt_id'),
    outcome: outcome === 'refused' || outcome === 'failed' ? outcome : 'applied',
    createdAtUnixNano: timeOf(value['created_at'] ?? value['at']),
    at,
  };
}

export function idOf(value: Members, key: string): string | undefined {
  const member = value[key];
  return typeof member === 'string' && member !== '' ? member : undefined;
}

function versionOf(value: unknown): string | undefined {
  if (typeof value === 'string' && value !== '') return value;
  return typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : undefined;
}

function comparable(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  try {
    return canonicalJson(value, { fractions: 'allow' });
  } catch {
    return undefined;
  }
}

/** Nanoseconds as decimal text or integer, or an ISO date; 0n for anything else. */
function timeOf(value: unknown): bigint {
  if (typeof value === 'string' && /^\d{1,20}$/.test(value)) return BigInt(value);
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value);
  const milliseconds = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(milliseconds) ? 0n : BigInt(milliseconds) * 1_000_000n;
}
