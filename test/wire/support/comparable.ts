import type { RecordedRequest } from '@waybill/lab';
import { expect } from 'vitest';

/** What another run of the same program has otherwise: ports, and what sockets count (bytes of `_meta` among it). */
const OF_THE_SOCKET = new Set(['localPort', 'remotePort', 'port', 'bytesWritten', 'bytesRead']);
const withoutPorts = (text: string): string => text.replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT');

/** What an application was told, without what differs between any two runs. */
export function told(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, inner: unknown) => {
      if (OF_THE_SOCKET.has(key) && typeof inner === 'number') return 0;
      return typeof inner === 'string' ? withoutPorts(inner) : inner;
    }),
  );
}

/** Headers that are another in any run, or that the plugin may change. */
const HEADERS_ASIDE = new Set(['content-length', 'mcp-session-id', 'traceparent', 'tracestate', 'baggage']);
const META = '_meta';
const OURS = /^(?:traceparent|tracestate|baggage|io\.waybill\/.+)$/;

export interface ComparableRequest {
  readonly httpMethod: string;
  readonly path: string;
  readonly headers: unknown;
  /** Text of the body, `params._meta` taken out. */
  readonly body: string;
  /** Members of `params._meta` that are not ours. */
  readonly meta: unknown;
}

/**
 * A request as the peer got it, without what the plugin may change. The bytes of a body are compared by their text, once
 * it is shown that the text is the canonical one of its value: then taking `_meta` out of the value takes exactly its
 * bytes out of the text.
 */
export function comparableRequest({ body, headers, httpMethod, path }: RecordedRequest): ComparableRequest {
  const text = body.toString('utf8');
  const kept = Object.entries(headers)
    .filter(([name]) => !HEADERS_ASIDE.has(name))
    .map(([name, value]) => [name, typeof value === 'string' ? withoutPorts(value) : value]);
  const { without, meta } = text === '' ? { without: '', meta: {} } : splitMeta(text);
  return { httpMethod, path, headers: Object.fromEntries(kept) as unknown, body: without, meta };
}

function splitMeta(text: string): { without: string; meta: unknown } {
  const message = JSON.parse(text) as { params?: Record<string, unknown> };
  expect(JSON.stringify(message)).toBe(text);
  const { params } = message;
  const meta = Object.entries(params?.[META] ?? {}).filter(([name]) => !OURS.test(name));
  if (params !== undefined) delete params[META];
  // A request without `params` gets them for its `_meta` alone.
  if (params !== undefined && Object.keys(params).length === 0) delete message.params;
  return { without: JSON.stringify(message), meta: Object.fromEntries(meta) as unknown };
}

/** All requests of a peer, in the order of their ids: calls of one turn race for their sockets. */
export function comparableRequests(requests: readonly RecordedRequest[]): readonly ComparableRequest[] {
  return requests.map(comparableRequest).sort((a, b) => {
    const left = `${a.httpMethod} ${a.body}`;
    const right = `${b.httpMethod} ${b.body}`;
    return left < right ? -1 : left > right ? 1 : 0;
  });
}
