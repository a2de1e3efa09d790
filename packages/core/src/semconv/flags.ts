/** Facts beside an outcome, carried by client spans in `waybill.flags`. */
export const CALL_FLAGS = [
  'late_result',
  'duplicate_response',
  'wrong_stream',
  'resumed',
  'payload_seen',
  'uncorrelated_rpc_error',
  'accepted_with_body',
  'post_leg_error',
  'sse_foreign_payload',
  'sse_unknown_event',
  'bom',
] as const;
export type CallFlag = (typeof CALL_FLAGS)[number];

/** Facts beside a verdict, one set per operation. */
export const OPERATION_FLAGS = [
  'reply_lost',
  'false_failure',
  'trace_missing_client',
  'trace_missing_server',
  'superseded',
  'receipt_overdue',
  'not_read_back',
  'unsealed',
  'partial_effect',
  'tamper_suspected',
  'weak_join',
] as const;
export type OperationFlag = (typeof OPERATION_FLAGS)[number];
