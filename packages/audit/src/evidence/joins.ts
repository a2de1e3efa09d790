/**
 * Rows to calls. A side joins the other by, strongest first: the same `waybill.call.id` in any trace; the SERVER span
 * being a child of the CLIENT span; the same JSON-RPC id and tool in one trace with exactly one candidate
 * (`weak_join`). Tool and time alone join nothing.
 */
import { ATTR_CALL_CONTINUES } from '@waybill/core';
import type { JoinBasis } from '../rule.js';
import type { SpanRow } from './rows.js';
import { textOf } from './rows.js';

export interface CallRows {
  /** The call id, or `span:<trace>:<span>` of a call without one. */
  readonly id: string;
  readonly callId: string | undefined;
  readonly client: readonly SpanRow[];
  readonly server: readonly SpanRow[];
  readonly join: JoinBasis;
}

interface Draft {
  readonly id: string;
  callId: string | undefined;
  client: SpanRow[];
  server: SpanRow[];
  join: JoinBasis;
}

export function joinRows(rows: readonly SpanRow[]): readonly CallRows[] {
  const drafts: Draft[] = [];
  const byCallId = new Map<string, Draft>();
  const ofSpan = new Map<string, { draft: Draft; row: SpanRow }>();
  const place = (draft: Draft, row: SpanRow): void => {
    (row.role === 'server' ? draft.server : draft.client).push(row);
    if (row.spanId !== '') ofSpan.set(spanKey(row.traceId, row.spanId), { draft, row });
  };
  const open = (row: SpanRow): void => {
    const draft: Draft = {
      id: row.callId ?? `span:${row.traceId}:${row.spanId}`,
      callId: row.callId,
      client: [],
      server: [],
      join: 'call_id',
    };
    drafts.push(draft);
    if (row.callId !== undefined) byCallId.set(row.callId, draft);
    place(draft, row);
  };

  // Rows with a call id first, then clients, then what hangs below them: the order of the input does not matter.
  const named = rows.filter((row) => row.callId !== undefined);
  for (const row of named) {
    const draft = byCallId.get(row.callId ?? '');
    if (draft === undefined) open(row);
    else place(draft, row);
  }
  const unnamed = rows.filter((row) => row.callId === undefined);
  // Where every row names its call there is nothing left to guess.
  if (unnamed.length === 0) return drafts;
  for (const row of unnamed.filter((each) => each.role === 'client')) {
    const holder = sameCallNearby(row, ofSpan, named);
    if (holder === undefined) open(row);
    else place(holder, row);
  }
  adoptNamedServers(drafts, byCallId, ofSpan);
  const waiting: SpanRow[] = [];
  for (const row of unnamed.filter((each) => each.role === 'server')) {
    const parent = ofSpan.get(spanKey(row.traceId, row.parentSpanId));
    if (parent !== undefined && sameTool(parent.row, row) && parent.row.role !== 'tool') {
      if (parent.draft.server.length === 0) parent.draft.join = 'parent_span';
      place(parent.draft, row);
    } else waiting.push(row);
  }
  joinByRpcId(waiting, drafts, place, open);
  addToolSpans(
    unnamed.filter((each) => each.role === 'tool'),
    drafts,
    ofSpan,
    open,
  );
  return drafts.filter((draft) => draft.client.length + draft.server.length > 0);
}

function spanKey(traceId: string, spanId: string): string {
  return `${traceId}:${spanId}`;
}

function sameTool(a: SpanRow, b: SpanRow): boolean {
  return a.tool === undefined || b.tool === undefined || a.tool === b.tool;
}

/** A second instrumentation of the same side: its span is parent or child of ours, of the same tool. */
function sameCallNearby(
  row: SpanRow,
  ofSpan: ReadonlyMap<string, { draft: Draft; row: SpanRow }>,
  named: readonly SpanRow[],
): Draft | undefined {
  const parent = ofSpan.get(spanKey(row.traceId, row.parentSpanId));
  if (parent?.row.role === 'client' && sameTool(parent.row, row)) return parent.draft;
  const children = named.filter(
    (other) =>
      other.role === 'client' &&
      other.traceId === row.traceId &&
      row.spanId !== '' &&
      other.parentSpanId === row.spanId &&
      sameTool(other, row),
  );
  const [child] = children;
  return children.length === 1 && child !== undefined
    ? ofSpan.get(spanKey(child.traceId, child.spanId))?.draft
    : undefined;
}

/** Our server below a client that knows no call ids: two drafts of one call. */
function adoptNamedServers(
  drafts: readonly Draft[],
  byCallId: Map<string, Draft>,
  ofSpan: Map<string, { draft: Draft; row: SpanRow }>,
): void {
  for (const draft of drafts) {
    if (draft.client.length > 0 || draft.callId === undefined) continue;
    const parents = new Set(
      draft.server.map((row) => ofSpan.get(spanKey(row.traceId, row.parentSpanId))?.draft),
    );
    const [parent] = parents;
    if (parents.size !== 1 || parent === undefined || parent === draft) continue;
    if (parent.callId !== undefined || parent.client.length === 0) continue;
    parent.callId = draft.callId;
    parent.join = 'parent_span';
    parent.server.push(...draft.server);
    for (const row of draft.server) ofSpan.set(spanKey(row.traceId, row.spanId), { draft: parent, row });
    byCallId.set(draft.callId, parent);
    draft.server = [];
  }
}

function joinByRpcId(
  servers: readonly SpanRow[],
  drafts: readonly Draft[],
  place: (draft: Draft, row: SpanRow) => void,
  open: (row: SpanRow) => void,
): void {
  const free = new Map<string, Draft[]>();
  for (const draft of drafts) {
    if (draft.server.length > 0) continue;
    for (const row of draft.client) {
      const key = rpcKey(row);
      if (key !== undefined) free.set(key, [...(free.get(key) ?? []), draft]);
    }
  }
  const rivals = new Map<string, number>();
  for (const row of servers) {
    const key = rpcKey(row);
    if (key !== undefined) rivals.set(key, (rivals.get(key) ?? 0) + 1);
  }
  for (const row of servers) {
    const key = rpcKey(row);
    const candidates = [...new Set(key === undefined ? [] : (free.get(key) ?? []))].filter((draft) =>
      draft.client.some((client) => isInside(row, client)),
    );
    const [candidate] = candidates;
    if (candidate !== undefined && candidates.length === 1 && rivals.get(key ?? '') === 1) {
      candidate.join = 'rpc_id_in_trace';
      place(candidate, row);
    } else open(row);
  }
}

function rpcKey(row: SpanRow): string | undefined {
  if (row.rpcId === undefined || row.tool === undefined || row.traceId === '') return undefined;
  return `${row.traceId}:${row.rpcId}:${row.tool}`;
}

function isInside(inner: SpanRow, outer: SpanRow): boolean {
  return (
    inner.startTimeUnixNano >= outer.startTimeUnixNano && inner.startTimeUnixNano <= outer.endTimeUnixNano
  );
}

/**
 * A GenAI span of a tool call is the same call as an MCP span of its trace that it holds or overlaps; alone, it is all
 * that is known of the call.
 */
function addToolSpans(
  tools: readonly SpanRow[],
  drafts: readonly Draft[],
  ofSpan: ReadonlyMap<string, { draft: Draft; row: SpanRow }>,
  open: (row: SpanRow) => void,
): void {
  const boundary = new Map<string, SpanRow[]>();
  for (const draft of drafts) {
    for (const row of [...draft.client, ...draft.server]) {
      boundary.set(row.traceId, [...(boundary.get(row.traceId) ?? []), row]);
    }
  }
  for (const row of tools) {
    const parent = ofSpan.get(spanKey(row.traceId, row.parentSpanId))?.row;
    if (parent !== undefined && sameTool(parent, row)) continue;
    const held = (boundary.get(row.traceId) ?? []).some(
      (other) =>
        sameTool(other, row) &&
        (other.parentSpanId === row.spanId ||
          (other.startTimeUnixNano <= row.endTimeUnixNano && other.endTimeUnixNano >= row.startTimeUnixNano)),
    );
    if (!held) open(row);
  }
}

export function continuesOf(call: CallRows): string | undefined {
  for (const row of [...call.client, ...call.server]) {
    const continues = textOf(row.attributes, ATTR_CALL_CONTINUES);
    if (continues !== undefined) return continues;
  }
  return undefined;
}
