import {
  ATTR_RECEIPT_ID,
  ATTR_REPLY_CALL_ID,
  META_CALL_ID,
  META_RECEIPT,
  type JsonRpcId,
  type MessageRoute,
  isAcceptableId,
} from '@waybill/core';
import { type Foreign, isPlainObject, read, readObject, readOwn, readString } from '../../patch/foreign.js';
import type { Invocation } from '../../patch/table.js';
import { type Connection, connectionOf } from '../connection.js';
import type { RuntimeCore } from '../core.js';
import { setResultDigest } from '../digests.js';
import { rememberTools } from '../effect-kind.js';
import { capped } from '../limits.js';
import { noteErrorData } from './call-record.js';
import { noteOpenEnds } from './continuation.js';
import { recordLate } from './late.js';
import { type ClientLeg, currentLeg } from './leg.js';

/** `_onresponse(message)`: the SDK parsed a response and looks for its request. */
export function onResponse(core: RuntimeCore, { self, args, proceed }: Invocation): unknown {
  const message = args[0];
  if (!core.deps.isEnabled() && (core.connections.get(self)?.legs.size ?? 0) === 0) return proceed();
  const replaced = core.guard('client.response', () => takeResponse(core, connectionOf(core, self), message));
  return replaced === undefined || replaced === message ? proceed() : proceed([replaced, ...args.slice(1)]);
}

/** `_onnotification(message)`: only progress says something about a call. */
export function onNotification(core: RuntimeCore, { self, args, proceed }: Invocation): unknown {
  core.guard('client.notification', () => {
    const message = args[0];
    if (readString(message, 'method') !== 'notifications/progress') return;
    const connection = core.connections.get(self);
    const token = read(read(message, 'params'), 'progressToken');
    const leg = connection?.legs.get(token as JsonRpcId);
    leg?.reading?.message(message, routeOf(core, leg));
  });
  return proceed();
}

/** Reads a response into its leg. Returns the message as the SDK's caller is to see it. */
export function takeResponse(core: RuntimeCore, connection: Connection, message: unknown): unknown {
  const id = read(message, 'id');
  const current = currentLeg(core);
  const strict = connection.legs.get(id as JsonRpcId);
  // The SDKs look the id up as a number: `"7"` finds request 7.
  const leg = strict ?? connection.legs.get(Number(id));
  if (leg === undefined) {
    const late = connection.settled.get(id as JsonRpcId);
    if (late !== undefined) recordLate(core, late, message);
    else strayResponse(connection, current, message);
    // Also for a request that an instrumentation before this one has made.
    return withoutEchoes(message);
  }
  leg.reading?.message(message, routeOf(core, leg));
  const duplicate = leg.response !== undefined;
  const code = read(readOwn(message, 'error'), 'code');
  noteErrorData(leg, message);
  if (!duplicate) notePresented(leg, message);
  leg.response ??= { rpcCode: typeof code === 'number' ? code : undefined };
  if (leg.stages !== undefined && !duplicate) setResultDigest(core, leg.span, readOwn(message, 'result'));
  if (strict !== undefined && !duplicate) {
    const other = otherCall(leg, message);
    if (other !== undefined) leg.span.setAttribute(ATTR_REPLY_CALL_ID, other);
    leg.stages?.record(
      'client.result_received',
      other === undefined ? undefined : { [ATTR_REPLY_CALL_ID]: other },
    );
  }
  learn(connection, leg, readOwn(message, 'result'));
  noteOpenEnds(connection, leg, readOwn(message, 'result'));
  return leg.ids === undefined ? message : withoutEchoes(message);
}

/** Of which channel the message came. */
function routeOf(core: RuntimeCore, leg: ClientLeg): MessageRoute {
  switch (leg.connection.kind) {
    case 'stdio':
      return 'line';
    case 'memory':
    case 'custom':
      return 'memory';
    case 'http':
    case 'legacy_sse':
    default:
      return currentLeg(core) === leg ? 'own_stream' : 'other_stream';
  }
}

/** A response for nobody: on the stream of an open call it is that call's answer, with a wrong id. */
function strayResponse(connection: Connection, current: ClientLeg | undefined, message: unknown): void {
  if (current?.connection === connection && !current.settled) {
    current.reading?.message(message, 'own_stream');
    return;
  }
  if (connection.kind === 'http') return;
  let only: ClientLeg | undefined;
  for (const leg of connection.legs.values()) {
    if (leg.reading === undefined) continue;
    if (only !== undefined) return;
    only = leg;
  }
  only?.reading?.message(message, connection.kind === 'stdio' ? 'line' : 'memory');
}

/** Whose reply the server says this is, when that is not the call it came to: a reply that was crossed on the way. */
function otherCall(leg: ClientLeg, message: unknown): string | undefined {
  const echoed = readString(read(readOwn(message, 'result'), '_meta'), META_CALL_ID);
  if (leg.ids === undefined || echoed === leg.ids.callId) return undefined;
  return isAcceptableId(echoed) ? echoed : undefined;
}

/** What the server says was written for this call; the auditor sees whether that receipt is of this operation. */
function notePresented(leg: ClientLeg, message: unknown): void {
  const receipt = readOwn(read(readOwn(message, 'result'), '_meta'), META_RECEIPT);
  if (leg.ids !== undefined && isAcceptableId(receipt)) leg.span.setAttribute(ATTR_RECEIPT_ID, receipt);
}

/** The echoes are between the two plugins: the SDK's caller gets the result as the server made it. */
function withoutEchoes(message: unknown): unknown {
  const result = readOwn(message, 'result');
  const meta = read(result, '_meta');
  if (!isPlainObject(message) || !isPlainObject(result) || !isPlainObject(meta)) return message;
  if (!Object.hasOwn(meta, META_CALL_ID) && !Object.hasOwn(meta, META_RECEIPT)) return message;
  const { [META_CALL_ID]: echo, [META_RECEIPT]: receipt, ...others } = meta;
  void [echo, receipt];
  const { _meta: before, ...rest } = result;
  void before;
  const cleaned: Foreign = Object.keys(others).length === 0 ? rest : { ...rest, _meta: others };
  return { ...message, result: cleaned };
}

/** What a handshake or a listing tells about the other side. */
function learn(connection: Connection, leg: ClientLeg, result: unknown): void {
  switch (leg.info.method) {
    case 'initialize':
    case 'server/discover': {
      const version = readString(result, 'protocolVersion');
      if (version !== undefined) connection.protocolVersion = capped(version);
      const name = readString(readObject(result, 'serverInfo'), 'name');
      if (name !== undefined) connection.serverName = name;
      break;
    }
    case 'tools/list':
      rememberTools(connection.tools, result);
      break;
    default:
  }
}
