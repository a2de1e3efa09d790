/** What the live auditor keeps of the evidence, and by which keys one piece of it bears on another. */
import { ATTR_RECEIPT_ID } from '@waybill/core';
import { hashOf } from '../../evidence/clusters.js';
import type { BrokenReceipt, OutboxRow, ReceiptRow, TargetRow } from '../../evidence/records.js';
import { textOf, type SpanRow } from '../../evidence/rows.js';

export type Item =
  | { readonly kind: 'row'; readonly row: SpanRow }
  | { readonly kind: 'receipt'; readonly row: ReceiptRow }
  | { readonly kind: 'broken'; readonly row: BrokenReceipt }
  | { readonly kind: 'target'; readonly row: TargetRow }
  | { readonly kind: 'outbox'; readonly row: OutboxRow };

export interface Keys {
  /** Items that share one of these are of one group. */
  readonly shared: readonly number[];
  /** The item joins the group that has one of these as a shared key, if there is one. */
  readonly joins: readonly number[];
  /** The item waits for a group with this shared key. */
  readonly waits: number | undefined;
}

const CALL = 1;
const OPERATION = 2;
const SPAN = 3;
const RECEIPT = 4;
const TOOLS_OF_TRACE = 5;
const REQUEST = 6;

/**
 * The keys by which the batch auditor groups (`evidence/store.ts`). Two groups put together by a key that they share
 * for another reason are judged as they would be apart.
 */
export function keysOf(item: Item): Keys {
  switch (item.kind) {
    case 'row':
      return keysOfRow(item.row);
    case 'receipt': {
      const { operationId, callId, receiptId } = item.row.receipt;
      return idKeys(operationId, callId, receiptId);
    }
    case 'target':
      return idKeys(item.row.operationId, item.row.callId, undefined);
    case 'outbox':
      return idKeys(item.row.operationId, item.row.callId, item.row.receiptId);
    case 'broken':
      return idKeys(item.row.operationId, undefined, undefined);
    default:
      return item satisfies never;
  }
}

function idKeys(
  operationId: string | undefined,
  callId: string | undefined,
  receiptId: string | undefined,
): Keys {
  const shared: number[] = [];
  if (operationId !== undefined) shared.push(hashOf(operationId, OPERATION));
  if (callId !== undefined) shared.push(hashOf(callId, CALL));
  if (receiptId !== undefined) shared.push(hashOf(receiptId, RECEIPT));
  return { shared, joins: [], waits: undefined };
}

function keysOfRow(row: SpanRow): Keys {
  const { shared } = idKeys(row.operationId, row.callId, textOf(row.attributes, ATTR_RECEIPT_ID));
  const keys = [...shared];
  if (row.spanId !== '') keys.push(hashOf(row.traceId + row.spanId, SPAN));
  const tools = hashOf(row.traceId, TOOLS_OF_TRACE);
  const joins = [tools];
  if (row.role === 'tool') keys.push(tools);
  const isLooseServer = row.role === 'server' && row.callId === undefined;
  if (row.rpcId !== undefined && row.tool !== undefined && (row.role === 'client' || isLooseServer)) {
    keys.push(hashOf(`${row.traceId}:${row.rpcId}:${row.tool}`, REQUEST));
  }
  const parent = row.parentSpanId === '' ? undefined : hashOf(row.traceId + row.parentSpanId, SPAN);
  if (parent !== undefined) joins.push(parent);
  return { shared: keys, joins, waits: parent };
}

/** The same for a record that was read a second time after a restart, from the same place. */
export function identityOf(item: Item): string {
  const { at } = item.row;
  const place = `${item.kind}:${at.source}:${at.line ?? ''}:${at.offset ?? ''}`;
  if (item.kind !== 'row') return place;
  const { role, traceId, spanId, callId, fromLogs, stages } = item.row;
  const stage = fromLogs ? stages.map(({ name, seq, timeUnixNano }) => `${name}${seq}${timeUnixNano}`) : [];
  return [place, role, traceId, spanId, callId, ...stage].join('|');
}

/** The latest time that the item states; 0n when it states none. */
export function latestOf(item: Item): bigint {
  switch (item.kind) {
    case 'row': {
      const { startTimeUnixNano, endTimeUnixNano, stages } = item.row;
      return stages.reduce(
        (latest, stage) => (stage.timeUnixNano > latest ? stage.timeUnixNano : latest),
        endTimeUnixNano > startTimeUnixNano ? endTimeUnixNano : startTimeUnixNano,
      );
    }
    case 'receipt':
      return item.row.receipt.atUnixNano ?? 0n;
    case 'target':
      return item.row.readAtUnixNano;
    case 'outbox':
      return item.row.createdAtUnixNano;
    case 'broken':
      return 0n;
    default:
      return item satisfies never;
  }
}
