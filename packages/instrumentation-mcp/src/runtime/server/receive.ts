import { SpanKind, context, trace } from '@opentelemetry/api';
import { ATTR_CLIENT_ADDRESS, ATTR_CLIENT_PORT } from '@opentelemetry/semantic-conventions';
import { type Operation, type ServerEffectStage, operationFromMeta } from '@waybill/api';
import { EMPTY_SCOPE, type Scope, apiState } from '@waybill/api/internal';
import { ATTR_JSONRPC_REQUEST_ID, type JsonRpcId, METHOD_TOOLS_CALL } from '@waybill/core';
import { isPlainObject, read, readOwn, readString } from '../../patch/foreign.js';
import type { Invocation } from '../../patch/table.js';
import type { ToolCallInfo } from '../../types.js';
import { argumentsDigest } from '../argument-ids.js';
import { callInfo, isIgnored } from '../client/request.js';
import { addLink, idAttributes, linkTo, requestAttributes, spanName } from '../client/leg.js';
import { type Connection, connectionOf } from '../connection.js';
import { setArgumentContent } from '../content.js';
import type { RuntimeCore } from '../core.js';
import { setArgumentDigest } from '../digests.js';
import { noteOwnSpan, spanToEnrich } from '../enrich.js';
import { serverEffectKind } from '../effect-kind.js';
import { type CallIds, countAttempt, nameRun, nameServerOperation } from '../ids.js';
import { capped } from '../limits.js';
import { type Incoming, incomingContext } from '../propagation.js';
import { recorderFor } from '../signals.js';
import type { StageAttributes } from '../stages.js';
import { ensureTapped } from '../transport-tap.js';
import type { ServerCall } from './call.js';
import { dropReply, rememberCall, wasDropped } from './reply.js';
import { watchControllers, wrapHandler } from './handler.js';
import type { Peer, ServerSockets } from './sockets.js';

/** `_onrequest(message, extra)`: the protocol layer took a request. */
export function onIncomingRequest(
  core: RuntimeCore,
  sockets: ServerSockets,
  invocation: Invocation,
): unknown {
  const [message] = invocation.args;
  const method = readString(message, 'method');
  const id = readOwn(message, 'id');
  if (method === undefined || (typeof id !== 'string' && typeof id !== 'number')) return invocation.proceed();
  const connection = connectionOf(core, invocation.self);
  const call = core.guard('server.request', () => {
    ensureTapped(core, connection, read(invocation.self, '_transport'));
    const params = read(message, 'params');
    const info = callInfo(connection, 'server', method, params);
    if (isIgnored(core, info)) return undefined;
    noteHandshake(connection, method, params);
    const opened = openCall(core, sockets, { connection, id, info, params });
    rememberCall(core, opened);
    core.guard('server.handler', () => wrapHandler(core, invocation.self, method));
    core.guard('server.controllers', () => watchControllers(core, connection));
    return opened;
  });
  if (call === undefined) return invocation.proceed();
  const result = runInCall(core, call, () => invocation.proceed());
  core.guard('server.request', () => {
    // No handler was found for it and no answer was given: the SDK let the request go.
    if (wasDropped(call)) dropReply(core, call);
  });
  return result;
}

/** Runs the code that serves a request: in its span, with its operation, outside of whatever sent it. */
export function runInCall<T>(core: RuntimeCore, call: ServerCall, serve: () => T): T {
  return core.flow.run({ leg: undefined, call, scope: undefined }, () =>
    apiState().storage.run(scopeOf(core, call), () => context.with(call.context, serve)),
  );
}

export interface Opening {
  readonly connection: Connection;
  readonly id: JsonRpcId;
  readonly info: ToolCallInfo;
  readonly params: unknown;
}

/** Opens an incoming request: span, names, `server.received`. */
export function openCall(
  core: RuntimeCore,
  sockets: ServerSockets | undefined,
  opening: Opening,
): ServerCall {
  const { connection, id, info, params } = opening;
  const isHttp = connection.kind === 'http';
  const incoming = incomingContext(info.meta, connection.kind !== 'stdio');
  const foreign = spanToEnrich(core, SpanKind.SERVER, info.method);
  const overHttp = isHttp || connection.kind === 'legacy_sse';
  const answer = overHttp ? sockets?.current() : undefined;
  const span = foreign ?? startServerSpan(core, opening, incoming, answer?.peer);
  const ctx = foreign === undefined ? trace.setSpan(incoming.parent, span) : context.active();
  const remote = info.method === METHOD_TOOLS_CALL ? operationFromMeta(info.meta) : {};
  const ids = info.method === METHOD_TOOLS_CALL ? nameCall(core, connection, info, span, remote) : undefined;
  if (ids !== undefined) {
    span.setAttributes(idAttributes(core, 'server', ids));
    setArgumentDigest(core, span, info);
  }
  setArgumentContent(core, span, info.method, read(params, 'arguments'));
  let digest: string | undefined;
  const call: ServerCall = {
    id,
    connection,
    info: ids === undefined ? info : { ...info, attempt: ids.attempt },
    tool: info.tool,
    span,
    ownsSpan: foreign === undefined,
    context: ctx,
    ids,
    stages: ids && recorderFor(core, { side: 'server', span, context: ctx, ids, info, requestId: () => id }),
    remoteParent: incoming.remote,
    echo: ids !== undefined && ids.callId === remote.callId,
    answer: isHttp ? answer : undefined,
    startedAt: performance.now(),
    argumentsDigest: () => (digest ??= argumentsDigest(info.arguments)),
    extra: {},
    handler: undefined,
    replied: false,
    answerWasOver: false,
    replyState: undefined,
    result: undefined,
    ended: false,
  };
  call.stages?.record('server.received');
  const { requestHook } = core.config();
  if (requestHook !== undefined) core.hook('requestHook', () => requestHook(span, { ...call.info }));
  return call;
}

function startServerSpan(
  core: RuntimeCore,
  opening: Opening,
  incoming: Incoming,
  peer: Peer | undefined,
): ServerCall['span'] {
  const { connection, id, info, params } = opening;
  const attributes = requestAttributes(info.method, params, connection, 'server');
  attributes[ATTR_JSONRPC_REQUEST_ID] = capped(String(id));
  if (peer !== undefined) {
    attributes[ATTR_CLIENT_ADDRESS] = peer.address;
    if (peer.port !== undefined) attributes[ATTR_CLIENT_PORT] = peer.port;
  }
  const span = core.deps.tracer().startSpan(
    spanName(info.method, params),
    {
      kind: SpanKind.SERVER,
      attributes,
      ...(incoming.ambient === undefined ? {} : { links: [linkTo('ambient_http', incoming.ambient)] }),
    },
    incoming.parent,
  );
  noteOwnSpan(core, span);
  return span;
}

function nameCall(
  core: RuntimeCore,
  connection: Connection,
  info: ToolCallInfo,
  span: ServerCall['span'],
  named: ReturnType<typeof operationFromMeta>,
): CallIds {
  const tool = info.tool ?? '';
  const remote = acceptsRemoteIds(core, info) ? named : {};
  const name = nameServerOperation(core, connection, { ...info, tool }, remote);
  const spanContext = span.spanContext();
  const run = nameRun({
    remote: remote.runId,
    scope: undefined,
    resolved: name.resolved,
    configured: core.environment.runId,
    traceId: spanContext.traceId,
  });
  const { attempt, previous } = countAttempt(core.attempts.server, name, spanContext);
  if (previous !== undefined) addLink(span, 'retry_of', previous);
  return {
    callId: remote.callId ?? crypto.randomUUID(),
    runId: run.runId,
    runSource: run.source,
    operationId: name.operationId,
    operationSource: name.source,
    parentOperationId: name.parentOperationId,
    attempt,
    retryOrigin: 'none',
    continues: undefined,
    effectKind: serverEffectKind(core, connection, tool),
  };
}

function acceptsRemoteIds(core: RuntimeCore, info: ToolCallInfo): boolean {
  const accept = core.config().acceptRemoteIds ?? true;
  return typeof accept === 'boolean'
    ? accept
    : core.hook('acceptRemoteIds', () => accept({ ...info })) === true;
}

/** What code inside the handler sees through `@waybill/api`. A caller's scope in the same process ends here. */
function scopeOf(core: RuntimeCore, call: ServerCall): Scope {
  const { ids, stages } = call;
  if (ids === undefined || stages === undefined) return EMPTY_SCOPE;
  const runId = ids.runId ?? ids.callId;
  const current: Operation = {
    side: 'server',
    runId,
    runIdSource: ids.runSource,
    operationId: ids.operationId,
    operationIdSource: ids.operationSource,
    parentOperationId: ids.parentOperationId,
    callId: ids.callId,
    attempt: ids.attempt,
    tool: call.tool ?? '',
    get signal() {
      return signalOf(call);
    },
  };
  return {
    runId,
    operation: undefined,
    current,
    recordStage: (stage, detail) => {
      core.guard('recordStage', () => {
        if (!HANDLER_STAGES.has(stage)) throw new TypeError('no stage that a handler records');
        const facts = factsOf(detail);
        stages.record(stage, facts);
        if (facts !== undefined) noteDetail(call, facts);
      });
    },
  };
}

/** What a handler may record (`ServerEffectStage`); the rest is seen by the plugin itself. */
const HANDLER_STAGES: ReadonlySet<string> = new Set<ServerEffectStage>([
  'server.effect_requested',
  'server.effect_confirmed',
  'server.effect_failed',
  'receipt.enqueued',
  'receipt.acked',
]);
/** Longest text in a detail, in characters: details are ids, versions and counts. */
const MAX_DETAIL = 1024;

/** The members of a detail that every signal can carry. A stage is never lost for what stands beside it. */
function factsOf(detail: unknown): StageAttributes | undefined {
  if (!isPlainObject(detail)) return undefined;
  const facts: Record<string, string | number | boolean> = {};
  for (const key of Object.keys(detail)) {
    const value = read(detail, key);
    if (typeof value === 'string') facts[key] = value.slice(0, MAX_DETAIL);
    else if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value)))
      facts[key] = value;
  }
  return facts;
}

/** Details of effect stages that are attributes of the span too. */
const SPAN_DETAILS = ['waybill.effect.replayed', 'waybill.receipt.'];

function noteDetail(call: ServerCall, detail: Readonly<Record<string, string | number | boolean>>): void {
  for (const [key, value] of Object.entries(detail)) {
    if (SPAN_DETAILS.some((prefix) => key.startsWith(prefix))) call.extra[key] = value;
  }
}

function signalOf(call: ServerCall): AbortSignal | undefined {
  const controllers = read(call.connection.protocol, '_requestHandlerAbortControllers');
  const controller = controllers instanceof Map ? (controllers.get(call.id) as unknown) : undefined;
  const signal = read(controller, 'signal');
  return signal instanceof AbortSignal ? signal : undefined;
}

/** A version that only the request names: stateless servers see no handshake. */
function noteHandshake(connection: Connection, method: string, params: unknown): void {
  const meta = read(params, '_meta');
  const claimed = readString(meta, 'io.modelcontextprotocol/protocolVersion');
  if (claimed !== undefined) connection.protocolVersion = capped(claimed);
  else if (method === 'initialize' && isPlainObject(params)) {
    const asked = readString(params, 'protocolVersion');
    connection.protocolVersion = asked === undefined ? undefined : capped(asked);
  }
}
