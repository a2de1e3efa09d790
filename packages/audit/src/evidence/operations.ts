/** Calls and records to operations: one intention with everything that speaks of it. */
import {
  ATTR_EFFECT_KIND,
  ATTR_OPERATION_SOURCE,
  ATTR_RECEIPT_ID,
  ATTR_RUN_ID,
  EFFECT_KINDS,
} from '@waybill/core';
import type { EffectKind } from '@waybill/core';
import type { CallRows } from './joins.js';
import type { BrokenReceipt, OutboxRow, ReceiptRow, TargetRow } from './records.js';
import type { SpanRow } from './rows.js';
import { compareBig, comparePlaces, compareText, textOf } from './rows.js';
import { orderRows } from './side.js';

export interface CallGroup extends CallRows {
  readonly tool: string | undefined;
  readonly effectKind: EffectKind;
  readonly startTimeUnixNano: bigint;
  readonly endTimeUnixNano: bigint;
}

export interface OperationGroup {
  readonly key: string;
  readonly operationId: string | undefined;
  readonly idSource: string | undefined;
  readonly runId: string | undefined;
  /** In the order in which they began; ties by id. */
  readonly calls: readonly CallGroup[];
  readonly receipts: readonly ReceiptRow[];
  /** Receipts of this operation that name a call of another one, or whose copies disagree. */
  readonly misbound: readonly ReceiptRow[];
  readonly broken: readonly BrokenReceipt[];
  readonly targets: readonly TargetRow[];
  readonly outbox: readonly OutboxRow[];
}

export interface Records {
  readonly receipts: readonly ReceiptRow[];
  readonly broken: readonly BrokenReceipt[];
  readonly targets: readonly TargetRow[];
  readonly outbox: readonly OutboxRow[];
}

interface Draft {
  readonly key: string;
  readonly operationId: string | undefined;
  calls: CallGroup[];
  receipts: ReceiptRow[];
  misbound: ReceiptRow[];
  broken: BrokenReceipt[];
  targets: TargetRow[];
  outbox: OutboxRow[];
}

export function groupOperations(calls: readonly CallRows[], records: Records): readonly OperationGroup[] {
  const byKey = new Map<string, Draft>();
  const ofCall = new Map<string, Draft>();
  const open = (key: string, operationId: string | undefined): Draft => {
    const found = byKey.get(key);
    if (found !== undefined) return found;
    const draft: Draft = {
      key,
      operationId,
      calls: [],
      receipts: [],
      misbound: [],
      broken: [],
      targets: [],
      outbox: [],
    };
    byKey.set(key, draft);
    return draft;
  };
  for (const call of calls) {
    const operationId = operationIdOf(call);
    const key = operationId ?? (call.callId === undefined ? call.id : `call:${call.callId}`);
    const draft = open(key, operationId);
    draft.calls.push(callGroup(call));
    if (call.callId !== undefined) ofCall.set(call.callId, draft);
  }
  const ofRecord = (operationId: string | undefined, callId: string | undefined): Draft => {
    const named = operationId === undefined ? undefined : byKey.get(operationId);
    const called = callId === undefined ? undefined : ofCall.get(callId);
    // The receipt names the operation that it is of; only without a name, or where nothing else knows the name and the
    // operation of the call has none of its own, does the call decide.
    if (named !== undefined) return named;
    if (called !== undefined && (operationId === undefined || !hasOwnName(called))) return called;
    return operationId === undefined
      ? open(`call:${callId ?? ''}`, undefined)
      : open(operationId, operationId);
  };
  for (const row of distinctReceipts(records.receipts)) {
    const { operationId, callId } = row.receipt;
    const draft = ofRecord(operationId, callId);
    draft.receipts.push(row);
    const called = callId === undefined ? undefined : ofCall.get(callId);
    if (row.contested || (called !== undefined && called !== draft)) {
      draft.misbound.push(row);
      if (called !== undefined && called !== draft) called.misbound.push(row);
    }
  }
  addPresented(byKey, records.receipts);
  for (const row of records.targets) ofRecord(row.operationId, row.callId).targets.push(row);
  for (const row of records.outbox) ofRecord(row.operationId, row.callId).outbox.push(row);
  for (const row of records.broken) {
    if (row.operationId !== undefined) ofRecord(row.operationId, undefined).broken.push(row);
  }
  return [...byKey.values()].map(finish).sort(byStart);
}

/** A span names a receipt as its own; when that is of another operation, it was taken from there. */
function addPresented(byKey: ReadonlyMap<string, Draft>, receipts: readonly ReceiptRow[]): void {
  if (receipts.length === 0) return;
  const byId = new Map(receipts.map((row) => [row.receipt.receiptId, row]));
  for (const draft of byKey.values()) {
    for (const row of draft.calls.flatMap((call) => [...call.client, ...call.server])) {
      const named = byId.get(textOf(row.attributes, ATTR_RECEIPT_ID) ?? '');
      if (named === undefined || named.receipt.operationId === undefined) continue;
      const own = named.receipt.operationId === draft.key || !hasOwnName(draft);
      if (!own && !draft.misbound.includes(named)) draft.misbound.push(named);
    }
  }
}

/** Whether somebody who knows the intention named the operation; a generated name may differ on the two sides. */
function hasOwnName(draft: Draft): boolean {
  if (draft.operationId === undefined) return false;
  const rows = draft.calls.flatMap((call) => [...call.client, ...call.server]);
  return first(rows, ATTR_OPERATION_SOURCE) !== 'generated';
}

/** Copies of one receipt are one; the same id with another content is a forgery of one of them. */
function distinctReceipts(
  rows: readonly ReceiptRow[],
): readonly (ReceiptRow & { readonly contested: boolean })[] {
  const [only, another] = rows;
  if (only === undefined) return [];
  if (another === undefined) return [{ ...only, contested: false }];
  const byId = new Map<string, Map<string, ReceiptRow>>();
  for (const row of [...rows].sort((a, b) => comparePlaces(a.at, b.at))) {
    const contents = byId.get(row.receipt.receiptId) ?? new Map<string, ReceiptRow>();
    const content = contentOf(row);
    if (!contents.has(content)) contents.set(content, row);
    byId.set(row.receipt.receiptId, contents);
  }
  return [...byId.values()].flatMap((contents) =>
    [...contents.values()].map((row) => ({ ...row, contested: contents.size > 1 })),
  );
}

function contentOf(row: ReceiptRow): string {
  return JSON.stringify(row.receipt, (_, member: unknown) =>
    typeof member === 'bigint' ? String(member) : member,
  );
}

function finish(draft: Draft): OperationGroup {
  const calls = draft.calls.sort(
    (a, b) => compareBig(a.startTimeUnixNano, b.startTimeUnixNano) || compareText(a.id, b.id),
  );
  const rows = calls.flatMap((call) => [...call.client, ...call.server]);
  return {
    key: draft.key,
    operationId: draft.operationId,
    idSource: first(rows, ATTR_OPERATION_SOURCE),
    runId: runOf(calls),
    calls,
    receipts: draft.receipts.sort(byReceipt),
    misbound: draft.misbound.sort(byReceipt),
    broken: draft.broken.sort((a, b) => comparePlaces(a.at, b.at)),
    targets: draft.targets.sort(byRead),
    outbox: draft.outbox.sort((a, b) => comparePlaces(a.at, b.at)),
  };
}

function byReceipt(a: ReceiptRow, b: ReceiptRow): number {
  return (
    compareBig(a.receipt.atUnixNano ?? 0n, b.receipt.atUnixNano ?? 0n) ||
    compareText(a.receipt.receiptId, b.receipt.receiptId) ||
    comparePlaces(a.at, b.at)
  );
}

/** The latest read last; reads at one time by content, so that the order of the lines does not matter. */
function byRead(a: TargetRow, b: TargetRow): number {
  return (
    compareBig(a.readAtUnixNano, b.readAtUnixNano) ||
    compareText(a.version ?? '', b.version ?? '') ||
    compareText(a.state ?? '', b.state ?? '') ||
    comparePlaces(a.at, b.at)
  );
}

function byStart(a: OperationGroup, b: OperationGroup): number {
  return (
    compareBig(a.calls[0]?.startTimeUnixNano ?? 0n, b.calls[0]?.startTimeUnixNano ?? 0n) ||
    compareText(a.key, b.key)
  );
}

function callGroup(call: CallRows): CallGroup {
  const client = orderRows(call.client);
  const server = orderRows(call.server);
  const rows = [...client, ...server];
  const starts = (client.length > 0 ? client : server).map((row) => row.startTimeUnixNano);
  return {
    ...call,
    client,
    server,
    tool: rows.find((row) => row.tool !== undefined)?.tool,
    effectKind: kindOf(server) ?? kindOf(client) ?? 'unknown',
    startTimeUnixNano: starts.reduce((a, b) => (a < b ? a : b), starts[0] ?? 0n),
    endTimeUnixNano: rows.reduce((a, row) => (a > row.endTimeUnixNano ? a : row.endTimeUnixNano), 0n),
  };
}

/** The server's own registration is authoritative. */
function kindOf(rows: readonly SpanRow[]): EffectKind | undefined {
  const stated = first(rows, ATTR_EFFECT_KIND);
  return EFFECT_KINDS.find((kind) => kind === stated);
}

function operationIdOf(call: CallRows): string | undefined {
  for (const row of [...orderRows(call.client), ...orderRows(call.server)]) {
    if (row.operationId !== undefined) return row.operationId;
  }
  return undefined;
}

/** The run as the calls name it; without a name the trace of the first client span (DESIGN 2.1). */
function runOf(calls: readonly CallGroup[]): string | undefined {
  const named = first(
    calls.flatMap((call) => [...call.client, ...call.server]),
    ATTR_RUN_ID,
  );
  if (named !== undefined) return named;
  const trace = (calls[0]?.client[0] ?? calls[0]?.server[0])?.traceId;
  return trace === '' ? undefined : trace;
}

function first(rows: readonly SpanRow[], key: string): string | undefined {
  for (const row of rows) {
    const value = textOf(row.attributes, key);
    if (value !== undefined) return value;
  }
  return undefined;
}
