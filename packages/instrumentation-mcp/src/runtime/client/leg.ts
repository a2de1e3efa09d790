import {
  type Attributes,
  type Context,
  type Link,
  type Span,
  SpanKind,
  type TimeInput,
  trace,
} from '@opentelemetry/api';
import {
  ATTR_BOUNDARY_ID,
  ATTR_CALL_ATTEMPT,
  ATTR_CALL_CONTINUES,
  ATTR_CALL_ID,
  ATTR_CALL_NUMBER,
  ATTR_EFFECT_KIND,
  ATTR_GEN_AI_OPERATION_NAME,
  ATTR_GEN_AI_PROMPT_NAME,
  ATTR_GEN_AI_TOOL_NAME,
  ATTR_INSTRUMENTATION_DEGRADED,
  ATTR_JSONRPC_REQUEST_ID,
  ATTR_LINK_KIND,
  ATTR_MCP_METHOD_NAME,
  ATTR_MCP_RESOURCE_URI,
  ATTR_OPERATION_ID,
  ATTR_OPERATION_PARENT_ID,
  ATTR_OPERATION_SOURCE,
  ATTR_RETRY_ORIGIN,
  ATTR_RUN_ID,
  ATTR_RUN_SOURCE,
  type CallOutcome,
  type CallReading,
  GEN_AI_OPERATION_EXECUTE_TOOL,
  type JsonRpcId,
  type LinkKind,
  METHOD_TOOLS_CALL,
  readCall,
} from '@waybill/core';
import { isFunction, read, readString } from '../../patch/foreign.js';
import type { ToolCallInfo } from '../../types.js';
import { type Connection, connectionAttributes, protocolVersionOf } from '../connection.js';
import type { RuntimeCore } from '../core.js';
import { noteOwnSpan, spanToEnrich } from '../enrich.js';
import type { CallIds } from '../ids.js';
import { bareUri, capped } from '../limits.js';
import type { Shape } from '../mask.js';
import type { StageRecorder } from '../stages.js';
import type { CallScope } from './call-scope.js';

/** Facts that only the diagnostic record of a call wants. */
export interface CallDiagnostics {
  /** Of the answers to the POSTs of this call, in order. */
  readonly statuses: number[];
  /** Form of `error.data`. */
  errorData: Shape | undefined;
}

/** One outgoing JSON-RPC request. */
export interface ClientLeg {
  readonly connection: Connection;
  /** Without the application's objects once the leg has ended. */
  info: ToolCallInfo;
  /** The tool that is called, also of a leg that asks for the task of its call. */
  readonly tool: string | undefined;
  /** As the SDK's caller gave them; undefined once the leg has ended. */
  params: unknown;
  /** Once the leg has ended, its ids alone. */
  span: Span;
  /** Whether we started the span and end it: that of another instrumentation is its own. */
  readonly ownsSpan: boolean;
  /** Context with the span; once the leg has ended, `parent`. */
  context: Context;
  /** Context in which the span was started. */
  readonly parent: Context;
  /** Only tools/call and the polling of its tasks have ids. */
  readonly ids: CallIds | undefined;
  /** Only tools/call has stages and a reading of its wire. */
  readonly stages: StageRecorder | undefined;
  /** The options that the SDK's caller gave: its signal tells an abort from a timeout. */
  options: unknown;
  readonly scope: CallScope | undefined;
  /** Present when a diagnostic record is wanted of this call. */
  readonly diagnostics: CallDiagnostics | undefined;
  /** Reading of `performance.now()`. */
  readonly startedAt: number;
  /** Given by the SDK; undefined while the request was not handed to the transport. */
  id: JsonRpcId | undefined;
  reading: CallReading | undefined;
  /** Hand-overs of this leg. */
  posts: number;
  /** Hand-overs of the same request by the legs before this one. */
  readonly postsBefore: number;
  /** What the request gave as its progress token. */
  progressToken: JsonRpcId | undefined;
  /** The SDK gave this leg a response. */
  response: { readonly rpcCode: number | undefined } | undefined;
  /** `code` of the failure of fetch or of the pipe. */
  failureCode: string | undefined;
  /** Status of the latest answer to a POST. */
  httpStatus: number | undefined;
  /** The answer to the POST has ended: closing it tells the server nothing any more. */
  exchangeOver: boolean;
  /** The leg that carries the same request since the SDK sent it again: its JSON-RPC id has not changed. */
  next: ClientLeg | undefined;
  outcome: CallOutcome | undefined;
  /** What the SDK told its caller. */
  told: Told | undefined;
  settled: boolean;
  /** Reading of `performance.now()` when it settled. */
  settledAt: number;
  ended: boolean;
  /** Responses that came after it had settled. */
  late: number;
}

export type Told =
  | { readonly kind: 'resolved'; readonly result: unknown }
  | { readonly kind: 'rejected'; readonly error: unknown; readonly as: string };

/** The leg that carries the request now: a redirect or an authorization makes a new one of the same request. */
export function latestLeg(leg: ClientLeg): ClientLeg {
  let latest = leg;
  while (latest.next !== undefined) latest = latest.next;
  return latest;
}

/** The context of a leg, also when it has ended: what is told of it then hangs under its span. */
export function contextOf(leg: ClientLeg): Context {
  return leg.ended ? trace.setSpan(leg.parent, leg.span) : leg.context;
}

/** The leg whose request is sent or whose answer is read in this asynchronous flow. */
export function currentLeg(core: RuntimeCore): ClientLeg | undefined {
  const leg = core.flow.getStore()?.leg;
  return leg && latestLeg(leg);
}

/** Runs what is no part of the leg that happens to run here: its answer would be taken for that leg's. */
export function outsideOfLeg(core: RuntimeCore, body: () => unknown): unknown {
  const flow = core.flow.getStore();
  if (flow?.leg === undefined) return body();
  return core.flow.run({ ...flow, leg: undefined }, body);
}

/** `{method} {target}`: the target is the tool or the prompt, never a resource (conventions for MCP spans). */
export function spanName(method: string, params: unknown): string {
  const target =
    method === METHOD_TOOLS_CALL || method === 'prompts/get' ? readString(params, 'name') : undefined;
  return target === undefined ? capped(method) : `${capped(method)} ${capped(target)}`;
}

/** Attributes of the conventions that follow from the request itself. */
export function requestAttributes(
  method: string,
  params: unknown,
  connection: Connection,
  side: 'client' | 'server',
): Attributes {
  const attributes: Attributes = { ...connectionAttributes(connection, side) };
  attributes[ATTR_MCP_METHOD_NAME] = capped(method);
  const named = readString(params, 'name');
  const name = named === undefined ? undefined : capped(named);
  if (method === METHOD_TOOLS_CALL) {
    attributes[ATTR_GEN_AI_OPERATION_NAME] = GEN_AI_OPERATION_EXECUTE_TOOL;
    if (name !== undefined) attributes[ATTR_GEN_AI_TOOL_NAME] = name;
  } else if (method === 'prompts/get' && name !== undefined) {
    attributes[ATTR_GEN_AI_PROMPT_NAME] = name;
  }
  const uri = readString(params, 'uri');
  if (uri !== undefined) attributes[ATTR_MCP_RESOURCE_URI] = bareUri(uri);
  return attributes;
}

/** Attributes of our own that both sides carry. */
export function idAttributes(core: RuntimeCore, side: 'client' | 'server', ids: CallIds): Attributes {
  const attributes: Attributes = {};
  attributes[ATTR_CALL_ID] = ids.callId;
  attributes[ATTR_CALL_ATTEMPT] = ids.attempt;
  attributes[ATTR_CALL_NUMBER] = core.nextCallNumber(side);
  attributes[ATTR_BOUNDARY_ID] = core.boundaryId(side);
  attributes[ATTR_OPERATION_ID] = ids.operationId;
  attributes[ATTR_OPERATION_SOURCE] = ids.operationSource;
  attributes[ATTR_EFFECT_KIND] = ids.effectKind;
  if (ids.runId !== undefined) {
    attributes[ATTR_RUN_ID] = ids.runId;
    attributes[ATTR_RUN_SOURCE] = ids.runSource;
  }
  if (ids.parentOperationId !== undefined) attributes[ATTR_OPERATION_PARENT_ID] = ids.parentOperationId;
  if (ids.continues !== undefined) attributes[ATTR_CALL_CONTINUES] = ids.continues;
  if (side === 'client') attributes[ATTR_RETRY_ORIGIN] = ids.retryOrigin;
  const degraded = core.degraded();
  if (degraded.length > 0) attributes[ATTR_INSTRUMENTATION_DEGRADED] = [...degraded];
  return attributes;
}

export function linkTo(kind: LinkKind, spanContext: Link['context']): Link {
  return { context: spanContext, attributes: { [ATTR_LINK_KIND]: kind } };
}

/** Links a span, where it can be linked after its start: bridges of other tracers were written for an older API. */
export function addLink(span: Span, kind: LinkKind, spanContext: Link['context']): void {
  if (isFunction(read(span, 'addLink'))) span.addLink(linkTo(kind, spanContext));
}

/** Starts the CLIENT span of a leg, or takes the one that is there already. */
export function startClientSpan(
  core: RuntimeCore,
  connection: Connection,
  info: ToolCallInfo,
  params: unknown,
  parent: Context,
  startTime?: TimeInput,
): { readonly span: Span; readonly own: boolean; readonly context: Context } {
  const foreign = spanToEnrich(core, SpanKind.CLIENT, info.method);
  if (foreign !== undefined) return { span: foreign, own: false, context: parent };
  const span = core.deps.tracer().startSpan(
    spanName(info.method, params),
    {
      kind: SpanKind.CLIENT,
      ...(startTime === undefined ? {} : { startTime }),
      attributes: requestAttributes(info.method, params, connection, 'client'),
    },
    parent,
  );
  noteOwnSpan(core, span);
  return { span, own: true, context: trace.setSpan(parent, span) };
}

/** The reading of a request that has its id, on the channel that carries its answer. */
export function readingOf(leg: ClientLeg, id: JsonRpcId): CallReading | undefined {
  if (leg.stages === undefined) return undefined;
  const { connection, progressToken } = leg;
  const reading = readCall({
    id,
    transport: connection.kind,
    protocolVersion: protocolVersionOf(connection),
    ...(progressToken === undefined ? {} : { progressToken }),
  });
  if (connection.channel !== undefined) reading.attach(connection.channel);
  return reading;
}

/** The SDK gave the request its id and hands it to the transport. */
export function bindLeg(leg: ClientLeg, id: JsonRpcId, reading: CallReading | undefined): void {
  leg.id = id;
  leg.reading = reading;
  leg.connection.legs.set(id, leg);
  leg.span.setAttribute(ATTR_JSONRPC_REQUEST_ID, capped(String(id)));
}

/** Records `client.sent` at once. */
export function recordSent(leg: ClientLeg): void {
  leg.posts += 1;
  leg.reading?.handedOver();
  leg.stages?.record('client.sent');
}
