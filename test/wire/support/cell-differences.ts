import type { Cell } from './cells.js';

/** Cells that cannot hold word for word as the matrix has them, and the measured reason. */
export interface Difference {
  readonly kind: DifferenceKind;
  readonly title: string;
  readonly why: string;
  /** Faults, and where not all of their measured columns differ the ones that do. */
  readonly cells: Readonly<Record<string, readonly Column[]>>;
}
export type DifferenceKind =
  'no_response_parsed' | 'told_by_timeout' | 'more_stages' | 'two_legs' | 'settled_before_post';
type Column = 'all' | Cell['transport'] | Cell['sdk'] | `${Cell['transport']} ${Cell['sdk']}`;

const all: readonly Column[] = ['all'];
const SSE: readonly Column[] = ['streamable_sse', 'legacy_sse'];
const AT_2025: readonly Column[] = ['v1_2025', 'v2_2025'];

export const DIFFERENCES: readonly Difference[] = [
  {
    kind: 'no_response_parsed',
    title: '`client.failed` or `client.timeout` where the matrix has `client.result_received`',
    why: 'The matrix uses the word for anything that came back. The stage says that a JSON-RPC response for this id was parsed, and none was.',
    cells: {
      'A3.rpc_error_http400': AT_2025,
      'C4.http_503_before_handler': all,
      'C5.proxy_502_after_effect': all,
      'C6.proxy_504_while_running': all,
      'F5.json_truncated_clean': all,
      'G1.malformed_json': all,
      'G2.wrong_id': all,
      'G3.missing_jsonrpc': all,
      'G4.result_and_error': all,
      'G5.concatenated': all,
      'G10.null_id_error': all,
      'G11.success_body_in_500': all,
      'G12.html_200': all,
      'G13.wrong_event_name': all,
      'J4.session_404': all,
    },
  },
  {
    kind: 'told_by_timeout',
    title: '`client.timeout` where the matrix has `client.failed`',
    why: 'No SDK tells its caller that an event stream has ended: the caller gives up after its whole timeout. `client.stream_closed` says at once what happened.',
    cells: {
      'D6.crash_before_commit': SSE,
      'D7.crash_after_commit': SSE,
      'D8.crash_after_receipt': SSE,
      'F2.reply_lost_cut': ['legacy_sse'],
      'F3.headers_then_cut': SSE,
    },
  },
  {
    kind: 'more_stages',
    title: 'stages beside those of the matrix',
    why: 'The matrix leaves out what happened between the first and the last stage: `client.stream_closed`, `client.stream_resumed`, or that the peer was told to stop (`client.cancel_sent`).',
    cells: {
      'F6.sse_clean_end_no_result': all,
      'F7.sse_cut_mid_event': all,
      'F8.sse_end_without_blank_line': all,
      'F9.sse_progress_then_cut': all,
      'F10.sse_resume_ok': all,
      'F11.sse_resume_405': all,
      'F14.accepted_202': AT_2025,
      'F16.stdio_half_line': all,
      'F17.stdio_stdout_closed': all,
    },
  },
  {
    kind: 'two_legs',
    title: 'two legs where the matrix has one call',
    why: 'The SDKs follow the redirect themselves: the first POST is a leg that ended with status 307, the second continues it with a call id of its own.',
    cells: { 'C7.redirect_307_replay': all },
  },
  {
    kind: 'settled_before_post',
    title: 'no flag `post_leg_error`',
    why: 'The result came on the stream 30 ms before the POST was answered 503. The call had settled by then, its span had ended, and its outcome does not change any more.',
    cells: { 'F15.post_error_but_stream_result': all },
  },
];

/** The kinds of differences that are listed for a cell. */
export function listedFor({ fault, transport, sdk }: Cell): readonly DifferenceKind[] {
  const names: readonly string[] = ['all', transport, sdk, `${transport} ${sdk}`];
  return DIFFERENCES.filter(({ cells }) => cells[fault]?.some((column) => names.includes(column))).map(
    ({ kind }) => kind,
  );
}

/** Which kinds of differences there are between the stages of the matrix and those of the spans. */
export function differencesOf(
  matrix: readonly string[],
  spans: readonly { readonly stages: readonly string[] }[],
): readonly DifferenceKind[] {
  const missing = [...matrix];
  const extra: string[] = [];
  for (const stage of spans.flatMap(({ stages }) => stages)) {
    const at = missing.indexOf(stage);
    if (at < 0) extra.push(stage);
    else missing.splice(at, 1);
  }
  if (missing.length === 0 && extra.length === 0) return [];
  if (extra.includes('client.sent')) return ['two_legs'];
  if (missing.includes('client.result_received')) return ['no_response_parsed'];
  if (missing.includes('client.failed')) return ['told_by_timeout'];
  return missing.length === 0 ? ['more_stages'] : [];
}
