import { mediaType } from '@waybill/core';
import {
  type AnyFunction,
  type Foreign,
  isForeign,
  isFunction,
  read,
  readString,
} from '../../patch/foreign.js';
import type { RuntimeCore } from '../core.js';
import { noteStatus } from './call-record.js';
import type { ClientLeg } from './leg.js';
import { tapStream } from './stream-tap.js';

/** Notes the head of an answer and watches how the SDK reads its body. The response object stays the same. */
export function tapResponse(
  core: RuntimeCore,
  leg: ClientLeg,
  response: unknown,
  sessionSent: boolean,
): void {
  const status = read(response, 'status');
  if (typeof status !== 'number' || !isForeign(response)) return;
  const header = (name: string): string | null => {
    const headers = read(response, 'headers');
    const get = read(headers, 'get');
    const value: unknown = isFunction(get) ? get.call(headers, name) : undefined;
    return typeof value === 'string' ? value : null;
  };
  leg.httpStatus = status;
  leg.exchangeOver = status === 202 || status === 204;
  noteStatus(leg, status);
  const contentType = header('content-type');
  leg.reading?.httpResponse({
    status,
    contentType,
    retryAfter: header('retry-after'),
    sessionSent,
    receivedAtMs: Date.now(),
  });
  if (leg.reading === undefined) return;
  if (status < 200 || status > 299) {
    replace(response, 'text', (original) => async () => {
      const text: unknown = await original();
      if (typeof text === 'string' && !leg.settled)
        core.guard('http.text', () => leg.reading?.errorBody(text));
      return text;
    });
    return;
  }
  if (mediaType(contentType) === 'application/json') {
    replace(response, 'json', (original) => () => readJson(core, leg, response, original));
  } else if (status === 202) {
    replace(response, 'text', (original) => async () => {
      const text: unknown = await original();
      if (typeof text === 'string') {
        core.guard('http.text', () => leg.reading?.bodyBytes(Buffer.byteLength(text)));
      }
      return text;
    });
  }
}

/** An own property over a method of the response, for the one reader that the SDK is. */
function replace(response: Foreign, key: string, make: (original: () => unknown) => AnyFunction): void {
  const method = read(response, key);
  if (!isFunction(method)) return;
  Object.defineProperty(response, key, {
    value: make(() => method.call(response)),
    configurable: true,
    enumerable: false,
    writable: true,
  });
}

/**
 * `response.json()` with its bytes counted on the way: a body that breaks off is told from one that never began. A
 * response that is not the platform's own is read by its own method.
 */
async function readJson(
  core: RuntimeCore,
  leg: ClientLeg,
  response: Foreign,
  original: () => unknown,
): Promise<unknown> {
  const body = response instanceof Response && !response.bodyUsed ? response.body : null;
  const counted =
    body === null
      ? undefined
      : core.guard('http.body', () =>
          tapStream(body, {
            chunk: (chunk) => {
              if (!leg.settled) core.guard('http.chunk', () => leg.reading?.bodyChunk(chunk));
            },
            end: (how) => {
              leg.exchangeOver = true;
              if (!leg.settled) core.guard('http.end', () => leg.reading?.channelEnd(how));
            },
          }),
        );
  try {
    const value: unknown = await (counted === undefined ? original() : new Response(counted).json());
    if (!leg.settled) core.guard('http.json', () => leg.reading?.jsonBody(value));
    return value;
  } catch (error) {
    if (!leg.settled && error instanceof SyntaxError) {
      core.guard('http.json', () => {
        const errorMessage = readString(error, 'message');
        leg.reading?.jsonBodyError(errorMessage === undefined ? {} : { errorMessage });
      });
    }
    throw error;
  }
}
