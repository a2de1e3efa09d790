/**
 * Which spans and log records speak of tool calls, and the compact row that is kept of them. Spans of other
 * instrumentations count too: they have no stages, and what they say of the outcome is derived in `foreign.ts`.
 */
import {
  ATTR_CALL_ID,
  ATTR_GEN_AI_OPERATION_NAME,
  ATTR_GEN_AI_TOOL_NAME,
  ATTR_JSONRPC_REQUEST_ID,
  ATTR_MCP_METHOD_NAME,
  ATTR_OPERATION_ID,
  ATTR_OUTCOME,
  ATTR_OUTCOME_REASON,
  ATTR_RESULT_DIGEST,
  ATTR_STAGES,
  ATTR_STAGE_SEQ,
  GEN_AI_OPERATION_EXECUTE_TOOL,
  METHOD_TOOLS_CALL,
  STAGE_EVENT_PREFIX,
  stageOfEvent,
} from '@waybill/core';
import type { AttributeValue, Attributes, LogRecord, Span, SpanEvent } from '../model.js';
import type { EvidenceRef } from '../rule.js';
import type { Role, SpanRow, StageRow } from './rows.js';
import { listOf, textOf } from './rows.js';

/** Namespaces whose attributes are kept. Arguments, results and other content are never kept. */
const KEPT = /^(?:waybill|mcp|gen_ai|jsonrpc|rpc|error|http|network|server|client|url|exception)\./;
const CONTENT =
  /^gen_ai\.(?:tool\.call\.(?:arguments|result)|prompt\.|input|output|system|completion)|^mcp\.(?:request\.argument|prompt\.|tool\.result\.content)/;
/** Longer texts are content by any other name. */
const MAX_TEXT = 1_000;

/** Asks for the result of a call that was made as a task: applies nothing itself. */
export const METHOD_TASKS_RESULT = 'tasks/result';
const TRACELOOP_KIND = 'traceloop.span.kind';
const TRACELOOP_ENTITY = 'traceloop.entity.name';
/** A span of no length that carries a stage which came after the span of its call had ended; it hangs below that. */
const LATE_SPAN = `${STAGE_EVENT_PREFIX}late_result`;
/** Parent sampled or not is unknown to OTLP; bit 0 of the span's own flags is the W3C sampled flag. */
const SAMPLED = 1;

/** Whether any MCP method, not only a tool call, is spoken of: counted as `mcpSpans`. */
export function isMcpSpan(span: Span): boolean {
  return ATTR_MCP_METHOD_NAME in span.attributes || ATTR_CALL_ID in span.attributes;
}

/** The row of a span that speaks of a tool call; undefined for every other span. */
export function rowOfSpan(span: Span): SpanRow | undefined {
  const recognised = recognise(span);
  if (recognised === undefined) return undefined;
  const isLate = span.name === LATE_SPAN;
  const at: EvidenceRef = {
    ...span.at,
    traceId: span.traceId,
    spanId: isLate ? span.parentSpanId : span.spanId,
  };
  const attributes = keep(span.attributes);
  const stages: StageRow[] = [];
  const seqs: number[] = [];
  let timedOut = false;
  for (const event of span.events) {
    const seq = seqOf(event.attributes);
    if (seq !== undefined) seqs.push(seq);
    const name = stageOfEvent(event.name);
    if (name !== undefined) {
      stages.push({ name, timeUnixNano: event.timeUnixNano, seq, at: eventPlace(at, event.name) });
    }
    const digest = event.attributes[ATTR_RESULT_DIGEST];
    if (typeof digest === 'string') attributes[ATTR_RESULT_DIGEST] ??= digest;
    timedOut ||= isTimeoutException(event);
  }
  const own = ATTR_CALL_ID in attributes || stages.length > 0;
  for (const named of listOf(attributes, ATTR_STAGES)) {
    const name = stageOfEvent(named);
    if (name !== undefined && !stages.some((stage) => stage.name === name)) {
      stages.push({ name, timeUnixNano: 0n, seq: undefined, at });
    }
  }
  return {
    role: recognised.role,
    own,
    fromLogs: isLate,
    scope: span.scope.name,
    service: span.resource.serviceName,
    traceId: span.traceId,
    spanId: isLate ? span.parentSpanId : span.spanId,
    parentSpanId: isLate ? '' : span.parentSpanId,
    startTimeUnixNano: span.startTimeUnixNano,
    endTimeUnixNano: span.endTimeUnixNano,
    status: isLate ? undefined : span.status.code === 2 ? 'error' : span.status.code === 1 ? 'ok' : 'unset',
    method: recognised.method,
    tool: recognised.tool,
    rpcId: textOf(attributes, ATTR_JSONRPC_REQUEST_ID) ?? textOf(attributes, 'mcp.request.id'),
    callId: textOf(attributes, ATTR_CALL_ID),
    operationId: textOf(attributes, ATTR_OPERATION_ID),
    attributes,
    stages: stages.sort(byOrder),
    seqs: distinct(seqs),
    timedOut,
    droppedEvents: span.droppedEventsCount,
    unsampled: span.flags !== undefined && span.flags !== 0 && (span.flags & SAMPLED) === 0,
    at,
    contested: false,
  };
}

/** A literal is made far faster than a spread, and nearly every place is one of a line. */
function eventPlace(at: EvidenceRef, event: string): EvidenceRef {
  const { source, line, offset, traceId = '', spanId = '' } = at;
  return line !== undefined && offset === undefined
    ? { source, line, traceId, spanId, event }
    : { ...at, event };
}

interface Recognised {
  readonly role: Role;
  readonly method: string;
  readonly tool: string | undefined;
}

function recognise(span: Span): Recognised | undefined {
  const { attributes } = span;
  const method = text(attributes[ATTR_MCP_METHOD_NAME]);
  const tool = toolOf(attributes, span.name, method);
  if (span.name === LATE_SPAN) return { role: 'client', method: METHOD_TOOLS_CALL, tool };
  if (method === METHOD_TOOLS_CALL) return { role: roleOfKind(span), method, tool };
  // The answer to this one is the result of a tool that was called as a task.
  if (method === METHOD_TASKS_RESULT && ATTR_CALL_ID in attributes) {
    return { role: roleOfKind(span), method, tool };
  }
  if (method === undefined && ATTR_CALL_ID in attributes && !/^(?!tools\/call)[a-z]+\//.test(span.name)) {
    return { role: roleOfKind(span), method: METHOD_TOOLS_CALL, tool };
  }
  if (method !== undefined) return undefined;
  if (
    attributes[ATTR_GEN_AI_OPERATION_NAME] === GEN_AI_OPERATION_EXECUTE_TOOL ||
    span.name.startsWith(`${GEN_AI_OPERATION_EXECUTE_TOOL} `)
  ) {
    return { role: 'tool', method: '', tool };
  }
  if (attributes[TRACELOOP_KIND] === 'tool' && span.scope.name.endsWith('instrumentation-mcp')) {
    return { role: 'client', method: METHOD_TOOLS_CALL, tool };
  }
  return undefined;
}

function roleOfKind(span: Span): Role {
  if (span.kind === 2) return 'server';
  if (span.kind === 3) return 'client';
  // Some servers record the handler as an internal span; a client that sends says so in the name.
  return span.name.startsWith('MCP send') ? 'client' : 'server';
}

function toolOf(attributes: Attributes, name: string, method: string | undefined): string | undefined {
  const named =
    text(attributes[ATTR_GEN_AI_TOOL_NAME]) ??
    text(attributes['mcp.tool.name']) ??
    text(attributes[TRACELOOP_ENTITY]);
  if (named !== undefined) return named;
  const prefix = method === undefined ? GEN_AI_OPERATION_EXECUTE_TOOL : METHOD_TOOLS_CALL;
  const at = name.indexOf(`${prefix} `);
  return at === -1 ? undefined : name.slice(at + prefix.length + 1) || undefined;
}

/** The row of a stage log; undefined for every other log record. */
export function rowOfLog(record: LogRecord): SpanRow | undefined {
  const name = stageOfEvent(record.eventName);
  if (name === undefined) return undefined;
  const at: EvidenceRef = {
    ...record.at,
    traceId: record.traceId,
    spanId: record.spanId,
    event: record.eventName,
  };
  const attributes = keep(record.attributes);
  if (name === 'client.late_result') {
    // That is what came too late; the caller was told something else.
    delete attributes[ATTR_OUTCOME];
    delete attributes[ATTR_OUTCOME_REASON];
  }
  const seq = seqOf(record.attributes);
  return {
    role: name.startsWith('client.') ? 'client' : 'server',
    own: true,
    fromLogs: true,
    scope: record.scope.name,
    service: record.resource.serviceName,
    traceId: record.traceId,
    spanId: record.spanId,
    parentSpanId: '',
    startTimeUnixNano: record.timeUnixNano,
    endTimeUnixNano: record.timeUnixNano,
    status: undefined,
    method: METHOD_TOOLS_CALL,
    tool: text(record.attributes[ATTR_GEN_AI_TOOL_NAME]),
    rpcId: textOf(attributes, ATTR_JSONRPC_REQUEST_ID),
    callId: textOf(attributes, ATTR_CALL_ID),
    operationId: textOf(attributes, ATTR_OPERATION_ID),
    attributes,
    stages: [{ name, timeUnixNano: record.timeUnixNano, seq, at }],
    seqs: seq === undefined ? [] : [seq],
    timedOut: false,
    droppedEvents: 0,
    unsampled: false,
    at,
    contested: false,
  };
}

function keep(attributes: Attributes): Record<string, AttributeValue> {
  const kept: Record<string, AttributeValue> = {};
  for (const key in attributes) {
    const value = attributes[key];
    if (value === undefined || !isKept(key)) continue;
    if (typeof value === 'string' && value.length > MAX_TEXT) continue;
    kept[key] = value;
  }
  return kept;
}

const kept = new Map<string, boolean>();
/** Names that are remembered; honest exports use a few dozen. */
const MAX_NAMES = 1 << 12;

/** Whether rows keep the attribute. */
export function isKept(name: string): boolean {
  let is = kept.get(name);
  if (is === undefined) {
    is = KEPT.test(name) && !CONTENT.test(name);
    if (kept.size < MAX_NAMES) kept.set(name, is);
  }
  return is;
}

/** Whether the value of the attribute says what a span is, though no row keeps it. */
export function namesTool(name: string): boolean {
  return name === TRACELOOP_KIND || name === TRACELOOP_ENTITY;
}

export function seqOf(attributes: Attributes): number | undefined {
  const value = attributes[ATTR_STAGE_SEQ];
  const number = typeof value === 'bigint' || typeof value === 'string' ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 1 ? number : undefined;
}

function isTimeoutException(event: SpanEvent): boolean {
  const type = event.name === 'exception' ? event.attributes['exception.type'] : undefined;
  return typeof type === 'string' && /timeout/i.test(type);
}

function text(value: AttributeValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Order inside a side: by `seq` where both have one, else by time. */
export function byOrder(a: StageRow, b: StageRow): number {
  if (a.seq !== undefined && b.seq !== undefined && a.seq !== b.seq) return a.seq - b.seq;
  return a.timeUnixNano < b.timeUnixNano ? -1 : a.timeUnixNano > b.timeUnixNano ? 1 : 0;
}

export function distinct(numbers: readonly number[]): readonly number[] {
  return [...new Set(numbers)].sort((a, b) => a - b);
}
