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

/** What each call flag says, in one sentence. */
export const CALL_FLAG_BRIEFS: Readonly<Record<CallFlag, string>> = {
  late_result: 'The response came after the caller had stopped waiting.',
  duplicate_response: 'More than one response for this request id came.',
  wrong_stream: 'The response came on another stream than the one that the request opened.',
  resumed: 'The reply stream was opened again with the id of its last event.',
  payload_seen: 'Bytes of a response were there, but no complete response reached the caller.',
  uncorrelated_rpc_error: 'A JSON-RPC error came whose id is not that of the request.',
  accepted_with_body: 'Status 202 came with a body.',
  post_leg_error: 'The POST failed or was refused, and a response came all the same.',
  sse_foreign_payload: 'The stream carried data that is no JSON-RPC message.',
  sse_unknown_event: 'The stream carried an event name that the client does not dispatch.',
  bom: 'The reply began with a byte order mark.',
};

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

/** What each operation flag says, in one sentence. */
export const OPERATION_FLAG_BRIEFS: Readonly<Record<OperationFlag, string>> = {
  reply_lost:
    'No JSON-RPC response reached the caller on any leg, although the server worked on the request.',
  false_failure: 'A response said no, and the effect is there.',
  trace_missing_client: 'No client span is in the evidence.',
  trace_missing_server: 'No server span is in the evidence, although the server took part.',
  superseded: 'The effect was applied, and a later write has replaced it.',
  receipt_overdue: 'The effect is there, and its receipt did not come within the grace period.',
  not_read_back: 'A bound receipt proves the commit; nobody read the target afterwards.',
  unsealed: 'The receipt is in no signed checkpoint of its ledger yet.',
  partial_effect: 'The target holds a part of the effect.',
  tamper_suspected: 'A receipt fails its signature or its proof of inclusion.',
  weak_join: 'Both sides were joined by trace, request id and tool only.',
};
