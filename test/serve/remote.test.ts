/**
 * Jaeger and Tempo by address. The fake backends answer in the shapes of Jaeger 2.13 (API v3), Jaeger 1.6x (API v1) and
 * Tempo 2.8 (tempopb.TraceByIDResponse, /api/search); no live backend was asked.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  headersOfEnvironment,
  readInputs,
  type InputSummary,
  type ReadOptions,
  type Span,
} from '@waybill/audit';
import { afterEach, describe, expect, it } from 'vitest';

const FROM = new Date('2026-09-30T10:00:00Z');
const TO = new Date('2026-09-30T11:00:00Z');

interface Trace {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Forty traces, all within the first two minutes of the range. */
const TRACES: readonly Trace[] = Array.from({ length: 40 }, (_, index) => ({
  id: (index + 1).toString(16).padStart(32, '0'),
  at: FROM.getTime() + index * 3_000,
}));

const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  }
});

type Handler = (url: URL, request: IncomingMessage, response: ServerResponse) => void;

async function backend(handler: Handler): Promise<{ origin: string; requests: URL[] }> {
  const requests: URL[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    requests.push(url);
    handler(url, request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

function otlp(traces: readonly Trace[]): object {
  return {
    resourceSpans: [
      {
        scopeSpans: [
          {
            spans: traces.map(({ id, at }) => ({
              traceId: id,
              spanId: id.slice(16),
              name: `t${Number.parseInt(id, 16)}`,
              startTimeUnixNano: `${at}000000`,
            })),
          },
        ],
      },
    ],
  };
}

async function read(
  name: string,
  options: ReadOptions = {},
): Promise<{ spans: Span[]; gaps: string[]; damages: string[]; input: InputSummary | undefined }> {
  const spans: Span[] = [];
  const gaps: string[] = [];
  const damages: string[] = [];
  const { inputs } = await readInputs(
    [name],
    {
      span: (span) => spans.push(span),
      log: () => undefined,
      damage: ({ reason }) => damages.push(reason),
      gap: ({ note }) => gaps.push(note),
    },
    { ...options, remote: { from: FROM, to: TO, retryDelayMs: 1, ...options.remote } },
  );
  return { spans, gaps, damages, input: inputs[0] };
}

const ALL = TRACES.map(({ id }) => Number.parseInt(id, 16));
const numbers = (spans: readonly Span[]): number[] =>
  [...new Set(spans.map(({ traceId }) => Number.parseInt(traceId, 16)))].sort((a, b) => a - b);

const within = (from: number, to: number): readonly Trace[] =>
  TRACES.filter(({ at }) => at >= from && at < to);

function jaeger3(url: URL, _request: IncomingMessage, response: ServerResponse): void {
  if (url.pathname === '/base/api/v3/services') {
    json(response, 200, { services: ['agent'] });
    return;
  }
  if (url.pathname !== '/base/api/v3/traces') {
    json(response, 404, { error: 'no such page' });
    return;
  }
  const query = (key: string): string => url.searchParams.get(`query.${key}`) ?? '';
  const found = within(Date.parse(query('start_time_min')), Date.parse(query('start_time_max')));
  if (found.length === 0) json(response, 404, { error: { httpCode: 404, message: 'No traces found' } });
  else json(response, 200, { result: otlp(found.slice(0, Number(query('num_traces')))) });
}

describe('Jaeger', () => {
  it('a full window is halved until every trace of the range was given', async () => {
    const { origin, requests } = await backend(jaeger3);
    const fractions: number[] = [];
    const { spans, damages, gaps, input } = await read(`jaeger+${origin}/base`, {
      remote: { pageTraces: 10, onProgress: ({ fraction }) => fractions.push(fraction) },
    });
    expect({ numbers: numbers(spans), damages, gaps }).toEqual({ numbers: ALL, damages: [], gaps: [] });
    expect(input).toMatchObject({ format: 'otlp-jsonl', path: `jaeger+${origin}/base` });
    expect(fractions.at(-1)).toBe(1);
    expect([...fractions].sort((a, b) => a - b)).toEqual(fractions);
    expect(requests.some((url) => url.searchParams.get('query.raw_traces') === 'true')).toBe(true);
  });

  it('more traces in one millisecond than a page holds are a partial answer', async () => {
    const { origin } = await backend(jaeger3);
    const { gaps, spans } = await read(`jaeger+${origin}/base`, { remote: { pageTraces: 1 } });
    expect(numbers(spans)).toEqual(ALL);
    expect(gaps).toHaveLength(40);
    expect(gaps[0]).toContain('more than 1 traces of agent');
  });

  it('version 1 is asked where there is no version 3', async () => {
    const { origin, requests } = await backend((url, _request, response) => {
      if (url.pathname === '/api/services') json(response, 200, { data: ['agent'] });
      else if (url.pathname === '/api/traces') {
        const micros = (key: string): number => Number(url.searchParams.get(key)) / 1_000;
        const found = within(micros('start'), micros('end')).slice(0, Number(url.searchParams.get('limit')));
        json(response, 200, {
          data: found.map(({ id, at }) => ({
            traceID: id,
            spans: [
              {
                traceID: id,
                spanID: '1',
                operationName: 'n',
                startTime: at * 1_000,
                duration: 1,
                processID: 'p1',
              },
            ],
            processes: { p1: { serviceName: 'agent' } },
          })),
          errors: null,
        });
      } else json(response, 404, {});
    });
    const { spans, damages } = await read(`jaeger+${origin}`, { remote: { pageTraces: 7 } });
    expect({ numbers: numbers(spans), damages }).toEqual({ numbers: ALL, damages: [] });
    expect(requests.at(-1)?.searchParams.get('raw')).toBe('true');
  });

  it('an address without Jaeger is named', async () => {
    const { origin } = await backend((_url, _request, response) => {
      json(response, 404, {});
    });
    const { damages } = await read(`jaeger+${origin}`);
    expect(damages).toHaveLength(1);
    expect(damages[0]).toContain(`${origin}/api/services answered 404`);
  });
});

/** A message field of protobuf with up to 127 bytes. */
function field(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
}

/** tempopb.Trace with one span. */
function tempoTrace(id: string): Buffer {
  const span = Buffer.concat([
    field(1, Buffer.from(id, 'hex')),
    field(2, Buffer.from(id.slice(16), 'hex')),
    field(5, Buffer.from('tools/call x')),
  ]);
  return field(1, field(2, field(2, span)));
}

function tempo(partial: string): Handler {
  return (url, _request, response) => {
    if (url.pathname === '/api/search') {
      const seconds = (key: string): number => Number(url.searchParams.get(key)) * 1_000;
      const found = within(seconds('start'), seconds('end')).slice(0, Number(url.searchParams.get('limit')));
      json(response, 200, {
        traces: found.map(({ id }) => ({ traceID: id.replace(/^0+/, '') })),
        metrics: {},
      });
      return;
    }
    const id = (/^\/api\/v2\/traces\/(.+)$/.exec(url.pathname)?.[1] ?? '').padStart(32, '0');
    const answer = field(1, tempoTrace(id));
    const status = Buffer.concat([Buffer.from([0x18, 0x01]), field(4, Buffer.from('too large'))]);
    response.writeHead(200, { 'content-type': 'application/protobuf' });
    response.end(id === partial ? Buffer.concat([answer, status]) : answer);
  };
}

describe('Tempo', () => {
  it('the search names the traces, each is fetched whole; PARTIAL is a gap', async () => {
    const { origin, requests } = await backend(tempo('7'.padStart(32, '0')));
    const { spans, gaps, damages } = await read(`tempo+${origin}`, { remote: { pageTraces: 10 } });
    expect({ numbers: numbers(spans), damages }).toEqual({ numbers: ALL, damages: [] });
    expect(gaps).toEqual(['the backend answered with a part of the trace only: too large']);
    expect(requests[0]?.searchParams.get('q')).toContain('span.mcp.method.name != nil');
  });

  it('version 1 (JSON, batches, base64 ids) is asked where there is no version 2', async () => {
    const { origin } = await backend((url, request, response) => {
      if (url.pathname === '/api/search') tempo('')(url, request, response);
      else if (url.pathname.startsWith('/api/v2')) json(response, 404, {});
      else {
        const id = url.pathname.replace('/api/traces/', '').padStart(32, '0');
        const base64 = (hex: string): string => Buffer.from(hex, 'hex').toString('base64');
        const spans = [
          { traceId: base64(id), spanId: base64(id.slice(16)), name: 'x', kind: 'SPAN_KIND_SERVER' },
        ];
        json(response, 200, { batches: [{ resource: {}, scopeSpans: [{ spans }] }] });
      }
    });
    const { spans, damages } = await read(`tempo+${origin}`);
    expect({ numbers: numbers(spans), damages }).toEqual({ numbers: ALL, damages: [] });
    expect(spans[0]?.kind).toBe(2);
  });

  it('a trace that cannot be read is named, the others are read', async () => {
    const { origin } = await backend((url, request, response) => {
      if (url.pathname.endsWith('/5')) json(response, 404, {});
      else tempo('')(url, request, response);
    });
    const { spans, damages } = await read(`tempo+${origin}`);
    expect(spans).toHaveLength(39);
    expect(damages).toHaveLength(1);
    expect(damages[0]).toContain('/api/traces/5 answered 404');
  });
});

describe('any address', () => {
  it('is fetched with the headers of the environment, and known by its bytes', async () => {
    const { origin } = await backend((_url, request, response) => {
      const allowed =
        request.headers.authorization === 'Bearer a,b' && request.headers['x-scope-orgid'] === 'team';
      json(response, allowed ? 200 : 401, allowed ? otlp(TRACES) : {});
    });
    const headers = headersOfEnvironment({
      WAYBILL_HTTP_HEADERS: 'authorization=Bearer%20a%2Cb, X-Scope-OrgID=team,broken',
    });
    expect((await read(`${origin}/export`, { remote: { headers } })).spans).toHaveLength(40);
    expect((await read(`${origin}/export`)).damages).toEqual([`${origin}/export answered 401`]);
  });

  it('a busy backend is asked again, one that stays busy is named', async () => {
    let busy = 2;
    const { origin } = await backend((url, _request, response) => {
      if (url.pathname === '/always' || busy-- > 0) json(response, 503, {});
      else json(response, 200, otlp(TRACES));
    });
    expect((await read(`${origin}/x`)).spans).toHaveLength(40);
    expect((await read(`${origin}/always`)).damages).toEqual([`${origin}/always answered 503`]);
  });

  it('nobody at the address is named', async () => {
    const { damages } = await read('http://127.0.0.1:9/x');
    expect(damages).toHaveLength(1);
    expect(damages[0]).toContain('cannot be reached');
  });

  it('what was fetched is kept on request and reads the same', async () => {
    const { origin } = await backend((_url, _request, response) => {
      json(response, 200, otlp(TRACES));
    });
    const folder = mkdtempSync(path.join(tmpdir(), 'waybill-remote-'));
    try {
      const { input } = await read(`${origin}/x`, { spoolDirectory: folder });
      expect(JSON.parse(readFileSync(input?.spooled ?? '', 'utf8'))).toEqual(otlp(TRACES));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
