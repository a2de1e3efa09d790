/**
 * Nearly every operation of an export is one plain call: one record of each side, perhaps a receipt, everything in
 * order. Of such operations those are alike that have rows and receipts of the same shapes: verdict and findings cannot
 * differ, so that one of them is judged and speaks for all. Whatever is not certainly plain is judged itself.
 */
import { ATTR_RECEIPT_ID, ATTR_RUN_ID } from '@waybill/core';
import type { RowArena } from './arena.js';
import { ByteReader } from './bytes.js';
import { namesBoth } from './receipt-arena.js';
import type { ReceiptArena } from './receipt-arena.js';
import { RowBrief } from './row-brief.js';
import { textOf } from './rows.js';
import type { SpanIndex } from './span-index.js';

/** A plain call: what stands for it, and the little that is its own. */
export interface Brief {
  /** Operations with the same key have the same verdict and the same findings, but for ids, places and times. */
  readonly key: number;
  readonly startTimeUnixNano: bigint;
  /** The run as `OperationGroup.runId` names it. */
  runId(): string | undefined;
}

/** More shapes than there can be: the place value in a key. */
const SHAPES = 1 << 14;

/** What the parent of a row is: none, a span of the input, a span that is not there. */
const ROOT = 0;
const KNOWN = 1;
const LOST = 2;

export class BriefReader {
  readonly #rows: RowArena;
  readonly #receipts: ReceiptArena;
  readonly #spans: SpanIndex;
  readonly #client = new RowBrief();
  readonly #server = new RowBrief();
  readonly #receipt = new ByteReader();

  constructor(rows: RowArena, receipts: ReceiptArena, spans: SpanIndex) {
    this.#rows = rows;
    this.#receipts = receipts;
    this.#spans = spans;
  }

  /** The brief of the items `from` to `from + size`; undefined for what is no plain call. */
  read(items: Uint32Array, from: number, size: number): Brief | undefined {
    if (size > 3) return undefined;
    let client: number | undefined;
    let server: number | undefined;
    let receipt: number | undefined;
    for (let at = from; at < from + size; at++) {
      const item = items[at] ?? 0;
      if (item >= this.#rows.length) {
        if (receipt !== undefined || item >= this.#rows.length + this.#receipts.length) return undefined;
        receipt = item - this.#rows.length;
        continue;
      }
      const isClient = client === undefined && this.#is(item, 'client', this.#client);
      if (isClient) client = item;
      else if (server === undefined && this.#is(item, 'server', this.#server)) server = item;
      else return undefined;
    }
    const first = client ?? server;
    if (first === undefined) return undefined;
    const parent = this.#parentOf(client === undefined ? this.#server : this.#client);
    if (parent === undefined) return undefined;
    if (client !== undefined && server !== undefined && !this.#isOneCall()) return undefined;
    const kind = receipt === undefined ? 0 : this.#receiptKind(receipt, client, server);
    if (kind === undefined) return undefined;
    const side = client === undefined ? this.#server : this.#client;
    return {
      key:
        ((numberOf(client, this.#client) * SHAPES + numberOf(server, this.#server)) * SHAPES + kind) * 3 +
        parent,
      startTimeUnixNano: side.start(),
      runId: () => this.#runOf(client, server),
    };
  }

  #is(item: number, role: 'client' | 'server', brief: RowBrief): boolean {
    if (!this.#rows.brief(item, brief)) return false;
    const { shape } = brief;
    return shape?.plain === true && shape.fixed.role === role && brief.inOrder;
  }

  /** The server's record is of the client's call, below its span, and both clocks agree with that. */
  #isOneCall(): boolean {
    const [client, server] = [this.#client, this.#server];
    if (!server.sameIds(client.from) || !server.isChildOf(client)) return false;
    const [asked, answered] = [client.shape?.crossing, server.shape?.crossing];
    if (asked === undefined || answered === undefined) return false;
    return (
      this.#before(client, asked['client.sent'], server, answered['server.received']) &&
      this.#before(server, answered['server.result_sent'], client, asked['client.result_received'])
    );
  }

  #before(one: RowBrief, first: number, other: RowBrief, second: number): boolean {
    return first === -1 || second === -1 || one.timeOf(first) <= other.timeOf(second);
  }

  /** Undefined where the parent had ended before the row began: that is looked at. */
  #parentOf(row: RowBrief): number | undefined {
    if (!row.hasParent) return ROOT;
    const { high, low } = row.parent();
    const found = this.#spans.find(high, low);
    if (found === undefined) return LOST;
    if (found.endMs !== 0 && found.endMs + 1 < Number(row.start()) / 1e6) return undefined;
    return KNOWN;
  }

  /** Undefined for a receipt that does not name this call and this operation, or not the one that the rows name. */
  #receiptKind(receipt: number, client: number | undefined, server: number | undefined): number | undefined {
    const shape = this.#receipts.brief(receipt, this.#receipt);
    if (shape === undefined || !namesBoth(shape)) return undefined;
    const side = client === undefined ? this.#server : this.#client;
    if (!side.sameIds(this.#receipt)) return undefined;
    const named = [client, server].some(
      (item, index) =>
        item !== undefined && this.#presents(item, index === 0 ? this.#client : this.#server, receipt),
    );
    return named ? undefined : shape.number + 1;
  }

  /** The row names another receipt than the one that is there. */
  #presents(item: number, brief: RowBrief, receipt: number): boolean {
    if (brief.shape?.varying[0] !== ATTR_RECEIPT_ID) return false;
    const named = textOf(this.#rows.get(item).attributes, ATTR_RECEIPT_ID);
    return named !== this.#receipts.get(receipt).receipt.receiptId;
  }

  #runOf(client: number | undefined, server: number | undefined): string | undefined {
    const rows = [client, server].filter((item) => item !== undefined).map((item) => this.#rows.get(item));
    const named = rows.map((row) => textOf(row.attributes, ATTR_RUN_ID)).find((run) => run !== undefined);
    const trace = rows[0]?.traceId;
    return named ?? (trace === '' ? undefined : trace);
  }
}

function numberOf(item: number | undefined, brief: RowBrief): number {
  return item === undefined || brief.shape === undefined ? 0 : brief.shape.number + 1;
}
