/**
 * What is kept while inputs are read: rows and receipts as bytes, and which of them bear on each other. After the last
 * input it gives one group at a time as objects.
 */
import { ATTR_RECEIPT_ID } from '@waybill/core';
import { RowArena } from './arena.js';
import type { PackedRow } from './arena.js';
import { BriefReader } from './brief.js';
import type { Brief } from './brief.js';
import { Clusters, hashOf, hashOfSpan } from './clusters.js';
import { readWords } from './hex.js';
import { PARENT, SPAN as SPAN_MARK } from './row-brief.js';
import type { Records } from './operations.js';
import type { BrokenReceipt, OutboxRow, ReceiptRow, TargetRow } from './records.js';
import { ReceiptArena } from './receipt-arena.js';
import type { SpanRow } from './rows.js';
import type { Shape } from './shapes.js';
import type { SpanIndex } from './span-index.js';
import { textOf } from './rows.js';

export interface Group {
  readonly rows: readonly SpanRow[];
  readonly records: Records;
}

/** One seed per kind of key, so that a call and an operation of one name are two keys. */
const CALL = 1;
const OPERATION = 2;
const SPAN = 3;
const RECEIPT = 4;
const TRACE = 5;
const REQUEST = 6;

/** What is few enough to be kept as objects. */
export type OtherRecords = Omit<Records, 'receipts'>;

type Item =
  | { readonly kind: 'target'; readonly row: TargetRow }
  | { readonly kind: 'outbox'; readonly row: OutboxRow }
  | { readonly kind: 'broken'; readonly row: BrokenReceipt };

/** What a row may share with others; hashes of its span and of its parent, 0 for none. */
interface Keys extends Pick<SpanRow, 'callId' | 'operationId' | 'role'> {
  readonly receipt: string | undefined;
  readonly span: number;
  readonly parent: number;
}

const words = new Uint32Array(6);

/** Equal for a span and for the parent that a row names, however the two were read. */
function keyOfSpan(traceId: string, spanId: string): number {
  if (spanId === '') return 0;
  const isHex = readWords(traceId, 4, words, 0) && readWords(spanId, 2, words, 4);
  return isHex ? hashOfSpan(words, 4, SPAN) : hashOf(traceId + spanId, SPAN);
}

export class EvidenceStore {
  readonly #rows = new RowArena();
  readonly #receipts = new ReceiptArena();
  readonly #clusters = new Clusters();
  /** Rows of framework tools and of servers that nothing names: they may join what shares only their trace. */
  readonly #loose: number[] = [];
  /** Parent keys of rows; only those that are calls themselves join anything. */
  #parents = new Float64Array(1 << 10);
  readonly #others: Item[] = [];
  #items: Uint32Array = new Uint32Array(0);
  #starts: Uint32Array = new Uint32Array(1);
  #briefs: BriefReader | undefined;

  addRow(row: SpanRow): void {
    this.#rows.add(row);
    const { callId, operationId, traceId, spanId, parentSpanId, role } = row;
    const receipt = textOf(row.attributes, ATTR_RECEIPT_ID);
    const [span, parent] = [keyOfSpan(traceId, spanId), keyOfSpan(traceId, parentSpanId)];
    this.#index({ callId, operationId, receipt, span, parent, role });
  }

  /** As `addRow`, of a row that is packed already. */
  addPacked(row: PackedRow, shape: Shape): void {
    this.#rows.addPacked(row, shape);
    const receipt = shape.varying[0] === ATTR_RECEIPT_ID ? row.varying[0] : undefined;
    this.#index({
      callId: row.callId,
      operationId: row.operationId,
      receipt: typeof receipt === 'string' && receipt !== '' ? receipt : undefined,
      span: (row.has & SPAN_MARK) === 0 ? 0 : hashOfSpan(row.ids, 4, SPAN),
      parent: (row.has & PARENT) === 0 ? 0 : hashOfSpan(row.ids, 6, SPAN),
      role: shape.fixed.role,
    });
  }

  shapeOf(row: SpanRow): Shape | undefined {
    return this.#rows.shapeOf(row);
  }

  #index({ callId, operationId, receipt, span, parent, role }: Keys): void {
    const item = this.#clusters.add();
    if (item >= this.#parents.length) {
      const grown = new Float64Array(this.#parents.length * 2);
      grown.set(this.#parents);
      this.#parents = grown;
    }
    if (callId !== undefined) this.#link(item, callId, CALL);
    if (operationId !== undefined) this.#link(item, operationId, OPERATION);
    if (span !== 0) this.#clusters.link(item, span);
    if (receipt !== undefined) this.#link(item, receipt, RECEIPT);
    this.#parents[item] = parent;
    if (role === 'tool' || (role === 'server' && callId === undefined)) this.#loose.push(item);
  }

  /** After the last row. Nothing can be added any more. */
  finish(records: OtherRecords): void {
    const clusters = this.#clusters;
    const count = this.#rows.length;
    for (let item = 0; item < count; item++) {
      const parent = this.#parents[item] ?? 0;
      if (parent !== 0) clusters.linkKnown(item, parent);
    }
    this.#parents = new Float64Array(0);
    this.#linkLoose(count);
    for (const row of records.targets) this.#addOther({ kind: 'target', row }, row.operationId, row.callId);
    for (const row of records.outbox) this.#addOther({ kind: 'outbox', row }, row.operationId, row.callId);
    for (const row of records.broken) this.#addOther({ kind: 'broken', row }, row.operationId, undefined);
    const { items, starts } = clusters.finish();
    this.#items = items;
    this.#starts = starts;
  }

  get groups(): number {
    return this.#starts.length - 1;
  }

  group(index: number): Group {
    const rows: SpanRow[] = [];
    const receipts: ReceiptRow[] = [];
    const targets: TargetRow[] = [];
    const outbox: OutboxRow[] = [];
    const broken: BrokenReceipt[] = [];
    const rowCount = this.#rows.length;
    const receiptCount = this.#receipts.length;
    const end = this.#starts[index + 1] ?? 0;
    for (let at = this.#starts[index] ?? 0; at < end; at++) {
      const item = this.#items[at] ?? 0;
      if (item < rowCount) rows.push(this.#rows.get(item));
      else if (item < rowCount + receiptCount) receipts.push(this.#receipts.get(item - rowCount));
      else {
        const other = this.#others[item - rowCount - receiptCount];
        if (other?.kind === 'target') targets.push(other.row);
        else if (other?.kind === 'outbox') outbox.push(other.row);
        else if (other?.kind === 'broken') broken.push(other.row);
      }
    }
    return { rows, records: { receipts, targets, outbox, broken } };
  }

  /** What stands for the group where it is a plain call; see `Brief`. After `finish`. */
  brief(index: number, spans: SpanIndex): Brief | undefined {
    this.#briefs ??= new BriefReader(this.#rows, this.#receipts, spans);
    const from = this.#starts[index] ?? 0;
    const size = (this.#starts[index + 1] ?? 0) - from;
    return this.#briefs.read(this.#items, from, size);
  }

  #link(item: number, text: string, kind: number): void {
    this.#clusters.link(item, hashOf(text, kind));
  }

  /** Joins by trace and by JSON-RPC id exist for a few rows only; without such rows nothing is looked at twice. */
  #linkLoose(count: number): void {
    if (this.#loose.length === 0) return;
    let withTools = false;
    let withRequests = false;
    for (const item of this.#loose) {
      const row = this.#rows.get(item);
      if (row.role === 'tool') {
        withTools = true;
        this.#link(item, row.traceId, TRACE);
      } else if (row.rpcId !== undefined && row.tool !== undefined) {
        withRequests = true;
        this.#link(item, requestKey(row), REQUEST);
      }
    }
    for (let item = 0; item < count; item++) {
      const row = this.#rows.get(item);
      if (withTools) this.#clusters.linkKnown(item, hashOf(row.traceId, TRACE));
      if (withRequests && row.role === 'client')
        this.#clusters.linkKnown(item, hashOf(requestKey(row), REQUEST));
    }
  }

  /** After the last row. */
  addReceipt(row: ReceiptRow): void {
    const item = this.#clusters.add();
    const { operationId, callId, receiptId } = row.receipt;
    if (operationId !== undefined) this.#link(item, operationId, OPERATION);
    if (callId !== undefined) this.#link(item, callId, CALL);
    this.#link(item, receiptId, RECEIPT);
    this.#receipts.add(row);
  }

  #addOther(other: Item, operationId: string | undefined, callId: string | undefined): void {
    if (operationId === undefined && callId === undefined) return;
    const item = this.#clusters.add();
    if (operationId !== undefined) this.#link(item, operationId, OPERATION);
    if (callId !== undefined) this.#link(item, callId, CALL);
    this.#others.push(other);
  }
}

function requestKey(row: SpanRow): string {
  return `${row.traceId}:${row.rpcId ?? ''}:${row.tool ?? ''}`;
}
