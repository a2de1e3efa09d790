/**
 * Tempo's HTTP API: a search names the traces, each is then fetched whole. The search is never evidence itself: it
 * returns the first traces that it finds, with their spans trimmed.
 */
import { decodeMessage, ProtobufError } from '../../protobuf/decode.js';
import { TEMPO_TRACE_BY_ID, TRACES, type Message } from '../../protobuf/schema.js';
import { isObject } from '../exact-json.js';
import { below, get, shown, type Answer } from './http.js';
import type { RemoteOptions, RemoteSink } from './types.js';
import { eachWindow, rangeOf, type Window } from './windows.js';

/** Search takes whole seconds. */
const SMALLEST_MS = 1_000;
const PROTOBUF_TYPE = 'application/protobuf';

/** Traces in which a tool was called, whoever recorded it. */
const DEFAULT_QUERY =
  '{ span.mcp.method.name != nil || span.waybill.call.id != nil || span.gen_ai.operation.name = "execute_tool" }';

/** Fetches all traces of the time range that the query selects. */
export async function fetchTempo(base: URL, options: RemoteOptions, sink: RemoteSink): Promise<void> {
  const given = rangeOf(options.from, options.to);
  const range = {
    from: Math.floor(given.from / SMALLEST_MS) * SMALLEST_MS,
    to: Math.ceil(given.to / SMALLEST_MS) * SMALLEST_MS,
  };
  const limit = options.pageTraces ?? 100;
  const seen = new Set<string>();
  let requests = 0;
  await eachWindow(
    range,
    SMALLEST_MS,
    async (window, last) => {
      const page = await search(base, window, limit, options);
      requests += 1;
      if (page.kind === 'failed') {
        sink.problem({
          kind: 'failed',
          reason: page.reason,
          remedy:
            'check the address and the headers (X-Scope-OrgID for a tenant), or ask for a shorter time range',
        });
        return 'whole';
      }
      if (page.ids.length >= limit && !last) return 'full';
      if (page.ids.length >= limit) {
        sink.problem({
          kind: 'partial',
          reason: `Tempo names ${limit} traces within one second, the most that was asked for`,
          remedy: 'raise the number of traces of a page',
        });
      }
      for (const id of page.ids) {
        if (seen.has(id)) continue;
        seen.add(id);
        await fetchTrace(base, id, options, sink);
        requests += 1;
      }
      return 'whole';
    },
    (fraction) => options.onProgress?.({ fraction, requests, traces: seen.size }),
  );
}

type Ids =
  | { readonly kind: 'ids'; readonly ids: readonly string[] }
  | { readonly kind: 'failed'; readonly reason: string };

async function search(base: URL, window: Window, limit: number, options: RemoteOptions): Promise<Ids> {
  const url = below(base, '/api/search', {
    q: options.query ?? DEFAULT_QUERY,
    start: String(window.from / 1_000),
    end: String(window.to / 1_000),
    limit: String(limit),
    spss: '1',
  });
  const fetched = await get(url, 'application/json', options);
  if (fetched.kind === 'failed') return fetched;
  const { answer } = fetched;
  if (answer.status !== 200) return { kind: 'failed', reason: `${shown(url)} answered ${answer.status}` };
  let body: unknown;
  try {
    body = JSON.parse(answer.body.toString('utf8'));
  } catch {
    return { kind: 'failed', reason: `${shown(url)} answered no JSON` };
  }
  const traces =
    isObject(body) && Array.isArray(body['traces']) ? (body['traces'] as readonly unknown[]) : [];
  const ids = traces
    .map((trace) => (isObject(trace) ? trace['traceID'] : undefined))
    .filter((id) => typeof id === 'string');
  return { kind: 'ids', ids };
}

/** Version 2 says when it left spans out; version 1 is asked where that is not there. */
async function fetchTrace(base: URL, id: string, options: RemoteOptions, sink: RemoteSink): Promise<void> {
  let reason = '';
  for (const [path, message] of [
    [`/api/v2/traces/${encodeURIComponent(id)}`, TEMPO_TRACE_BY_ID],
    [`/api/traces/${encodeURIComponent(id)}`, TRACES],
  ] as const) {
    const url = below(base, path, {});
    const fetched = await get(url, PROTOBUF_TYPE, options);
    if (fetched.kind === 'failed') {
      reason = fetched.reason;
      break;
    }
    const { answer } = fetched;
    // 206 is how newer versions mark a partial answer of version 2.
    if (answer.status === 200 || answer.status === 206) {
      const line = lineOf(answer, message);
      if (line !== undefined) {
        sink.line(line);
        return;
      }
    }
    reason = `${shown(url)} answered ${answer.status}${answer.status === 200 ? ' and no trace' : ''}`;
  }
  sink.problem({
    kind: 'failed',
    reason,
    remedy: 'ask again later: a trace that the search names may not be readable yet',
  });
}

/** A protobuf answer as OTLP JSON; a JSON answer as it is. Undefined for anything else. */
function lineOf(answer: Answer, message: Message): string | undefined {
  if (answer.contentType.includes('json')) return answer.body.toString('utf8').replace(/[\r\n]+/g, ' ');
  try {
    const { value, known } = decodeMessage(answer.body, message, { integers: 'text' });
    return known === 0 ? undefined : JSON.stringify(value);
  } catch (error) {
    if (error instanceof ProtobufError) return undefined;
    throw error;
  }
}
