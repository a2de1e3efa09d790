import { ATTR_ERROR_TYPE } from '@opentelemetry/semantic-conventions';
import { isFunction, read, readString } from '../patch/foreign.js';
import type { Invocation } from '../patch/table.js';
import {
  type Connection,
  STATELESS_SINCE,
  connectionAttributes,
  connectionOf,
  protocolVersionOf,
} from './connection.js';
import type { RuntimeCore } from './core.js';
import { metricAttributes } from './metrics.js';
import { SESSION_KEYS } from './outcome-metrics.js';

/** `Protocol.connect`: a session begins, where sessions are measured. */
export function beginSession(core: RuntimeCore, connection: Connection): void {
  connection.session =
    core.config().sessionMetrics === true ? { startedAt: performance.now(), error: undefined } : undefined;
}

/** `Protocol._onclose`: the transport is closed, by whichever side. */
export function onConnectionClose(core: RuntimeCore, { self, proceed }: Invocation): unknown {
  core.guard('session', () => endSession(core, connectionOf(core, self)));
  return proceed();
}

function endSession(core: RuntimeCore, connection: Connection): void {
  const { session } = connection;
  connection.session = undefined;
  if (session === undefined) return;
  const side = isFunction(read(connection.protocol, 'callTool')) ? 'client' : 'server';
  if (!hadSession(connection, side)) return;
  const attributes = {
    ...connectionAttributes(connection, side),
    ...(session.error === undefined ? {} : { [ATTR_ERROR_TYPE]: session.error }),
  };
  const seconds = (performance.now() - session.startedAt) / 1000;
  core.instruments()[side].session().record(seconds, metricAttributes(attributes, SESSION_KEYS));
}

/** A stateless HTTP server is connected anew for each request: that is no session. */
function hadSession(connection: Connection, side: 'client' | 'server'): boolean {
  const version = protocolVersionOf(connection);
  if (version !== undefined && version >= STATELESS_SINCE) return false;
  if (side === 'client' || connection.kind !== 'http') return true;
  return readString(connection.transport, 'sessionId') !== undefined;
}
