/**
 * What is kept while inputs are read: rows and receipts as bytes, and which of them bear on each other. After the last
 * input it gives one group at a time as objects.
 */
import { ATTR_RECEIPT_ID } from '@waybill/core';
import type { ParsedReceipt } from '@waybill/core';
import type { EvidenceRef } from '../rule.js';
import { RowArena } from './arena.js';
import { ByteWriter } from './bytes.js';
import { Clusters, hashOf } from './clusters.js';
import type { Records } from './operations.js';
import type { BrokenReceipt, OutboxRow, ReceiptRow, TargetRow } from './records.js';
import type { SpanRow } from './rows.js';
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

export class EvidenceStore {
  readonly #rows = new RowArena();
  readonly #receipts = new ByteWriter();
  readonly #receiptPlaces: number[] = [];
  readonly #clusters = new Clusters();
  /** Rows of framework tools and of servers that nothing names: they may join what shares only their trace. */
  readonly #loose: number[] = [];
  /** Parent keys of rows; only those that are calls themselves join anything. */
  #parents = new Float64Array(1 << 10);
  readonly #others: Item[] = [];
  #items: Uint32Array = new Uint32Array(0);
  #starts: Uint32Array = new Uint32Array(1);

  addRow(row: SpanRow): void {
    const item = this.#clusters.add();
    this.#rows.add(row);
    if (item >= this.#parents.length) {
      const grown = new Float64Array(this.#parents.length * 2);
      grown.set(this.#parents);
      this.#parents = grown;
    }
    if (row.callId !== undefined) this.#link(item, row.callId, CALL);
    if (row.operationId !== undefined) this.#link(item, row.operationId, OPERATION);
    if (row.spanId !== '') this.#link(item, row.traceId + row.spanId, SPAN);
    const receipt = textOf(row.attributes, ATTR_RECEIPT_ID);
    if (receipt !== undefined) this.#link(item, receipt, RECEIPT);
    this.#parents[item] = row.parentSpanId === '' ? 0 : hashOf(row.traceId + row.parentSpanId, SPAN);
    const isLoose = row.role === 'tool' || (row.role === 'server' && row.callId === undefined);
    if (isLoose) this.#loose.push(item);
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
    const receiptCount = this.#receiptPlaces.length;
    const end = this.#starts[index + 1] ?? 0;
    for (let at = this.#starts[index] ?? 0; at < end; at++) {
      const item = this.#items[at] ?? 0;
      if (item < rowCount) rows.push(this.#rows.get(item));
      else if (item < rowCount + receiptCount) receipts.push(this.#receipt(item - rowCount));
      else {
        const other = this.#others[item - rowCount - receiptCount];
        if (other?.kind === 'target') targets.push(other.row);
        else if (other?.kind === 'outbox') outbox.push(other.row);
        else if (other?.kind === 'broken') broken.push(other.row);
      }
    }
    return { rows, records: { receipts, targets, outbox, broken } };
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
    this.#receiptPlaces.push(this.#receipts.length);
    this.#receipts.text(encode(row));
  }

  #receipt(index: number): ReceiptRow {
    return decode(this.#receipts.reader(this.#receiptPlaces[index] ?? 0).text());
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

/** JSON of the values; the one bigint as text. Undefined members are left out and come back as undefined. */
function encode({ receipt, at }: ReceiptRow): string {
  const { atUnixNano, ...rest } = receipt;
  return JSON.stringify([rest, atUnixNano === undefined ? null : String(atUnixNano), at]);
}

/** What was encoded here, and nothing else, is decoded here; hence the assertion. */
function decode(text: string): ReceiptRow {
  const [rest, time, at] = JSON.parse(text) as [
    Omit<ParsedReceipt, 'atUnixNano'>,
    string | null,
    EvidenceRef,
  ];
  return { receipt: { ...rest, atUnixNano: time === null ? undefined : BigInt(time) }, at };
}
