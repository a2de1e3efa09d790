import { types } from 'node:util';
import { type JsonRpcId, transportCause } from '@waybill/core';
import {
  type AnyFunction,
  type Foreign,
  isForeign,
  isFunction,
  read,
  readOwn,
  readString,
} from '../patch/foreign.js';
import { patchExports } from '../patch/index.js';
import { named } from '../patch/wrap.js';
import type { Invocation } from '../patch/table.js';
import { type Connection, connectionOf, transportKind } from './connection.js';
import type { RuntimeCore } from './core.js';
import { wordOf } from './limits.js';
import { type ClientLeg, bindLeg, latestLeg, outsideOfLeg, readingOf, recordSent } from './client/leg.js';
import { adoptFetch } from './client/http.js';
import { giveUp } from './client/settle.js';
import { watchPipe } from './client/stdio.js';
import { callHere } from './server/call.js';
import { sendReply } from './server/reply.js';
import { beginSession } from './sessions.js';

/** Marks a `send` that is ours and says to whom it reports: a transport may be connected again. */
const TAP = Symbol.for('waybill.send');

interface TapState {
  core: RuntimeCore;
  connection: Connection;
}

/** `Protocol.connect(transport)`: before the SDK starts the transport, so that nothing of the handshake is missed. */
export function onConnect(core: RuntimeCore, { self, args, proceed }: Invocation): unknown {
  core.guard('connect', () => {
    const connection = connectionOf(core, self);
    ensureTapped(core, connection, args[0]);
    beginSession(core, connection);
  });
  return proceed();
}

/** Taps `transport.send` of one instance. Also called at every request: the connection may be older than the plugin. */
export function ensureTapped(core: RuntimeCore, connection: Connection, transport: unknown): void {
  if (!isForeign(transport)) return;
  const known = read(transport['send'], TAP) as TapState | undefined;
  if (known !== undefined) {
    known.core = core;
    known.connection = connection;
  }
  if (connection.transport === transport) return;
  connection.transport = transport;
  core.transports.set(transport, connection);
  connection.kind = transportKind(transport);
  patchTransport(transport);
  adoptFetch(core, transport);
  watchPipe(core, connection, transport);
  if (known !== undefined) return;
  const original = transport['send'];
  if (!isFunction(original)) return;
  const state: TapState = { core, connection };
  const tapped = function (this: unknown, ...args: readonly unknown[]): unknown {
    return onSend(state, this ?? transport, original, args);
  };
  Object.defineProperty(named(tapped, original), TAP, { value: state });
  try {
    Object.defineProperty(transport, 'send', {
      value: tapped,
      configurable: true,
      // A method of a class is not listed; one that stands on the object itself stays listed.
      enumerable: Object.getOwnPropertyDescriptor(transport, 'send')?.enumerable ?? false,
      writable: true,
    });
  } catch (error) {
    core.failed('transport.send', error); // a frozen or sealed transport
  }
}

/** A transport of a bundled SDK, or of a file that no hook caught, is patched when it is first used. */
function patchTransport(transport: Foreign): void {
  const classes: Foreign = {
    transport: read(transport, 'constructor'),
    buffer: read(read(transport, '_readBuffer'), 'constructor'),
  };
  patchExports(classes, { module: 'transport', version: undefined, format: 'given' });
}

function onSend(
  { core, connection }: TapState,
  self: unknown,
  original: AnyFunction,
  args: readonly unknown[],
): unknown {
  const [message, options] = args;
  const plain = (): unknown => Reflect.apply(original, self, args);
  const enabled = core.deps.isEnabled();
  const method = readString(message, 'method');
  const id = readOwn(message, 'id');
  const hasId = typeof id === 'string' || typeof id === 'number';
  if (enabled && method !== undefined && hasId)
    return sendRequest(core, connection, { id, message, options }, plain);
  if (method === undefined && hasId) {
    const here = callHere(core, connection, id);
    const call = here === undefined || here.replied ? connection.calls.get(id) : here;
    return call === undefined
      ? outsideOfLeg(core, plain)
      : sendReply(core, call, message, (other) => original.call(self, other, ...args.slice(1)));
  }
  if (!enabled) return plain();
  if (method === 'notifications/cancelled') core.guard('send.cancel', () => cancelSent(connection, message));
  return outsideOfLeg(core, plain);
}

function sendRequest(
  core: RuntimeCore,
  connection: Connection,
  request: { readonly id: JsonRpcId; readonly message: unknown; readonly options: unknown },
  plain: () => unknown,
): unknown {
  const leg = core.flow.getStore()?.leg;
  if (leg === undefined) return plain();
  // SDK 1.x sends a request again through here; its fetch tells.
  if (leg.connection === connection && leg.id === request.id) return plain();
  if (leg.connection !== connection || leg.id !== undefined) return outsideOfLeg(core, plain);
  core.guard('send.bind', () => bind(leg, request));
  const early = core.guard('send.ready', () => canTake(connection)) === true;
  if (early) core.guard('send.sent', () => recordSent(leg));
  const result = plain();
  core.guard('send.sent', () => {
    if (connection.kind === 'custom') recordSent(leg);
    // Only a promise may be asked twice.
    if (!types.isPromise(result)) return;
    result.then(undefined, (error: unknown) => {
      core.guard('send.failed', () => {
        if (connection.kind === 'http' || connection.kind === 'legacy_sse' || leg.settled) return;
        const cause = transportCause(error);
        leg.failureCode = wordOf(cause.code);
        leg.reading?.transportFailure(cause);
      });
    });
  });
  return result;
}

function bind(
  leg: ClientLeg,
  { id, message, options }: { readonly id: JsonRpcId; readonly message: unknown; readonly options: unknown },
): void {
  const token = read(read(read(message, 'params'), '_meta'), 'progressToken');
  leg.progressToken = typeof token === 'string' || typeof token === 'number' ? token : undefined;
  bindLeg(leg, id, readingOf(leg, id));
  if (leg.stages === undefined) return;
  const signal = read(options, 'requestSignal');
  if (!(signal instanceof AbortSignal)) return;
  // Since 2026-07-28 closing the stream of the request is how HTTP says that nobody waits. One that has ended says
  // nothing more.
  signal.addEventListener(
    'abort',
    () => {
      const latest = latestLeg(leg);
      if (latest.exchangeOver) givingUp(latest);
      else cancelling(latest);
    },
    { once: true },
  );
}

/**
 * Whether the transport will take a message now. Those that deliver inside `send` must be asked before: the other end of
 * a pair in memory has answered when `send` returns.
 */
function canTake(connection: Connection): boolean {
  switch (connection.kind) {
    case 'memory':
      return read(connection.transport, '_otherTransport') !== undefined;
    case 'stdio': {
      const stdin = read(read(connection.transport, '_process'), 'stdin');
      const output = isForeign(stdin) ? stdin : read(connection.transport, '_stdout');
      return isForeign(output) && read(output, 'destroyed') !== true;
    }
    case 'http':
    case 'legacy_sse':
    case 'custom':
    default:
      return false;
  }
}

function cancelSent(connection: Connection, message: unknown): void {
  const id = read(read(message, 'params'), 'requestId');
  const leg = connection.legs.get(id as JsonRpcId);
  if (leg !== undefined) cancelling(leg);
}

/** The SDK tells the other side to stop: why, is on the caller's own signal. */
export function cancelling(leg: ClientLeg): void {
  if (leg.settled || leg.stages === undefined) return;
  givingUp(leg);
  if (!leg.stages.has('client.cancel_sent')) leg.stages.record('client.cancel_sent');
}

function givingUp(leg: ClientLeg): void {
  if (leg.settled) return;
  const aborted = read(read(leg.options, 'signal'), 'aborted') === true;
  giveUp(leg, aborted ? 'client.cancelled' : 'client.timeout');
}
