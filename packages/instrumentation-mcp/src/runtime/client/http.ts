import { context } from '@opentelemetry/api';
import { ATTR_OUTCOME_REASON, ATTR_STREAM_END, type ChannelEnd, transportCause } from '@waybill/core';
import {
  type AnyFunction,
  type Foreign,
  follow,
  isForeign,
  isFunction,
  isThenable,
  read,
  readString,
} from '../../patch/foreign.js';
import type { Invocation } from '../../patch/table.js';
import { named } from '../../patch/wrap.js';
import type { Connection } from '../connection.js';
import type { RuntimeCore } from '../core.js';
import { wordOf } from '../limits.js';
import { type ClientLeg, currentLeg, recordSent } from './leg.js';
import { tapResponse } from './http-body.js';
import { fetchIsHidden, watchHiddenFetch } from './hidden-fetch.js';
import { watchSharedStream } from './legacy-sse.js';
import { handOver } from './resend.js';
import { tapStream } from './stream-tap.js';

/** Marks a fetch function that is ours already, and holds the runtime it reports to. */
const TAP = Symbol.for('waybill.fetch');

/**
 * `StreamableHTTPClientTransport.start`, `SSEClientTransport.start`: from here on the fetch function of this one
 * transport is seen. Where it cannot be replaced it stays as it is, and the requests are seen by the runtime's channels.
 */
export function onTransportStart(core: RuntimeCore, { self, proceed }: Invocation): unknown {
  core.guard('http.fetch', () => {
    if (fetchIsHidden(self)) {
      watchHiddenFetch(core);
      return;
    }
    const target = self as Foreign;
    const inner = target['_fetch'];
    const known = read(inner, TAP);
    if (isForeign(known)) {
      known['core'] = core;
      return;
    }
    const state: Foreign = { core };
    const tapped = (...args: readonly unknown[]): unknown => {
      const call = (init: unknown = args[1]): unknown => {
        const given = [args[0], init, ...args.slice(2)];
        return isFunction(inner) ? inner(...given) : (fetch as AnyFunction)(...given);
      };
      const current = state['core'] as RuntimeCore;
      const connection = current.transports.get(self);
      return connection?.kind === 'legacy_sse' && requestKind(args[1]) === undefined
        ? observedStream(current, connection, () => call())
        : observedFetch(current, args, call);
    };
    Object.defineProperty(tapped, TAP, { value: state });
    target['_fetch'] = isFunction(inner) ? named(tapped, inner) : tapped;
  });
  return proceed();
}

/** Makes the fetch function of a transport that another runtime has tapped report to this one. */
export function adoptFetch(core: RuntimeCore, transport: object): void {
  const known = read(read(transport, '_fetch'), TAP);
  if (isForeign(known)) known['core'] = core;
}

/** The GET of legacy HTTP+SSE, which belongs to no call. */
function observedStream(core: RuntimeCore, connection: Connection, call: () => unknown): unknown {
  const result = call();
  if (!core.deps.isEnabled() || !isThenable(result)) return result;
  return follow(
    result,
    (response) => core.guard('sse.stream', () => watchSharedStream(core, connection, response)),
    () => undefined,
  );
}

function observedFetch(
  core: RuntimeCore,
  args: readonly unknown[],
  call: (init?: unknown) => unknown,
): unknown {
  const current = core.deps.isEnabled() ? currentLeg(core) : undefined;
  if (current === undefined) return call();
  const kind = core.guard('http.fetch', () => requestKind(args[1]));
  if (kind === undefined) return call();
  let leg = current;
  let init = args[1];
  if (kind === 'post' && !current.settled) {
    const given = core.guard('http.sent', () => handOver(core, current, init));
    if (given === undefined) return call();
    ({ leg, init } = given);
    core.guard('http.sent', () => recordSent(leg));
  }
  let result: unknown;
  try {
    // What fetch itself records belongs under the leg that is sent: only the first runs in its own context here.
    result = leg === current ? call(init) : context.with(leg.context, () => call(init));
  } catch (error) {
    core.guard('http.failed', () => failed(leg, error));
    throw error;
  }
  if (!isThenable(result)) return result;
  return follow(
    result,
    (response) =>
      core.guard('http.response', () => {
        if (kind === 'post')
          tapResponse(core, leg, response, headerOf(args[1], 'mcp-session-id') !== undefined);
        else resumed(leg, response);
      }),
    (error) => core.guard('http.failed', () => failed(leg, error)),
  );
}

/** A POST of a JSON-RPC message, or the GET that continues its stream; the requests of an authorization are neither. */
function requestKind(init: unknown): 'post' | 'resume' | undefined {
  const method = readString(init, 'method');
  if (method === 'GET') return headerOf(init, 'last-event-id') === undefined ? undefined : 'resume';
  if (method !== 'POST') return undefined;
  const body = read(init, 'body');
  if (typeof body !== 'string' || !body.startsWith('{')) return undefined;
  // The member stands in front or at the very end; a large body is not searched.
  const edge = 256;
  const member = '"jsonrpc":"2.0"';
  return body.slice(0, edge).includes(member) || body.slice(-edge).includes(member) ? 'post' : undefined;
}

function headerOf(init: unknown, name: string): string | undefined {
  const headers = read(init, 'headers');
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  return readString(headers, name);
}

function resumed(leg: ClientLeg, response: unknown): void {
  if (read(response, 'ok') !== true || leg.settled) return;
  leg.exchangeOver = false;
  leg.reading?.streamResumed();
  leg.stages?.record('client.stream_resumed');
}

function failed(leg: ClientLeg, error: unknown): void {
  // Our own side gave up: the signal says so, the transport did not fail.
  if (leg.settled || read(error, 'name') === 'AbortError') return;
  const cause = transportCause(error);
  leg.failureCode = wordOf(cause.code);
  leg.reading?.transportFailure(cause);
}

/** `_handleSseStream(stream, …)`: the body of the answer to a POST, or of the GET that resumes it. */
export function onSseStream(core: RuntimeCore, { args, proceed }: Invocation): unknown {
  const leg = currentLeg(core);
  const [stream, ...rest] = args;
  if (leg === undefined || leg.settled || leg.reading === undefined || !(stream instanceof ReadableStream)) {
    return proceed();
  }
  const tapped = core.guard('http.stream', () =>
    tapStream(stream as ReadableStream<Uint8Array>, {
      chunk: (chunk) => {
        if (!leg.settled) core.guard('http.chunk', () => leg.reading?.sseChunk(chunk));
      },
      end: (how) => {
        if (!leg.settled) core.guard('http.end', () => streamEnded(leg, how));
      },
    }),
  );
  return tapped === undefined ? proceed() : proceed([tapped, ...rest]);
}

function streamEnded(leg: ClientLeg, how: ChannelEnd): void {
  leg.exchangeOver = true;
  leg.reading?.channelEnd(how);
  if (leg.response !== undefined) return;
  const now = leg.reading?.outcomeNow();
  if (now?.outcome !== 'STREAM_INCOMPLETE') return;
  leg.stages?.record('client.stream_closed', {
    [ATTR_STREAM_END]: how,
    ...(now.reason === undefined ? {} : { [ATTR_OUTCOME_REASON]: now.reason }),
  });
}
