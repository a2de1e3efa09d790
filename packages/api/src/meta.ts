/**
 * The keys of `@waybill/core`'s semconv/meta, which this package may not import: it depends on nothing. A test of the
 * instrumentation holds the two against each other.
 */
export const META_RUN_ID = 'io.waybill/runId';
export const META_CALL_ID = 'io.waybill/callId';
export const META_OPERATION_ID = 'io.waybill/operationId';

const ACCEPTABLE =
  /^[\p{L}\p{M}\p{N}\p{P}\p{S}](?:[\p{L}\p{M}\p{N}\p{P}\p{S} ]*[\p{L}\p{M}\p{N}\p{P}\p{S}])?$/u;

/** Most ids: the general expression costs ten times as much, and it is asked for each call. */
const PLAIN = /^[!-~]+$/;

export function isAcceptableId(value: unknown): value is string {
  if (typeof value !== 'string' || value.length === 0 || value.length > 200) return false;
  return PLAIN.test(value) || ACCEPTABLE.test(value);
}
