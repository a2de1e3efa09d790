import { context } from '@opentelemetry/api';
import { ATTR_INSTRUMENTATION_DEGRADED, type JsonRpcId, type Settlement, readCall } from '@waybill/core';
import {
  type AnyFunction,
  type Foreign,
  follow,
  isFunction,
  isPlainObject,
  isThenable,
  read,
  readOwn,
  readString,
} from '../patch/foreign.js';
import { named } from '../patch/wrap.js';
import { answersCall } from './client/continuation.js';
import { settlementOf } from './client/errors.js';
import { type ClientLeg, bindLeg, recordSent } from './client/leg.js';
import { callInfo, isIgnored, withMeta } from './client/request.js';
import { takeResponse } from './client/response.js';
import { finishLeg, settleLeg } from './client/settle.js';
import { startLeg } from './client/start.js';
import { type Connection, connectionOf } from './connection.js';
import type { RuntimeCore } from './core.js';
import { openCall, runInCall } from './server/receive.js';
import { MAX_OPEN, dropReply, rememberCall, sendReply } from './server/reply.js';
import { cancelling } from './transport-tap.js';

/** Stands in `waybill.instrumentation.degraded` of a span that was ended to make room. */
const FORGOTTEN = 'instrumentTransport.forgotten';

/** Marks a transport that is watched. */
const BARE = Symbol.for('waybill.bare');

/**
 * Watches a transport alone, for clients and servers that are not the SDK's. Requests, responses and the end of the
 * connection are seen; a caller that stops waiting without telling the other side is not: its leg ends when the
 * transport closes.
 */
export function tapBareTransport(core: RuntimeCore, target: object, role: 'client' | 'server'): void {
  const transport = target as Foreign;
  if (read(transport, BARE) === true || !isFunction(transport['send'])) return;
  Object.defineProperty(transport, BARE, { value: true });
  const connection = connectionOf(core, transport);
  connection.transport = transport;
  const original = transport['send'];
  define(transport, 'send', (...args: readonly unknown[]) => {
    const plain = (message: unknown = args[0]): unknown =>
      Reflect.apply(original, transport, [message, ...args.slice(1)]);
    if (!core.deps.isEnabled()) return plain();
    return role === 'client'
      ? sendAsClient(core, connection, args[0], plain)
      : sendAsServer(core, connection, args[0], plain);
  });
  intercept(transport, 'onmessage', undefined, (handler, args) => {
    if (!core.deps.isEnabled()) return handler(...args);
    return role === 'client'
      ? receiveAsClient(core, connection, handler, args)
      : receiveAsServer(core, connection, handler, args);
  });
  // A transport whose user does not ask for its end tells it all the same.
  intercept(
    transport,
    'onclose',
    () => undefined,
    (handler, args) => {
      core.guard('bare.close', () => closed(core, connection));
      return handler(...args);
    },
  );
}

function sendAsClient(
  core: RuntimeCore,
  connection: Connection,
  message: unknown,
  plain: (message?: unknown) => unknown,
): unknown {
  const method = readString(message, 'method');
  const id = readOwn(message, 'id');
  if (method === 'notifications/cancelled') {
    core.guard('bare.cancel', () => cancelled(core, connection, read(read(message, 'params'), 'requestId')));
    return plain();
  }
  if (method === undefined || !isPlainObject(message) || (typeof id !== 'string' && typeof id !== 'number')) {
    return plain();
  }
  const opened = core.guard('bare.send', () => {
    const params = read(message, 'params');
    const info = callInfo(connection, 'client', method, params);
    if (isIgnored(core, info)) return undefined;
    const leg = startLeg(core, connection, { info, params, options: undefined });
    const reading = answersCall(method)
      ? readCall({ id, transport: 'custom', protocolVersion: connection.protocolVersion })
      : undefined;
    bindLeg(leg, id, reading);
    if (connection.legs.size > MAX_OPEN) forgetOldestLeg(core, connection);
    return { leg, message: core.guard('bare.meta', () => withMeta(core, leg, message, params)) ?? message };
  });
  if (opened === undefined) return plain();
  const { leg } = opened;
  const result = context.with(leg.context, () => plain(opened.message));
  core.guard('bare.sent', () => recordSent(leg));
  if (!isThenable(result)) return result;
  return follow(
    result,
    () => undefined,
    (error) => core.guard('bare.failed', () => settleLeg(core, leg, settlementOf(error, leg), error)),
  );
}

function cancelled(core: RuntimeCore, connection: Connection, id: unknown): void {
  const leg = connection.legs.get(id as JsonRpcId);
  if (leg === undefined) return;
  // Why the caller gave up is not said at this place; that it did, is.
  leg.stages?.record('client.cancelled');
  cancelling(leg);
  settleLeg(core, leg, { kind: 'rejected', cause: 'aborted' });
}

function receiveAsClient(
  core: RuntimeCore,
  connection: Connection,
  handler: AnyFunction,
  args: readonly unknown[],
): unknown {
  const [message] = args;
  if (readString(message, 'method') !== undefined) return handler(...args);
  const leg = core.guard('bare.response', () => legOf(connection, readOwn(message, 'id')));
  const replaced = core.guard('bare.response', () => takeResponse(core, connection, message));
  const result = handler(replaced ?? message, ...args.slice(1));
  if (leg !== undefined) core.guard('bare.settle', () => settleLeg(core, leg, settlementOfMessage(message)));
  return result;
}

function legOf(connection: Connection, id: unknown): ClientLeg | undefined {
  return connection.legs.get(id as JsonRpcId) ?? connection.legs.get(Number(id));
}

function settlementOfMessage(message: unknown): Settlement {
  const code = read(readOwn(message, 'error'), 'code');
  if (typeof code === 'number') return { kind: 'rejected', cause: 'rpc_error', code };
  return { kind: 'resolved', result: readOwn(message, 'result') };
}

function closed(core: RuntimeCore, connection: Connection): void {
  for (const leg of connection.legs.values()) settleLeg(core, leg, { kind: 'rejected', cause: 'closed' });
  for (const call of connection.calls.values()) dropReply(core, call);
}

/** Ends the span of a request that nobody may be waiting for any more, without a word on how it went. */
function forgetOldestLeg(core: RuntimeCore, connection: Connection): void {
  const leg = connection.legs.oldest();
  if (leg?.id === undefined) return;
  connection.legs.delete(leg.id);
  leg.settled = true;
  leg.settledAt = performance.now();
  leg.span.setAttribute(ATTR_INSTRUMENTATION_DEGRADED, [FORGOTTEN]);
  finishLeg(core, leg);
}

function receiveAsServer(
  core: RuntimeCore,
  connection: Connection,
  handler: AnyFunction,
  args: readonly unknown[],
): unknown {
  const [message] = args;
  const method = readString(message, 'method');
  const id = readOwn(message, 'id');
  if (method === undefined || (typeof id !== 'string' && typeof id !== 'number')) return handler(...args);
  const call = core.guard('bare.request', () => {
    const params = read(message, 'params');
    const info = callInfo(connection, 'server', method, params);
    if (isIgnored(core, info)) return undefined;
    const opened = openCall(core, undefined, { connection, id, info, params });
    rememberCall(core, opened);
    return opened;
  });
  return call === undefined ? handler(...args) : runInCall(core, call, () => handler(...args));
}

function sendAsServer(
  core: RuntimeCore,
  connection: Connection,
  message: unknown,
  plain: (message?: unknown) => unknown,
): unknown {
  const id = readOwn(message, 'id');
  const isReply =
    readString(message, 'method') === undefined && (typeof id === 'string' || typeof id === 'number');
  const call = isReply ? connection.calls.get(id) : undefined;
  return call === undefined ? plain() : sendReply(core, call, message, plain);
}

function define(target: Foreign, key: string, value: AnyFunction): void {
  Object.defineProperty(target, key, { value, configurable: true, enumerable: false, writable: true });
}

/**
 * A property of the transport that its user assigns a handler to: the handler is called through `around`. Each has a
 * wrapper of its own, since a later handler may call the one that it found there: a message that is under way is not
 * taken twice.
 */
function intercept(
  target: Foreign,
  key: string,
  fallback: AnyFunction | undefined,
  around: (handler: AnyFunction, args: readonly unknown[]) => unknown,
): void {
  const inProgress: unknown[] = [];
  const during = (message: unknown, body: () => unknown): unknown => {
    inProgress.push(message);
    try {
      return body();
    } finally {
      inProgress.pop();
    }
  };
  const through = (handler: AnyFunction): AnyFunction => {
    const plain: AnyFunction = (...args) => during(args[0], () => Reflect.apply(handler, target, args));
    return named(
      (...args) =>
        inProgress.includes(args[0]) ? plain(...args) : during(args[0], () => around(plain, args)),
      handler,
    );
  };
  let assigned: unknown = target[key];
  let seen = isFunction(assigned) ? through(assigned) : fallback && through(fallback);
  Object.defineProperty(target, key, {
    configurable: true,
    enumerable: true,
    get: () => seen,
    set: (handler: unknown) => {
      assigned = handler;
      seen = isFunction(handler) ? through(handler) : fallback && through(fallback);
    },
  });
}
