import { type Context, type HrTime, SpanKind, context, trace } from '@opentelemetry/api';
import { operationFromMeta } from '@waybill/api';
import { apiState } from '@waybill/api/internal';
import {
  ATTR_GEN_AI_OPERATION_NAME,
  ATTR_GEN_AI_TOOL_NAME,
  GEN_AI_OPERATION_EXECUTE_TOOL,
  METHOD_TOOLS_CALL,
  type RetryOrigin,
} from '@waybill/core';
import { read, readString } from '../../patch/foreign.js';
import type { ToolCallInfo } from '../../types.js';
import type { Connection } from '../connection.js';
import type { RuntimeCore } from '../core.js';
import { setArgumentDigest } from '../digests.js';
import { clientEffectKind } from '../effect-kind.js';
import { type CallIds, continuedLeg, countAttempt, nameClientOperation, nameRun } from '../ids.js';
import { capped } from '../limits.js';
import { recorderFor } from '../signals.js';
import { callDiagnostics } from './call-record.js';
import type { CallScope } from './call-scope.js';
import { answersCall, precedingLeg } from './continuation.js';
import { type ClientLeg, contextOf, addLink, idAttributes, startClientSpan } from './leg.js';
import { finishLeg, settleLeg } from './settle.js';

export interface LegRequest {
  readonly info: ToolCallInfo;
  readonly params: unknown;
  readonly options: unknown;
  /** The leg that carried the same request before the SDK sent it again, and why it did. */
  readonly again?: {
    readonly leg: ClientLeg;
    readonly span: ClientLeg['span'];
    readonly origin: RetryOrigin;
  };
}

/** Opens a leg: names, span, recorder. The request has not been handed to anything yet. */
export function startLeg(core: RuntimeCore, connection: Connection, request: LegRequest): ClientLeg {
  const flow = core.flow.getStore();
  const { info, again } = request;
  const isTool = info.method === METHOD_TOOLS_CALL;
  const scope = isTool ? ownScope(again?.leg.scope ?? flow?.scope, connection, info.tool) : undefined;
  const previous = again === undefined ? precedingLeg(connection, info.method, request.params) : undefined;
  if (previous !== undefined && !previous.settled) {
    // The SDK goes on with a new request: the leg that asked for input has had its answer.
    settleLeg(core, previous, { kind: 'resolved', result: undefined });
  }
  if (scope?.waiting !== undefined) {
    finishLeg(core, scope.waiting);
    scope.waiting = undefined;
  }
  const tool = info.tool ?? (previous ?? again?.leg)?.tool;
  const parent = scope === undefined ? parentOf(again?.leg) : parentInScope(core, scope, info);
  const started = startClientSpan(core, connection, info, request.params, parent, again && endOf(again.span));
  const ids =
    isTool || previous !== undefined || again !== undefined
      ? nameLeg(core, connection, request, started.span, previous, scope)
      : undefined;
  if (ids !== undefined) {
    started.span.setAttributes(idAttributes(core, 'client', ids));
    if (isTool) setArgumentDigest(core, started.span, info);
    else if (tool !== undefined) started.span.setAttribute(ATTR_GEN_AI_TOOL_NAME, capped(tool));
  }
  const leg: ClientLeg = {
    connection,
    info: ids === undefined ? info : { ...info, attempt: ids.attempt },
    tool,
    params: request.params,
    span: started.span,
    ownsSpan: started.own,
    context: started.context,
    parent,
    ids,
    stages:
      ids !== undefined && answersCall(info.method)
        ? recorderFor(core, {
            side: 'client',
            span: started.span,
            context: started.context,
            ids,
            info,
            requestId: () => leg.id,
          })
        : undefined,
    options: request.options,
    scope,
    diagnostics: callDiagnostics(core, info.method, again?.leg.diagnostics),
    startedAt: performance.now(),
    id: undefined,
    reading: undefined,
    posts: 0,
    postsBefore: again === undefined ? 0 : again.leg.postsBefore + again.leg.posts,
    progressToken: again?.leg.progressToken,
    response: undefined,
    failureCode: undefined,
    httpStatus: undefined,
    exchangeOver: false,
    next: undefined,
    outcome: undefined,
    told: undefined,
    settled: false,
    settledAt: 0,
    ended: false,
    late: 0,
  };
  if (ids !== undefined) {
    if (info.method !== METHOD_TOOLS_CALL) followTask(connection, request.params, leg);
    if (scope !== undefined) {
      scope.legs.last = { ids, span: started.span.spanContext(), tool: info.tool, connection };
    }
  }
  const { requestHook } = core.config();
  if (requestHook !== undefined) core.hook('requestHook', () => requestHook(leg.span, { ...leg.info }));
  return leg;
}

/** A leg that is sent again stays in the trace of the one before, also where nothing was active around that. */
function parentOf(before: ClientLeg | undefined): Context {
  if (before === undefined) return context.active();
  return trace.getSpan(before.parent) === undefined ? contextOf(before) : before.parent;
}

/**
 * When a span of the OpenTelemetry SDK ended. The next leg begins there: left to the SDK its start would be cut to
 * milliseconds, and the two would seem to overlap.
 */
function endOf(span: ClientLeg['span']): HrTime | undefined {
  const time = read(span, 'endTime');
  if (!Array.isArray(time)) return undefined;
  const [seconds, nanos] = time as unknown[];
  return typeof seconds === 'number' && typeof nanos === 'number' && seconds > 0
    ? [seconds, nanos]
    : undefined;
}

/** The next poll goes on from this one. */
function followTask(connection: Connection, params: unknown, leg: ClientLeg): void {
  const taskId = readString(params, 'taskId');
  if (taskId !== undefined) connection.tasks.set(taskId, leg);
}

/** The `callTool` that this request belongs to: of the same connection and tool, and still running. */
function ownScope(
  scope: CallScope | undefined,
  connection: Connection,
  tool: string | undefined,
): CallScope | undefined {
  if (scope === undefined || !scope.open) return undefined;
  const { last } = scope.legs;
  return last === undefined || (last.connection === connection && last.tool === tool) ? scope : undefined;
}

function nameLeg(
  core: RuntimeCore,
  connection: Connection,
  request: LegRequest,
  span: ClientLeg['span'],
  previous: ClientLeg | undefined,
  scope: CallScope | undefined,
): CallIds {
  const { info } = request;
  const tool = info.tool ?? '';
  const callId = crypto.randomUUID();
  const spanContext = span.spanContext();
  if (previous?.ids !== undefined) {
    addLink(span, 'previous_leg', previous.span.spanContext());
    return { ...previous.ids, callId, continues: previous.ids.callId, retryOrigin: 'none' };
  }
  const { again } = request;
  if (again?.leg.ids !== undefined) {
    addLink(span, 'retry_of', again.leg.span.spanContext());
    return { ...again.leg.ids, callId, attempt: again.leg.ids.attempt + 1, retryOrigin: again.origin };
  }
  const before = scope?.legs.last;
  if (before !== undefined) {
    // A second tools/call inside one callTool that is no further round: the SDK sends it again by itself.
    addLink(span, 'retry_of', before.span);
    return {
      ...before.ids,
      callId,
      continues: undefined,
      attempt: before.ids.attempt + 1,
      retryOrigin: 'sdk',
    };
  }
  const outer = core.flow.getStore()?.call;
  const name = nameClientOperation(core, connection, { ...info, tool }, outer);
  const run = nameRun({
    remote: operationFromMeta(info.meta).runId,
    scope: apiState().storage.getStore(),
    resolved: name.resolved,
    configured: core.environment.runId,
    traceId: spanContext.traceId,
  });
  const { attempt, previous: earlier } = countAttempt(core.attempts.client, name, spanContext);
  if (earlier !== undefined) addLink(span, 'retry_of', earlier);
  return {
    callId,
    runId: run.runId,
    runSource: run.source,
    operationId: name.operationId,
    operationSource: name.source,
    parentOperationId: name.parentOperationId,
    attempt,
    retryOrigin: retryOrigin(attempt, name.source),
    continues: undefined,
    effectKind: clientEffectKind(core, connection, tool, name.scopeKind),
  };
}

function retryOrigin(attempt: number, source: CallIds['operationSource']): RetryOrigin {
  if (attempt === 1) return 'none';
  return source === 'framework' ? 'framework' : 'application';
}

/** The parent of a leg, with the INTERNAL span above the legs of one call where one is due. */
function parentInScope(core: RuntimeCore, scope: CallScope, info: ToolCallInfo): Context {
  const active = context.active();
  if (scope.operationSpan !== undefined) return trace.setSpan(scope.outer, scope.operationSpan);
  const mode = core.config().operationSpan ?? 'auto';
  const first = scope.legs.last;
  const due =
    mode === 'always' || (mode === 'auto' && first !== undefined && trace.getSpan(scope.outer) === undefined);
  // The SDK makes a further leg inside the context of the one before: they are siblings.
  if (!due) return first === undefined ? active : scope.outer;
  // A late one hangs under the first leg, whose trace it continues: that leg is long on its way.
  const above = first === undefined ? scope.outer : trace.setSpanContext(scope.outer, first.span);
  scope.operationSpan = core.deps.tracer().startSpan(
    `${GEN_AI_OPERATION_EXECUTE_TOOL} ${info.tool ?? ''}`.trim(),
    {
      kind: SpanKind.INTERNAL,
      startTime: scope.startedAt,
      attributes: {
        [ATTR_GEN_AI_OPERATION_NAME]: GEN_AI_OPERATION_EXECUTE_TOOL,
        ...(info.tool === undefined ? {} : { [ATTR_GEN_AI_TOOL_NAME]: info.tool }),
      },
    },
    above,
  );
  return trace.setSpan(scope.outer, scope.operationSpan);
}

/** `propagateIds`, the retry rounds of the SDK and gateways: which `traceparent` in `_meta` is not to be kept. */
export function isOwnParent(
  core: RuntimeCore,
  leg: ClientLeg,
): (parent: { readonly spanId: string }) => boolean {
  const call = core.flow.getStore()?.call;
  return (parent) => {
    if (leg.ids?.continues !== undefined || parent.spanId === call?.remoteParent?.spanId) return true;
    const known = continuedLeg(leg.connection, leg.info.meta);
    return known?.span.spanContext().spanId === parent.spanId;
  };
}
