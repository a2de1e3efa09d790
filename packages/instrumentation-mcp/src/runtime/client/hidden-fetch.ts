import { subscribe } from 'node:diagnostics_channel';
import { transportCause } from '@waybill/core';
import { read, readString } from '../../patch/foreign.js';
import { holder } from '../../patch/table.js';
import type { RuntimeCore } from '../core.js';
import { noteStatus } from './call-record.js';
import { type ClientLeg, currentLeg, recordSent } from './leg.js';

const watched = new WeakSet<RuntimeCore>();

/** In `waybill.instrumentation.degraded`. */
const HIDDEN_POINT = 'StreamableHTTPClientTransport._fetch';

/**
 * Whether the fetch function of an HTTP transport cannot be replaced: SDK before 1.15 calls the global one by its name,
 * 1.x with `redirectPolicy: 'follow'` knows its own by identity.
 */
export function fetchIsHidden(transport: unknown): boolean {
  if (typeof transport !== 'object' || transport === null) return false;
  return !('_fetch' in transport) || read(transport, '_followRedirects') === true;
}

/**
 * For those the diagnostics channels of the runtime's own fetch tell when a request of a leg is made, its status and why
 * it failed. The bytes of a JSON body stay unseen, and a fetch function of the application that is none of the runtime's.
 */
export function watchHiddenFetch(core: RuntimeCore): void {
  if (watched.has(core)) return;
  watched.add(core);
  if (process.versions['bun'] !== undefined || process.versions['deno'] !== undefined) {
    // Their fetch has no channels (measured with 1.4.5 and 2.9.6): the auditor must know that no hand-over could be seen.
    holder().missing.add(HIDDEN_POINT);
    return;
  }
  const legs = new WeakMap<object, ClientLeg>();
  const redirected = new WeakSet<ClientLeg>();
  const legOf = (message: unknown): ClientLeg | undefined => {
    const request = read(message, 'request');
    const leg = typeof request === 'object' && request !== null ? legs.get(request) : undefined;
    return leg?.settled === false ? leg : undefined;
  };
  subscribe('undici:request:create', (message) => {
    core.guard('http.hidden', () => {
      const leg = core.deps.isEnabled() ? currentLeg(core) : undefined;
      if (leg === undefined || leg.settled || !fetchIsHidden(leg.connection.transport)) return;
      const request = read(message, 'request');
      if (typeof request !== 'object' || request === null || !isPost(request, leg.connection.transport))
        return;
      legs.set(request, leg);
      // Fetch repeats the bytes on its own after a redirect: one hand-over.
      if (!redirected.delete(leg)) recordSent(leg);
    });
  });
  subscribe('undici:request:headers', (message) => {
    core.guard('http.hidden', () => {
      const leg = legOf(message);
      const response = read(message, 'response');
      const status = read(response, 'statusCode');
      if (leg === undefined || typeof status !== 'number') return;
      if (status >= 300 && status < 400) {
        redirected.add(leg);
        return;
      }
      const headers = read(response, 'headers');
      leg.httpStatus = status;
      noteStatus(leg, status);
      leg.reading?.httpResponse({
        status,
        contentType: headerOf(headers, 'content-type'),
        retryAfter: headerOf(headers, 'retry-after'),
        sessionSent: readString(leg.connection.transport, 'sessionId') !== undefined,
        receivedAtMs: Date.now(),
      });
    });
  });
  subscribe('undici:request:error', (message) => {
    core.guard('http.hidden', () => {
      const leg = legOf(message);
      const error = read(message, 'error');
      // Our own side gave up: the signal says so, the transport did not fail.
      if (leg === undefined || read(error, 'name') === 'AbortError') return;
      const cause = transportCause(error);
      leg.failureCode = cause.code;
      leg.reading?.transportFailure(cause);
    });
  });
}

/** The SDK failed to parse the body of an answer: its own error is all that tells. */
export function noteParseError(leg: ClientLeg, error: unknown): void {
  if (!(error instanceof SyntaxError) || leg.settled || !fetchIsHidden(leg.connection.transport)) return;
  leg.reading?.jsonBodyError({ errorMessage: error.message });
}

/**
 * A POST to the address of the transport, or one that takes an event stream: a redirect has changed the address. The
 * requests of an authorization are neither.
 */
function isPost(request: object, transport: unknown): boolean {
  if (read(request, 'method') !== 'POST') return false;
  const own = read(transport, '_endpoint') ?? read(transport, '_url');
  const address = `${String(read(request, 'origin'))}${String(read(request, 'path'))}`;
  if (own instanceof URL && own.href === address) return true;
  const headers = read(request, 'headers');
  // One string or a flat list, by the version of undici.
  const text = Array.isArray(headers) ? headers.join('\n') : headers;
  return typeof text === 'string' && /application\/json,\s*text\/event-stream/i.test(text);
}

/** Names and values in turn, as bytes. */
function headerOf(headers: unknown, name: string): string | null {
  if (!Array.isArray(headers)) return null;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    if (String(headers[index]).toLowerCase() === name) return String(headers[index + 1]);
  }
  return null;
}
