/**
 * Jaeger's query API. Version 3 where it is there: the search of version 1 was removed after v2.20. Parameters go out in
 * snake_case, which every version of API v3 understands.
 */
import { isObject } from '../exact-json.js';
import { below, get, shown, type Answer } from './http.js';
import type { RemoteOptions, RemoteSink } from './types.js';
import { eachWindow, rangeOf, type Window } from './windows.js';

const JSON_TYPE = 'application/json';
/** The smallest window in milliseconds. */
const SMALLEST_MS = 1;

type Version = 'v1' | 'v3';

/** Fetches all traces of the time range, service by service. */
export async function fetchJaeger(base: URL, options: RemoteOptions, sink: RemoteSink): Promise<void> {
  const found = await servicesOf(base, options);
  if (found.kind === 'failed') {
    sink.problem({
      kind: 'failed',
      reason: found.reason,
      remedy: 'check the address of the Jaeger query service',
    });
    return;
  }
  const services = options.services ?? found.services;
  const range = rangeOf(options.from, options.to);
  const limit = options.pageTraces ?? 100;
  let requests = 0;
  let traces = 0;
  for (const [index, service] of services.entries()) {
    await eachWindow(
      range,
      SMALLEST_MS,
      async (window, last) => {
        const page = await search(base, found.version, service, window, limit, options);
        requests += 1;
        if (page.kind === 'failed') {
          sink.problem({
            kind: 'failed',
            reason: `${page.reason} (service ${service}, ${spoken(window)})`,
            remedy: 'ask for a shorter time range, or export these traces as a file',
          });
          return 'whole';
        }
        if (page.traces >= limit && !last) return 'full';
        if (page.traces >= limit) {
          sink.problem({
            kind: 'partial',
            reason: `Jaeger holds more than ${limit} traces of ${service} in ${spoken(window)}`,
            remedy: 'raise the number of traces of a page',
          });
        }
        for (const line of page.lines) sink.line(line);
        traces += page.traces;
        return 'whole';
      },
      (fraction) =>
        options.onProgress?.({ fraction: (index + fraction) / services.length, requests, traces }),
    );
  }
}

type Services =
  | { readonly kind: 'services'; readonly version: Version; readonly services: readonly string[] }
  | { readonly kind: 'failed'; readonly reason: string };

async function servicesOf(base: URL, options: RemoteOptions): Promise<Services> {
  let reason = '';
  for (const [version, path, member] of [
    ['v3', '/api/v3/services', 'services'],
    ['v1', '/api/services', 'data'],
  ] as const) {
    const url = below(base, path, {});
    const fetched = await get(url, JSON_TYPE, options);
    if (fetched.kind === 'failed') return fetched;
    const body = jsonOf(fetched.answer);
    const names = isObject(body) ? body[member] : undefined;
    if (fetched.answer.status === 200 && Array.isArray(names)) {
      return { kind: 'services', version, services: names.filter((name) => typeof name === 'string').sort() };
    }
    reason = `${shown(url)} answered ${fetched.answer.status} and no list of services`;
  }
  return { kind: 'failed', reason };
}

type Page =
  | { readonly kind: 'page'; readonly lines: readonly string[]; readonly traces: number }
  | { readonly kind: 'failed'; readonly reason: string };

async function search(
  base: URL,
  version: Version,
  service: string,
  window: Window,
  limit: number,
  options: RemoteOptions,
): Promise<Page> {
  const url =
    version === 'v3'
      ? below(base, '/api/v3/traces', {
          'query.service_name': service,
          'query.start_time_min': new Date(window.from).toISOString(),
          'query.start_time_max': new Date(window.to).toISOString(),
          'query.num_traces': String(limit),
          // Without it Jaeger moves times and drops spans that look like copies.
          'query.raw_traces': 'true',
        })
      : below(base, '/api/traces', {
          service,
          start: String(window.from * 1_000),
          end: String(window.to * 1_000),
          limit: String(limit),
          raw: 'true',
        });
  const fetched = await get(url, JSON_TYPE, options);
  if (fetched.kind === 'failed') return fetched;
  const { answer } = fetched;
  // Version 3 answers 404 where nothing was found.
  if (answer.status === 404) return { kind: 'page', lines: [], traces: 0 };
  if (answer.status !== 200) return { kind: 'failed', reason: `${shown(url)} answered ${answer.status}` };
  const lines = linesOf(answer.body);
  return { kind: 'page', lines, traces: countTraces(answer.body) };
}

/** One document, or one chunk a line as a gateway streams them; each becomes a line. */
function linesOf(body: Buffer): readonly string[] {
  const text = body.toString('utf8');
  if (isJson(text)) return [oneLine(text)];
  return text.split('\n').filter((line) => line.trim() !== '');
}

/** JSON has line breaks only between tokens. */
function oneLine(text: string): string {
  return text.replace(/[\r\n]+/g, ' ');
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const TRACE_ID = /"(?:traceID|traceId|trace_id)"\s*:\s*"([^"]+)"/g;

/** Distinct trace ids; those of links may make it too large, which costs a smaller window and loses nothing. */
function countTraces(body: Buffer): number {
  const ids = new Set<string>();
  for (const match of body.toString('latin1').matchAll(TRACE_ID)) ids.add(match[1] ?? '');
  return ids.size;
}

function jsonOf(answer: Answer): unknown {
  try {
    return JSON.parse(answer.body.toString('utf8'));
  } catch {
    return undefined;
  }
}

function spoken(window: Window): string {
  return `${new Date(window.from).toISOString()} to ${new Date(window.to).toISOString()}`;
}
