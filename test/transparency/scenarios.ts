import { readFileSync } from 'node:fs';
import type { HttpReply } from '@waybill/lab';
import type { CallSpec } from '../wire/support/application.js';
import type { Scenario } from '../wire/support/play.js';

/** Waits for what a client only learns by its timeout; elsewhere long enough for a busy machine. */
const SHORT_MS = 2500;
const LONG_MS = 15_000;
/** Time for the notification of a cancellation, and for what the peer still sends. */
const LINGER_MS = 1000;

const json = (status: number, body: unknown): HttpReply => ({
  status,
  headers: { 'content-type': 'application/json' },
  chunks: [[0, typeof body === 'string' ? body : JSON.stringify(body).replaceAll('"$ID"', '$ID')]],
  end: 'fin',
});
const result = (value: object): object => ({ jsonrpc: '2.0', id: '$ID', result: value });
const text = (words: string): object[] => [{ type: 'text', text: words }];
const done = { resultType: 'complete', content: text('ok'), isError: false };
const ok = json(200, result(done));
const invalidParams = { code: -32602, message: 'synthetic invalid params' };

/** The eleven synthetic replies, each with the outcomes that its calls must have. */
export const eleven: readonly {
  readonly name: string;
  readonly replies: readonly HttpReply[];
  readonly outcomes: readonly string[];
  readonly waits?: true;
}[] = [
  { name: 'a complete result', replies: [ok], outcomes: ['TOOL_SUCCESS'] },
  {
    name: '503, and 200 to a second call',
    replies: [json(503, { note: 'synthetic outage' }), ok],
    outcomes: ['HTTP_ERROR', 'TOOL_SUCCESS'],
  },
  {
    name: 'a JSON-RPC error with 200',
    replies: [json(200, { jsonrpc: '2.0', id: '$ID', error: invalidParams })],
    outcomes: ['JSONRPC_ERROR'],
  },
  {
    name: 'a result with isError',
    replies: [json(200, result({ resultType: 'complete', content: text('failed'), isError: true }))],
    outcomes: ['TOOL_ERROR'],
  },
  { name: '500 with the body of a success', replies: [json(500, result(done))], outcomes: ['HTTP_ERROR'] },
  { name: 'a body that is not JSON', replies: [json(200, '{unclosed')], outcomes: ['MALFORMED_JSON'] },
  {
    name: 'a result and an error in one response',
    replies: [json(200, { ...result(done), error: invalidParams })],
    outcomes: ['INVALID_ENVELOPE'],
  },
  {
    name: 'a result for another id',
    replies: [json(200, { ...result(done), id: 99 })],
    outcomes: ['INVALID_ENVELOPE'],
    waits: true,
  },
  {
    name: 'a wish for input',
    replies: [
      json(
        200,
        result({
          resultType: 'input_required',
          inputRequests: {
            approval: {
              method: 'elicitation/create',
              params: {
                mode: 'form',
                message: 'synthetic input',
                requestedSchema: { type: 'object', properties: {} },
              },
            },
          },
        }),
      ),
    ],
    outcomes: ['INPUT_REQUIRED'],
  },
  {
    name: 'a result of before resultType',
    replies: [json(200, result({ content: text('legacy ok'), isError: false }))],
    outcomes: ['TOOL_SUCCESS'],
  },
  {
    name: 'content that is not an array',
    replies: [json(200, result({ resultType: 'complete', content: 'not-an-array', isError: false }))],
    outcomes: ['INVALID_TOOL_RESULT'],
  },
];

const call = (timeout: number, more: Partial<CallSpec> = {}): CallSpec => ({
  params: { name: 't', _meta: { 'com.example/own': { deep: [1, 'two'] } } },
  options: { timeout },
  ...more,
});

/** Each of the eleven as the text has it: one call after the other. */
export const elevenInTurn: readonly Scenario[] = eleven.map(({ name, replies, outcomes, waits }) => ({
  name,
  replies: replies.map((reply) => ({ reply })),
  calls: outcomes.map(() => call(waits ? SHORT_MS : LONG_MS)),
  sequence: true,
  sessionId: 'session-1',
}));

interface Probe {
  readonly probe: string;
  readonly transport: string;
  readonly reply: HttpReply;
}
const probes = JSON.parse(
  readFileSync(new URL('../cases/probes.json', import.meta.url), 'utf8'),
) as readonly Probe[];

export function probe(name: string): HttpReply {
  const found = probes.find(({ probe, transport }) => probe === name && transport === 'streamable_http');
  if (found === undefined) throw new Error(`no bytes for ${name}`);
  return found.reply;
}

/** What fails or ends otherwise than by a response, and whether the client learns it before its timeout. */
const endings: readonly (readonly [name: string, reply: HttpReply, 'at once' | 'by timeout'])[] = [
  ['no byte of a reply', probe('hang'), 'by timeout'],
  ['headers of a stream and nothing more', probe('hang_sse'), 'by timeout'],
  ['202 to a call', probe('http_202'), 'by timeout'],
  ['204 to a call', probe('http_204'), 'at once'],
  ['429 with Retry-After', probe('http_429'), 'at once'],
  ['401', probe('http_401'), 'at once'],
  ['HTML with 200', probe('html_200'), 'at once'],
  ['a stream that ends cleanly', probe('sse_end_no_event'), 'by timeout'],
  ['a stream that is cut after its headers', probe('sse_cut_after_headers'), 'by timeout'],
  ['a stream that is cut in an event', probe('sse_cut_mid_event'), 'by timeout'],
  ['a stream that is cut after progress', probe('sse_progress_then_cut'), 'by timeout'],
  ['a stream that is cut after the result', probe('sse_result_then_cut'), 'at once'],
  ['a stream with the result twice', probe('sse_dup_result'), 'at once'],
  ['a stream that is resumed', probe('sse_prime_end_replay'), 'at once'],
  ['a reset before any byte', probe('rst_before_headers'), 'at once'],
  ['a close before any byte', probe('close_before_headers'), 'at once'],
  ['a close in a JSON body', probe('cut_mid_json'), 'at once'],
  ['a redirect', probe('redirect_307'), 'at once'],
];

/**
 * Every ending with three calls that start in one turn: a result at once to the second, then the fault to the first,
 * then the fault to the third. So the order of settling is the peer's, and the same in each run.
 */
const inParallel: readonly Scenario[] = [
  ...eleven.map(({ name, replies, waits }) => ({ name, replies, waits: waits === true })),
  ...endings.map(([name, reply, when]) => ({ name, replies: [reply], waits: when === 'by timeout' })),
].map(({ name, replies, waits }) => {
  const fault = replies[0] ?? ok;
  const last = replies[1] ?? fault;
  const wait = waits ? SHORT_MS : LONG_MS;
  return {
    name: `${name}, among calls in parallel`,
    replies: [
      { reply: fault, after: 1, pauseMs: 300 },
      { reply: ok },
      { reply: last, after: 0, pauseMs: 300 },
    ],
    calls: [call(wait, { progress: true }), call(LONG_MS), call(wait)],
    lingerMs: waits ? LINGER_MS : 500,
  };
});

const slow: HttpReply = { ...ok, headers_delay_ms: 20_000 };
/** What the application does itself. */
const deeds: readonly Scenario[] = [
  { name: 'aborts a call', calls: [call(LONG_MS, { abortAfterMs: 200, abortReason: 'stop' })] },
  {
    name: 'aborts a call with an error of its own',
    calls: [call(LONG_MS, { abortAfterMs: 200, abortReason: 'object' })],
  },
  {
    name: 'aborts a call before it is made',
    calls: [call(LONG_MS, { abortAfterMs: 0, abortReason: 'early' })],
  },
  {
    name: 'aborts one of three calls',
    calls: [call(SHORT_MS), call(LONG_MS, { abortAfterMs: 200, abortReason: 'stop' }), call(SHORT_MS)],
  },
  {
    name: 'closes its client with calls in flight',
    calls: [call(LONG_MS), call(LONG_MS)],
    closeAfterMs: 200,
  },
  { name: 'forgets a call that times out', calls: [call(SHORT_MS, { forget: true })] },
].map((deed) => ({ lingerMs: LINGER_MS, replies: [{ reply: slow }], ...deed }));

export const scenarios: readonly Scenario[] = [
  ...elevenInTurn,
  ...inParallel,
  ...deeds,
  {
    name: 'forgets a call that is answered 503',
    replies: [{ reply: probe('http_503') }],
    calls: [call(SHORT_MS, { forget: true })],
  },
  {
    name: 'has a fetch of its own that throws',
    replies: [{ reply: ok }],
    calls: [call(LONG_MS)],
    fetch: 'throws',
  },
  {
    name: 'has a fetch of its own that passes on',
    replies: [{ reply: ok }],
    calls: [call(LONG_MS)],
    fetch: 'passes',
  },
  {
    name: 'waits as long as there is progress',
    replies: [{ reply: probe('sse_progress_then_cut') }],
    calls: [
      call(SHORT_MS, {
        progress: true,
        options: { timeout: SHORT_MS, resetTimeoutOnProgress: true, maxTotalTimeout: 3000 },
      }),
    ],
  },
  {
    name: 'gives up before the reply comes',
    replies: [{ reply: probe('late_sse') }, { reply: probe('late_json') }],
    calls: [call(600), call(600)],
    lingerMs: 1200,
  },
];
