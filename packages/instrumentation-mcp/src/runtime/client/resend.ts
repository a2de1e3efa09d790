import { ATTR_RETRY_ORIGIN, META_CALL_ID, META_TRACEPARENT, type RetryOrigin } from '@waybill/core';
import { isPlainObject, readString } from '../../patch/foreign.js';
import type { RuntimeCore } from '../core.js';
import { formatTraceparent } from '../propagation.js';
import { type ClientLeg, bindLeg, readingOf } from './leg.js';
import { settleLeg } from './settle.js';
import { startLeg } from './start.js';

/** A hand-over to fetch: the leg that it belongs to, and what fetch is given. */
export interface HandOver {
  readonly leg: ClientLeg;
  readonly init: unknown;
}

/**
 * The SDK hands the request of a leg to fetch: for the first time, or again after a redirect or an authorization. Sent
 * again it is a leg of its own, with a call id of its own: the copy of the body that fetch gets names it, the message
 * that the SDK keeps does not change. Undefined when the body is not the request of this leg.
 */
export function handOver(core: RuntimeCore, leg: ClientLeg, init: unknown): HandOver | undefined {
  const body = readString(init, 'body');
  if (leg.posts === 0 || leg.ids === undefined || leg.id === undefined) return { leg, init };
  if (body === undefined || !carries(core, leg, body)) return undefined;
  const status = leg.httpStatus ?? 0;
  const origin: RetryOrigin = status >= 300 && status < 400 ? 'redirect' : 'sdk';
  if (!leg.ownsSpan) {
    // The span of another instrumentation is one for all.
    leg.span.setAttribute(ATTR_RETRY_ORIGIN, origin);
    return { leg, init };
  }
  const next = resent(core, leg, leg.id, origin);
  return { leg: next, init: isPlainObject(init) ? { ...init, body: restamped(body, leg, next) } : init };
}

/** Whether a body is the request of this leg: without ids in it nothing else could tell, and nothing else is expected. */
function carries(core: RuntimeCore, leg: ClientLeg, body: string): boolean {
  return core.config().propagateIds === 'none' || body.includes(callIdMember(leg));
}

/** Ends a leg by the answer that made the SDK send its request again, and starts the next one. */
function resent(
  core: RuntimeCore,
  leg: ClientLeg,
  id: NonNullable<ClientLeg['id']>,
  origin: RetryOrigin,
): ClientLeg {
  const { connection, info, params, options, span } = leg;
  const status = leg.httpStatus;
  const code = status === undefined ? {} : { code: status };
  settleLeg(core, leg, { kind: 'rejected', cause: 'http_error', ...code }, { status });
  const next = startLeg(core, connection, { info, params, options, again: { leg, span, origin } });
  leg.next = next;
  bindLeg(next, id, readingOf(next, id));
  return next;
}

/** The text of the request with the ids of the next leg. Both are unique, so nothing else of the text can be meant. */
function restamped(body: string, leg: ClientLeg, next: ClientLeg): string {
  const named = body.replace(callIdMember(leg), () => callIdMember(next));
  const parent = (each: ClientLeg): string =>
    `"${META_TRACEPARENT}":"${formatTraceparent(each.span.spanContext())}"`;
  return named.replace(parent(leg), () => parent(next));
}

function callIdMember(leg: ClientLeg): string {
  return `"${META_CALL_ID}":"${leg.ids?.callId ?? ''}"`;
}
