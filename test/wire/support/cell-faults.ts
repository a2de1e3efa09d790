import type { CallFlag, ClientStage, Outcome, Reason } from '@waybill/core';
import type { Sdk } from './cells.js';

/** What bytes on a transport must be read as, by every SDK. */
export interface WireFault {
  readonly outcome: Outcome;
  readonly reason?: Reason;
  readonly status?: number;
  readonly flags?: readonly CallFlag[];
  /** In their order; `client.cancel_sent` follows a timeout where the matrix saw the peer being told. */
  readonly stages: readonly ClientStage[];
  /** A response comes after the caller has given up. */
  readonly late?: true;
  /** Calls in flight at once. Default 1. */
  readonly calls?: number;
  /** Status of a redirect that the SDK follows: the call is a second leg. */
  readonly redirected?: number;
  readonly at?: Partial<Readonly<Record<Sdk, Partial<WireFault>>>>;
}

const answered = { stages: ['client.sent', 'client.result_received'] } as const;
const failed = { stages: ['client.sent', 'client.failed'] } as const;
const givenUp = { stages: ['client.sent', 'client.timeout'] } as const;
const streamLost = { stages: ['client.sent', 'client.stream_closed', 'client.timeout'] } as const;
const resumed = {
  stages: ['client.sent', 'client.stream_closed', 'client.stream_resumed', 'client.result_received'],
  flags: ['resumed'],
} as const;

const success = { outcome: 'TOOL_SUCCESS', ...answered } as const;
const twice = { ...success, flags: ['duplicate_response'] } as const;
const timeout = { outcome: 'TIMEOUT', ...givenUp } as const;
const http = (status: number): WireFault => ({ outcome: 'HTTP_ERROR', status, ...failed });
const transport = (reason: Reason): WireFault => ({ outcome: 'TRANSPORT_ERROR', reason, ...failed });
const lost = (reason: Reason, ...flags: CallFlag[]): WireFault => ({
  outcome: 'STREAM_INCOMPLETE',
  reason,
  flags,
  ...streamLost,
});
const cut = (reason: Reason): WireFault => ({ outcome: 'STREAM_INCOMPLETE', reason, ...failed });
const malformed = (reason: Reason): WireFault => ({ outcome: 'MALFORMED_JSON', reason, ...failed });
const envelope = (reason: Reason): WireFault => ({ outcome: 'INVALID_ENVELOPE', reason, ...failed });
const badResult = (reason: Reason): WireFault => ({ outcome: 'INVALID_TOOL_RESULT', reason, ...answered });

/** By `transport probe`: outcome, reason, flags and stages of the bytes of the measured cells. */
export const FAULTS_ON_THE_WIRE: Readonly<Record<string, WireFault>> = {
  'streamable_http ok': success,
  'streamable_http sse_ok': success,
  'streamable_http tool_error': { outcome: 'TOOL_ERROR', ...answered },
  'streamable_http rpc_error': { outcome: 'JSONRPC_ERROR', ...answered },
  // SDK 2.x takes the JSON-RPC error out of a 400 where the version has such errors.
  'streamable_http http_400_rpcerr': { ...http(400), at: { v2_2026: answered } },
  'streamable_http input_required': { outcome: 'INPUT_REQUIRED', ...answered },
  'streamable_http hang': timeout,
  'streamable_http hang_sse': timeout,
  'streamable_http late_json': { ...timeout, late: true },
  'streamable_http late_sse': { ...timeout, late: true },
  'streamable_http rst_before_headers': transport('reset'),
  'streamable_http close_before_headers': transport('reset'),
  'streamable_http http_404': http(404),
  'streamable_http http_500_ok_body': http(500),
  'streamable_http http_502_after': http(502),
  'streamable_http http_503': http(503),
  'streamable_http http_504_after': http(504),
  'streamable_http redirect_307': { ...success, redirected: 307 },
  'streamable_http http_202': { ...envelope('accepted_without_response'), ...givenUp },
  'streamable_http html_200': envelope('content_type'),
  'streamable_http malformed': malformed('syntax'),
  'streamable_http dup_concat': malformed('concatenated'),
  'streamable_http cut_mid_json_chunked_clean': malformed('syntax'),
  'streamable_http close_after_headers_json': cut('reset'),
  'streamable_http cut_mid_json': cut('partial_body'),
  'streamable_http wrong_id': { ...envelope('id_mismatch'), ...givenUp },
  'streamable_http null_id_error': { ...envelope('id_mismatch'), flags: ['uncorrelated_rpc_error'] },
  'streamable_http missing_jsonrpc': envelope('not_jsonrpc'),
  'streamable_http both': envelope('both_members'),
  // The SDKs take the response out of the array.
  'streamable_http array_batch': { ...envelope('batch'), ...answered },
  'streamable_http content_string': badResult('content'),
  'streamable_http content_missing': badResult('content'),
  'streamable_http unknown_resultType': badResult('result_type'),
  'streamable_http sse_end_no_event': lost('closed_before_response'),
  'streamable_http sse_cut_after_headers': lost('reset'),
  'streamable_http sse_progress_then_cut': lost('reset'),
  'streamable_http sse_cut_mid_event': lost('reset_mid_event'),
  'streamable_http sse_no_blank_line': lost('unterminated_event', 'payload_seen'),
  'streamable_http sse_result_wrong_event_name': lost(
    'undispatched_event',
    'payload_seen',
    'sse_unknown_event',
  ),
  'streamable_http sse_prime_end_replay': { outcome: 'TOOL_SUCCESS', ...resumed },
  'streamable_http sse_prime_end_405': lost('closed_before_response'),
  'streamable_http sse_dup_result': twice,
  'streamable_http sse_bad_json_event': { ...malformed('syntax'), ...givenUp },

  'stdio ok': success,
  'stdio rpc_error': { outcome: 'JSONRPC_ERROR', ...answered },
  'stdio out_of_order': { ...success, calls: 2 },
  'stdio dup': twice,
  'stdio garbage_line': success,
  'stdio hang': timeout,
  'stdio late': { ...timeout, late: true },
  'stdio exit_before': transport('closed'),
  'stdio sigkill_before': transport('closed'),
  // The SDKs do not look at the end of stdout while the process lives.
  'stdio stdout_close': { ...transport('closed'), ...givenUp },
  'stdio half_line_stay': { outcome: 'STREAM_INCOMPLETE', reason: 'partial_line', ...givenUp },
  'stdio malformed_only': { ...malformed('syntax'), ...givenUp },
  'stdio wrong_id': { ...envelope('id_mismatch'), ...givenUp },

  'legacy_sse ok': success,
  'legacy_sse dup': twice,
  'legacy_sse post_503': http(503),
  'legacy_sse post_close': transport('reset'),
  'legacy_sse post_503_but_reply': success,
  'legacy_sse accepted_no_reply': timeout,
  'legacy_sse accepted_stream_end': lost('closed_before_response'),
  'legacy_sse accepted_stream_cut': lost('reset'),
  'legacy_sse half_event_cut': lost('reset_mid_event'),
  'legacy_sse bad_json': { ...malformed('syntax'), ...givenUp },
};
