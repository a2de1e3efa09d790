/**
 * What the rows of an export share. A service calls a few tools in a few ways: everything about a row but its ids, its
 * times and some values is the same for thousands of rows, and is kept once. Two rows have one shape only when every
 * fact that verdicts and built-in rules look at, other than ids and times, is the same.
 */
import {
  ATTR_ARGS_DIGEST,
  ATTR_CALL_ATTEMPT,
  ATTR_CALL_CONTINUES,
  ATTR_CALL_ID,
  ATTR_EFFECT_KIND,
  ATTR_EFFECT_REPLAYED,
  ATTR_FLAGS,
  ATTR_INSTRUMENTATION_DEGRADED,
  ATTR_JSONRPC_REQUEST_ID,
  ATTR_OPERATION_ID,
  ATTR_OPERATION_SOURCE,
  ATTR_OUTCOME,
  ATTR_OUTCOME_REASON,
  ATTR_OUTCOME_SOURCE,
  ATTR_RECEIPT_ID,
  ATTR_REPLY_STATE,
  ATTR_REPLY_CALL_ID,
  ATTR_RESULT_DIGEST,
  ATTR_RETRY_ORIGIN,
  ATTR_RPC_RESPONSE_STATUS_CODE,
  ATTR_SDK_ACCEPTED,
  ATTR_SDK_OUTCOME,
  ATTR_STAGES,
} from '@waybill/core';
import type { Stage } from '@waybill/core';
import type { AttributeValue } from '../model.js';
import type { SpanRow } from './rows.js';

/**
 * Attributes whose value belongs to the shape: whatever a verdict or a built-in rule may look at, but for ids. The
 * values of all other attributes are kept with each row.
 */
export const SHAPING: ReadonlySet<string> = new Set([
  ATTR_CALL_ATTEMPT,
  ATTR_EFFECT_KIND,
  ATTR_EFFECT_REPLAYED,
  ATTR_FLAGS,
  ATTR_INSTRUMENTATION_DEGRADED,
  ATTR_OPERATION_SOURCE,
  ATTR_OUTCOME,
  'waybill.outcome_layer',
  ATTR_OUTCOME_REASON,
  ATTR_OUTCOME_SOURCE,
  ATTR_REPLY_STATE,
  ATTR_RETRY_ORIGIN,
  ATTR_RPC_RESPONSE_STATUS_CODE,
  ATTR_SDK_ACCEPTED,
  ATTR_SDK_OUTCOME,
  ATTR_STAGES,
  'error.type',
  'http.response.status_code',
  'mcp.error.code',
  'mcp.input_required',
  'mcp.method.name',
  'mcp.tool.name',
  'mcp.protocol.version',
  'mcp.tool.result.is_error',
  'gen_ai.operation.name',
  'gen_ai.tool.name',
  'network.transport',
  'waybill.run.source',
]);

/** Ids that a row also has as a field; written once. */
const FIELDS = [ATTR_CALL_ID, ATTR_OPERATION_ID, ATTR_JSONRPC_REQUEST_ID] as const;

/** Attributes with which a call is one of a kind: it is compared with others, or continues them. */
const SINGULAR = [ATTR_ARGS_DIGEST, ATTR_RESULT_DIGEST, ATTR_CALL_CONTINUES, ATTR_REPLY_CALL_ID] as const;

/** The outcomes after which nothing more is to come and nothing is in doubt. */
const SETTLED: ReadonlySet<unknown> = new Set(['TOOL_SUCCESS', 'TOOL_ERROR', 'JSONRPC_ERROR']);
const UNSETTLED: ReadonlySet<string> = new Set([
  'client.timeout',
  'client.cancelled',
  'client.failed',
  'server.cancel_received',
]);

/** Distinct shapes that are kept. An export with more is no export of a few services; its other rows are kept whole. */
const MAX_SHAPES = 1 << 13;

export interface ShapeStage {
  readonly name: Stage;
  readonly seq: number | undefined;
  /** How the event spells the stage; undefined: it is named by an attribute only. */
  readonly event: string | undefined;
}

type Fixed = Pick<
  SpanRow,
  | 'role'
  | 'own'
  | 'fromLogs'
  | 'scope'
  | 'service'
  | 'status'
  | 'method'
  | 'tool'
  | 'timedOut'
  | 'droppedEvents'
  | 'unsampled'
  | 'contested'
  | 'seqs'
>;

export interface Shape {
  readonly number: number;
  readonly fixed: Fixed;
  readonly source: string;
  /** Of a log record: the event that it is. */
  readonly event: string | undefined;
  readonly hasCallId: boolean;
  readonly hasOperationId: boolean;
  readonly hasRpcId: boolean;
  /** Attributes that repeat a field, in the order of call, operation and JSON-RPC id. */
  readonly asAttribute: readonly boolean[];
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  /** Keys of the attributes whose values each row keeps; the id of a receipt first. */
  readonly varying: readonly string[];
  readonly stages: readonly ShapeStage[];
  /**
   * Whether rows of this shape say nothing by their ids and times that another row of it does not say, provided that
   * the times are in order: our own record of a call that is settled, continues nothing and is compared with nothing.
   */
  readonly plain: boolean;
  /** Place of `server.effect_requested`; -1 for none. */
  readonly effectRequested: number;
  /** Places among `stages` of those that are compared with the other side; -1 for one that there is none of. */
  readonly crossing: Readonly<Record<Crossing, number>>;
}

/** Stages of the two sides whose times must be in order. */
export type Crossing = 'client.sent' | 'server.received' | 'server.result_sent' | 'client.result_received';

export class Shapes {
  readonly #byKey = new Map<string, Shape>();
  readonly #all: Shape[] = [];

  /** The shape of a row; undefined when the row has none and is kept whole. */
  of(row: SpanRow): Shape | undefined {
    const key = keyOf(row);
    if (key === undefined) return undefined;
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    if (this.#all.length >= MAX_SHAPES) return undefined;
    const made = shapeOf(row, this.#all.length);
    this.#byKey.set(key, made);
    this.#all.push(made);
    return made;
  }

  get(number: number): Shape | undefined {
    return this.#all[number];
  }
}

/** Unambiguous: texts from the export stand with their length. Undefined for rows of no common make. */
function keyOf(row: SpanRow): string | undefined {
  const { at, traceId, spanId, attributes, callId, operationId, rpcId, seqs, stages, tool } = row;
  if (at.traceId !== traceId || at.spanId !== spanId || at.receiptId !== undefined) return undefined;
  const bits =
    (row.own ? 1 : 0) |
    (row.fromLogs ? 2 : 0) |
    (row.timedOut ? 4 : 0) |
    (row.unsampled ? 8 : 0) |
    (row.contested ? 16 : 0) |
    (callId === undefined ? 0 : 32) |
    (operationId === undefined ? 0 : 64) |
    (rpcId === undefined ? 0 : 128) |
    (attributes[ATTR_CALL_ID] === undefined ? 0 : 256) |
    (attributes[ATTR_OPERATION_ID] === undefined ? 0 : 512) |
    (attributes[ATTR_JSONRPC_REQUEST_ID] === undefined ? 0 : 1024);
  let key = `${bits} ${row.droppedEvents} ${row.role} ${row.status ?? ''} ${at.source.length} ${at.source}${row.scope.length} ${row.scope}${row.service.length} ${row.service}${row.method.length} ${row.method}${tool === undefined ? '-' : `${tool.length} ${tool}`}`;
  if (at.event !== undefined) key += `:${at.event.length} ${at.event}`;
  for (const name in attributes) {
    const value = attributes[name];
    if (name === ATTR_CALL_ID || name === ATTR_OPERATION_ID || name === ATTR_JSONRPC_REQUEST_ID) {
      const field = name === ATTR_CALL_ID ? callId : name === ATTR_OPERATION_ID ? operationId : rpcId;
      if (value !== field) return undefined;
      continue;
    }
    if (!SHAPING.has(name)) key += `?${name.length} ${name}`;
    else if (typeof value === 'string') key += `"${name} ${value.length} ${value}`;
    else if (typeof value === 'number' || typeof value === 'boolean') key += `=${name} ${String(value)} `;
    else key += `{${name} ${JSON.stringify(value, plainJson)}`;
  }
  let numbered = 0;
  for (const stage of stages) {
    const { event } = stage.at;
    if (!isSamePlace(stage.at, at)) return undefined;
    if (stage.seq !== undefined && seqs[numbered] === stage.seq) numbered += 1;
    const form = event === undefined ? '' : event === stage.name ? '-' : '+';
    if (form === '+' && event !== `waybill.${stage.name}`) return undefined;
    key += `@${stage.name}${form}${stage.seq ?? ''}`;
  }
  // Nearly always the numbers are those of the stages.
  return seqs.length === numbered ? key : `${key}#${seqs.join()}`;
}

function isSamePlace(a: SpanRow['at'], b: SpanRow['at']): boolean {
  return (
    a.line === b.line &&
    a.offset === b.offset &&
    a.source === b.source &&
    a.traceId === b.traceId &&
    a.spanId === b.spanId
  );
}

function plainJson(_: string, member: unknown): unknown {
  return typeof member === 'bigint' ? `${member}n` : member;
}

function shapeOf(row: SpanRow, number: number): Shape {
  const { callId, operationId, rpcId, at } = row;
  const attributes: Record<string, AttributeValue> = {};
  const varying: string[] = [];
  for (const [name, value] of Object.entries(row.attributes)) {
    if (FIELDS.some((field) => field === name)) continue;
    if (SHAPING.has(name)) attributes[name] = value;
    else if (name === ATTR_RECEIPT_ID) varying.unshift(name);
    else varying.push(name);
  }
  const { role, own, fromLogs, scope, service, status, method, tool } = row;
  const { timedOut, droppedEvents, unsampled, contested, seqs } = row;
  return {
    number,
    fixed: {
      role,
      own,
      fromLogs,
      scope,
      service,
      status,
      method,
      tool,
      timedOut,
      droppedEvents,
      unsampled,
      contested,
      seqs,
    },
    source: at.source,
    event: at.event,
    hasCallId: callId !== undefined,
    hasOperationId: operationId !== undefined,
    hasRpcId: rpcId !== undefined,
    asAttribute: FIELDS.map((field) => row.attributes[field] !== undefined),
    attributes,
    varying,
    stages: row.stages.map((stage) => ({ name: stage.name, seq: stage.seq, event: stage.at.event })),
    plain: isPlain(row),
    effectRequested: row.stages.findIndex((stage) => stage.name === 'server.effect_requested'),
    crossing: {
      'client.sent': placeOfStage(row, 'client.sent'),
      'server.received': placeOfStage(row, 'server.received'),
      'server.result_sent': placeOfStage(row, 'server.result_sent'),
      'client.result_received': placeOfStage(row, 'client.result_received'),
    },
  };
}

function placeOfStage(row: SpanRow, name: Crossing): number {
  return row.stages.findIndex((stage) => stage.name === name);
}

function isPlain(row: SpanRow): boolean {
  return (
    row.own &&
    !row.fromLogs &&
    !row.timedOut &&
    !row.unsampled &&
    !row.contested &&
    row.droppedEvents === 0 &&
    row.role !== 'tool' &&
    row.callId !== undefined &&
    row.operationId !== undefined &&
    SETTLED.has(row.attributes[ATTR_OUTCOME]) &&
    !row.stages.some((stage) => UNSETTLED.has(stage.name)) &&
    !SINGULAR.some((name) => name in row.attributes)
  );
}
