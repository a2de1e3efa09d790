import type { Attributes } from '@opentelemetry/api';
import {
  ATTR_NETWORK_PROTOCOL_NAME,
  ATTR_NETWORK_TRANSPORT,
  ATTR_SERVER_ADDRESS,
  ATTR_SERVER_PORT,
  NETWORK_TRANSPORT_VALUE_PIPE,
  NETWORK_TRANSPORT_VALUE_TCP,
} from '@opentelemetry/semantic-conventions';
import {
  ATTR_MCP_PROTOCOL_VERSION,
  ATTR_MCP_SESSION_ID,
  type JsonRpcId,
  type SharedChannel,
  type WireTransport,
} from '@waybill/core';
import { isForeign, isFunction, read, readObject, readString } from '../patch/foreign.js';
import { BoundedMap, OpenMap, RecentMap } from './bounded.js';
import type { ClientLeg } from './client/leg.js';
import type { RuntimeCore } from './core.js';
import type { Annotations } from './effect-kind.js';
import { capped } from './limits.js';
import type { ServerCall } from './server/call.js';

/**
 * Settled legs that are remembered for late results and continuations, per connection. Few: each holds its span, and a
 * span that lives long is copied by the collector of garbage.
 */
const MAX_SETTLED_LEGS = 64;
/** Tools whose annotations are remembered, per connection. */
const MAX_TOOLS = 2048;

export interface Session {
  /** Reading of `performance.now()`. */
  readonly startedAt: number;
  /** `error.type` of the handshake that failed. */
  error: string | undefined;
}

/** State of one SDK `Protocol` instance. It is both ends: a client answers requests, a server sends some. */
export interface Connection {
  readonly protocol: object;
  transport: object | undefined;
  kind: WireTransport;
  /** Legs in flight, by the JSON-RPC id that the SDK gave them. */
  readonly legs: OpenMap<JsonRpcId, ClientLeg>;
  readonly settled: RecentMap<JsonRpcId, ClientLeg>;
  /** Legs that were answered with a question, by our own call id: a multi round trip repeats it in its `_meta`. */
  readonly byCallId: BoundedMap<string, ClientLeg>;
  /** Calls that were answered with a task, by its id. */
  readonly tasks: BoundedMap<string, ClientLeg>;
  /** Calls that were answered with a question. */
  readonly awaitingInput: BoundedMap<string, ClientLeg>;
  /** Incoming requests that are not answered yet. */
  readonly calls: OpenMap<JsonRpcId, ServerCall>;
  /** Annotations of tools, from `tools/list` results that went through here. */
  readonly tools: BoundedMap<string, Annotations>;
  /** `serverInfo.name` of the peer or of this server. */
  serverName: string | undefined;
  protocolVersion: string | undefined;
  /** Present where sessions are measured, from `connect` to the close of the transport. */
  session: Session | undefined;
  /** What `connectionAttributes` gave last, and of what. */
  described:
    | {
        readonly side: 'client' | 'server';
        readonly version: string | undefined;
        readonly session: string | undefined;
        readonly transport: object | undefined;
        readonly attributes: Readonly<Attributes>;
      }
    | undefined;
  /** The pipe of a stdio client. */
  channel: SharedChannel | undefined;
}

/** The connection of an SDK `Protocol` instance; made at its first use, also for one connected before we came. */
export function connectionOf(core: RuntimeCore, protocol: object): Connection {
  const known = core.connections.get(protocol);
  if (known !== undefined) return known;
  // Frameworks hand out a Proxy of a connected client: its requests come from the Proxy, its responses go to the client.
  const transport = read(protocol, '_transport');
  const behind = isForeign(transport) ? core.transports.get(transport) : undefined;
  if (behind !== undefined) {
    core.connections.set(protocol, behind);
    return behind;
  }
  const fresh: Connection = {
    protocol,
    transport: undefined,
    kind: 'custom',
    legs: new OpenMap(),
    settled: new RecentMap(MAX_SETTLED_LEGS),
    byCallId: new BoundedMap(MAX_SETTLED_LEGS),
    tasks: new BoundedMap(MAX_SETTLED_LEGS),
    awaitingInput: new BoundedMap(MAX_SETTLED_LEGS),
    calls: new OpenMap(),
    tools: new BoundedMap(MAX_TOOLS),
    serverName: ownServerName(protocol),
    protocolVersion: undefined,
    session: undefined,
    channel: undefined,
    described: undefined,
  };
  core.connections.set(protocol, fresh);
  return fresh;
}

/** `_serverInfo` of a server is its own; a client keeps its peer's under another name. */
function ownServerName(protocol: object): string | undefined {
  return readString(readObject(protocol, '_serverInfo'), 'name');
}

/** Knows a transport by what it has, since its class may be bundled under another name. */
export function transportKind(transport: object): WireTransport {
  const has = (key: string): boolean => read(transport, key) !== undefined;
  if (isFunction(read(transport, '_handleSseStream')) || isFunction(read(transport, 'handleRequest'))) {
    return 'http';
  }
  if (isFunction(read(transport, '_startOrAuth')) || isFunction(read(transport, 'handlePostMessage'))) {
    return 'legacy_sse';
  }
  if (has('_readBuffer') || has('_stdin')) return 'stdio';
  if ('_otherTransport' in transport) return 'memory';
  const name = readString(read(transport, 'constructor'), 'name');
  if (name === 'PerRequestHTTPServerTransport') return 'http';
  if (name === 'StdioConnectionChannel') return 'stdio';
  return 'custom';
}

/** The version as far as it is known: told by the SDK, or seen in the handshake. */
export function protocolVersionOf(connection: Connection): string | undefined {
  return (
    readString(connection.protocol, '_negotiatedProtocolVersion') ??
    readString(connection.transport, '_protocolVersion') ??
    connection.protocolVersion
  );
}

/** Versions from this one on are stateless: a session id there would be somebody else's word. */
export const STATELESS_SINCE = '2026-07-28';

/** Attributes that every span of this connection carries. */
export function connectionAttributes(
  connection: Connection,
  side: 'client' | 'server',
): Readonly<Attributes> {
  const version = protocolVersionOf(connection);
  const session = readString(connection.transport, 'sessionId');
  const { described } = connection;
  if (
    described?.side === side &&
    described.version === version &&
    described.session === session &&
    described.transport === connection.transport
  ) {
    return described.attributes;
  }
  const attributes = describe(connection, side, version, session);
  connection.described = { side, version, session, transport: connection.transport, attributes };
  return attributes;
}

function describe(
  connection: Connection,
  side: 'client' | 'server',
  version: string | undefined,
  session: string | undefined,
): Attributes {
  const attributes: Attributes = {};
  if (version !== undefined) attributes[ATTR_MCP_PROTOCOL_VERSION] = version;
  if (session !== undefined && (version === undefined || version < STATELESS_SINCE)) {
    attributes[ATTR_MCP_SESSION_ID] = capped(session);
  }
  switch (connection.kind) {
    case 'http':
    case 'legacy_sse':
      attributes[ATTR_NETWORK_TRANSPORT] = NETWORK_TRANSPORT_VALUE_TCP;
      attributes[ATTR_NETWORK_PROTOCOL_NAME] = 'http';
      break;
    case 'stdio':
      attributes[ATTR_NETWORK_TRANSPORT] = NETWORK_TRANSPORT_VALUE_PIPE;
      break;
    case 'memory':
    case 'custom':
      break;
  }
  const url = side === 'client' ? read(connection.transport, '_url') : undefined;
  if (isForeign(url)) {
    const host = readString(url, 'hostname');
    const port = Number(readString(url, 'port') || (readString(url, 'protocol') === 'https:' ? 443 : 80));
    if (host !== undefined && host !== '') {
      attributes[ATTR_SERVER_ADDRESS] = host;
      attributes[ATTR_SERVER_PORT] = port;
    }
  }
  return attributes;
}
