import { context } from '@opentelemetry/api';
import { META_CALL_ID, METHOD_TOOLS_CALL } from '@waybill/core';
import {
  type Foreign,
  follow,
  isCopyable,
  isFunction,
  isPlainObject,
  isThenable,
  read,
  readString,
} from '../../patch/foreign.js';
import type { Invocation } from '../../patch/table.js';
import type { ToolCallInfo } from '../../types.js';
import { type Connection, connectionOf } from '../connection.js';
import { setArgumentContent } from '../content.js';
import type { RuntimeCore } from '../core.js';
import { activeSpan, outgoingMeta } from '../propagation.js';
import { ensureTapped } from '../transport-tap.js';
import { createCallScope } from './call-scope.js';
import { legOfCall } from '../ids.js';
import { localRefusal, settlementOf } from './errors.js';
import { noteParseError } from './hidden-fetch.js';
import { type ClientLeg, latestLeg, outsideOfLeg } from './leg.js';
import { finishLeg, refuseLocally, settleLeg } from './settle.js';
import { isOwnParent, startLeg } from './start.js';

/** SDK 1.x: `request(request, schema, options)`. SDK 2.x funnels through a method of its own and is caught there. */
export function onRequest(core: RuntimeCore, invocation: Invocation): unknown {
  if (isFunction(read(invocation.self, '_requestWithSchemaViaCodec'))) return invocation.proceed();
  const [request, schema, options] = invocation.args;
  return instrumentRequest(core, invocation, request, options, (other) =>
    invocation.proceed([other, schema, options]),
  );
}

/** SDK 2.x: `_requestWithSchemaViaCodec(codec, request, schema, options)`, multi round trips included. */
export function onFunnel(core: RuntimeCore, invocation: Invocation): unknown {
  const [codec, request, schema, options] = invocation.args;
  return instrumentRequest(core, invocation, request, options, (other) =>
    invocation.proceed([codec, other, schema, options]),
  );
}

function instrumentRequest(
  core: RuntimeCore,
  invocation: Invocation,
  request: unknown,
  options: unknown,
  send: (request: unknown) => unknown,
): unknown {
  const method = readString(request, 'method');
  if (method === undefined || !isPlainObject(request)) return invocation.proceed();
  const connection = connectionOf(core, invocation.self);
  const opened = core.guard('client.request', () => {
    ensureTapped(core, connection, read(invocation.self, '_transport'));
    const params = read(request, 'params');
    const info = callInfo(connection, 'client', method, params);
    if (isIgnored(core, info)) return undefined;
    const leg = startLeg(core, connection, { info, params, options });
    setArgumentContent(core, leg.span, method, info.arguments);
    return { leg, request: core.guard('client.meta', () => withMeta(core, leg, request, params)) ?? request };
  });
  if (opened === undefined) return outsideOfLeg(core, () => invocation.proceed());
  const { leg } = opened;
  const flow = core.flow.getStore();
  let result: unknown;
  try {
    result = core.flow.run({ leg, call: flow?.call, scope: flow?.scope }, () =>
      context.with(leg.context, () => send(opened.request)),
    );
  } catch (error) {
    core.guard('client.settle', () => rejectLeg(core, latestLeg(leg), error));
    throw error;
  }
  if (!isThenable(result)) {
    core.guard('client.settle', () => settleLeg(core, latestLeg(leg), { kind: 'resolved', result }));
    return result;
  }
  return follow(
    result,
    (value) =>
      core.guard('client.settle', () => settleLeg(core, latestLeg(leg), { kind: 'resolved', result: value })),
    (error) => core.guard('client.settle', () => rejectLeg(core, latestLeg(leg), error)),
  );
}

function rejectLeg(core: RuntimeCore, leg: ClientLeg, error: unknown): void {
  noteParseError(leg, error);
  settleLeg(core, leg, settlementOf(error, leg), error);
}

/**
 * The request with a `_meta` of its own; the caller's objects stay as they are. Parameters of which a copy would say
 * something else on the wire go out without our ids.
 */
export function withMeta(core: RuntimeCore, leg: ClientLeg, request: Foreign, params: unknown): Foreign {
  if (!isCopyable(request) || (params !== undefined && params !== null && !isCopyable(params)))
    return request;
  const meta = outgoingMeta({
    meta: leg.info.meta,
    context: leg.context,
    ids: leg.ids,
    propagateIds: core.config().propagateIds,
    replace: isOwnParent(core, leg),
  });
  if (Object.keys(meta).length === 0) return request;
  return { ...request, params: { ...(isPlainObject(params) ? params : {}), _meta: meta } };
}

export function callInfo(
  connection: Connection,
  side: 'client' | 'server',
  method: string,
  params: unknown,
): ToolCallInfo {
  const meta = read(params, '_meta');
  const values = read(params, 'arguments');
  return {
    side,
    method,
    tool: method === METHOD_TOOLS_CALL ? readString(params, 'name') : undefined,
    serverName: connection.serverName,
    arguments: isPlainObject(values) ? values : undefined,
    meta: isPlainObject(meta) ? meta : undefined,
    activeSpan: activeSpan(),
    attempt: 1,
  };
}

export function isIgnored(core: RuntimeCore, info: ToolCallInfo): boolean {
  const { methods, ignoreCall } = core.config();
  if (methods === 'tools' && info.method !== METHOD_TOOLS_CALL) return true;
  if (ignoreCall === undefined) return false;
  return core.hook('ignoreCall', () => ignoreCall({ ...info })) === true;
}

/** `client.callTool`: its legs belong together, and its own validation comes after the last of them. */
export function onCallTool(core: RuntimeCore, { proceed }: Invocation): unknown {
  const scope = createCallScope(context.active());
  const flow = core.flow.getStore();
  const close = (error?: unknown): void => {
    scope.open = false;
    const last = scope.waiting;
    if (last !== undefined) {
      const refusal = error === undefined || last.told?.kind !== 'resolved' ? undefined : localRefusal(error);
      if (refusal !== undefined) refuseLocally(last, refusal, error);
      finishLeg(core, last);
    }
    scope.operationSpan?.end();
  };
  let result: unknown;
  try {
    result = core.flow.run({ leg: undefined, call: flow?.call, scope }, () => proceed());
  } catch (error) {
    core.guard('client.callTool', () => close(error));
    throw error;
  }
  if (!isThenable(result)) {
    core.guard('client.callTool', () => close());
    return result;
  }
  return follow(
    result,
    () => core.guard('client.callTool', () => close()),
    (error) => core.guard('client.callTool', () => close(error)),
  );
}

/** SDK 2.x takes up a result that asks for input: that leg is over, whatever the further rounds bring. */
export function onNonCompleteResult(core: RuntimeCore, { self, args, proceed }: Invocation): unknown {
  core.guard('client.inputRequired', () => {
    const callId = read(read(read(read(args[1], 'request'), 'params'), '_meta'), META_CALL_ID);
    const leg = typeof callId === 'string' ? legOfCall(connectionOf(core, self), callId) : undefined;
    if (leg !== undefined) settleLeg(core, leg, { kind: 'resolved', result: args[0] });
  });
  return proceed();
}
