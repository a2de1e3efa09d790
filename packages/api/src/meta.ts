/**
 * The keys of `@waybill/core`'s semconv/meta, which this package may not import: it depends on nothing. A test of the
 * instrumentation holds the two against each other.
 */
export const META_RUN_ID = 'io.waybill/runId';
export const META_CALL_ID = 'io.waybill/callId';
export const META_OPERATION_ID = 'io.waybill/operationId';

const ACCEPTABLE =
  /^[\p{L}\p{M}\p{N}\p{P}\p{S}](?:[\p{L}\p{M}\p{N}\p{P}\p{S} ]*[\p{L}\p{M}\p{N}\p{P}\p{S}])?$/u;

export function isAcceptableId(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= 200 && ACCEPTABLE.test(value);
}
