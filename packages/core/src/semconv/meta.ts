/**
 * Keys in `params._meta` and `result._meta`. One prefix in one place: it is to be changed before the first publish if
 * the domain is not the project's.
 */
export const META_PREFIX = 'io.waybill/';
export const META_RUN_ID = 'io.waybill/runId';
export const META_CALL_ID = 'io.waybill/callId';
export const META_OPERATION_ID = 'io.waybill/operationId';
/**
 * Where the operation id came from, one of `OPERATION_SOURCES`. Sent whenever that is not `caller`: a server that does
 * not know that an id was made up for this one call would take it for a proof that a repetition is safe.
 */
export const META_OPERATION_SOURCE = 'io.waybill/operationSource';
/** The id of the receipt that the call wrote, beside the echo of the call id: only when the request carried ours. */
export const META_RECEIPT = 'io.waybill/receipt';
/** Trace context in `_meta` is unprefixed (SEP-414). */
export const META_TRACEPARENT = 'traceparent';
export const META_TRACESTATE = 'tracestate';
export const META_BAGGAGE = 'baggage';

/** Ids from outside are capped: longer or unprintable ones are dropped and counted. */
export const MAX_REMOTE_ID_LENGTH = 200;

/** Most ids: the general expression costs ten times as much, and ids are looked at for each call. */
const PLAIN = /^[!-~]+$/;
const ACCEPTABLE =
  /^[\p{L}\p{M}\p{N}\p{P}\p{S}](?:[\p{L}\p{M}\p{N}\p{P}\p{S} ]*[\p{L}\p{M}\p{N}\p{P}\p{S}])?$/u;

/** True for 1 to 200 printable ASCII or Unicode letters, marks, numbers, punctuation, symbols and inner spaces. */
export function isAcceptableId(value: unknown): value is string {
  if (typeof value !== 'string' || value.length === 0 || value.length > MAX_REMOTE_ID_LENGTH) return false;
  return PLAIN.test(value) || ACCEPTABLE.test(value);
}
