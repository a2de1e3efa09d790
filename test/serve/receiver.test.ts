/**
 * `waybill serve` as exporters and careless senders see it: real exporters, real sockets, real processes.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { ROOT_CONTEXT, SpanKind, trace, type Attributes } from '@opentelemetry/api';
import { SeverityNumber } from '@opentelemetry/api-logs';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base';
import {
  readInputs,
  ReceiverError,
  startReceiver,
  type Receiver,
  type ReceiverOptions,
  type Span,
} from '@waybill/audit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let directory: string;
const running: Receiver[] = [];

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'waybill-serve-'));
});

afterEach(async () => {
  for (const receiver of running.splice(0)) await receiver.close();
  rmSync(directory, { recursive: true, force: true });
});

async function start(options: Partial<ReceiverOptions> = {}): Promise<Receiver> {
  const receiver = await startReceiver({ directory, port: 0, ...options });
  running.push(receiver);
  return receiver;
}

async function readSpans(file = 'traces.jsonl'): Promise<{ spans: Span[]; damages: number }> {
  const spans: Span[] = [];
  let damages = 0;
  await readInputs([path.join(directory, file)], {
    span: (span) => spans.push(span),
    log: () => undefined,
    damage: () => {
      damages += 1;
    },
    gap: () => undefined,
  });
  return { spans, damages };
}

function quarantined(): string[] {
  try {
    return readdirSync(path.join(directory, 'quarantine')).filter((name) => name.endsWith('.body'));
  } catch {
    return [];
  }
}

async function exportSpans(
  exporter: SpanExporter,
  count: number,
  attributes: Attributes = {},
): Promise<void> {
  const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
  const tracer = provider.getTracer('test-scope', '1.2.3');
  for (let index = 0; index < count; index += 1) {
    const span = tracer.startSpan(
      `tools/call t${index}`,
      {
        kind: SpanKind.CLIENT,
        attributes: { 'mcp.method.name': 'tools/call', number: index, ...attributes },
      },
      ROOT_CONTEXT,
    );
    span.addEvent('waybill.client.sent', { 'waybill.stage.seq': 1 });
    span.end();
  }
  await provider.forceFlush();
  await provider.shutdown();
}

const SPAN = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  name: 'n',
  startTimeUnixNano: '1790000000000000000',
  endTimeUnixNano: '1790000000000000001',
};
const REQUEST = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [SPAN] }] }] });

function post(
  receiver: Receiver,
  target: string,
  body: string | Uint8Array,
  headers: Record<string, string> = { 'content-type': 'application/json' },
): Promise<Response> {
  return fetch(`${receiver.url}${target}`, { method: 'POST', body: Buffer.from(body), headers });
}

describe('real exporters', () => {
  it.each([
    ['JSON', (url: string) => new JsonExporter({ url })],
    ['protobuf', (url: string) => new ProtobufExporter({ url })],
    ['JSON, gzip', (url: string) => new JsonExporter({ url, compression: 'gzip' as never })],
    ['protobuf, gzip', (url: string) => new ProtobufExporter({ url, compression: 'gzip' as never })],
  ])('every span sent as %s is on disk', async (name, make) => {
    const receiver = await start();
    await exportSpans(make(`${receiver.url}/v1/traces`), 50, { tags: ['a', 'b'], ratio: 0.5, big: 2 ** 52 });
    const { spans, damages } = await readSpans(name.startsWith('JSON') ? 'traces.jsonl' : 'traces.binpb');
    expect(damages).toBe(0);
    expect(spans.map((span) => span.name)).toEqual(
      Array.from({ length: 50 }, (_, index) => `tools/call t${index}`),
    );
    expect(spans[7]).toMatchObject({
      kind: 3,
      scope: { name: 'test-scope', version: '1.2.3' },
      attributes: { number: 7, tags: ['a', 'b'], ratio: 0.5, big: 2 ** 52 },
      events: [{ name: 'waybill.client.sent', attributes: { 'waybill.stage.seq': 1 } }],
    });
    expect(spans[7]?.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(spans[7]?.endTimeUnixNano).toBeGreaterThan(1_700_000_000_000_000_000n);
    expect(quarantined()).toEqual([]);
  });

  it('stage logs are in logs.jsonl with event name, trace id and span id', async () => {
    const receiver = await start();
    const provider = new LoggerProvider({
      processors: [
        new BatchLogRecordProcessor({ exporter: new OTLPLogExporter({ url: `${receiver.url}/v1/logs` }) }),
      ],
    });
    const spanContext = { traceId: SPAN.traceId, spanId: SPAN.spanId, traceFlags: 1 };
    provider.getLogger('stages').emit({
      eventName: 'waybill.server.received',
      severityNumber: SeverityNumber.INFO,
      context: trace.setSpanContext(ROOT_CONTEXT, spanContext),
      attributes: { 'waybill.stage.seq': 1 },
    });
    await provider.forceFlush();
    await provider.shutdown();
    const line: unknown = JSON.parse(readFileSync(path.join(directory, 'logs.jsonl'), 'utf8'));
    expect(line).toMatchObject({
      resourceLogs: [
        {
          scopeLogs: [
            {
              logRecords: [
                { eventName: 'waybill.server.received', traceId: SPAN.traceId, spanId: SPAN.spanId },
              ],
            },
          ],
        },
      ],
    });
  });
});

describe('what cannot be stored as OTLP is kept and acknowledged', () => {
  const cases: readonly (readonly [string, string, string | Uint8Array, Record<string, string>])[] = [
    ['JSON that breaks off', '/v1/traces', REQUEST.slice(0, -5), { 'content-type': 'application/json' }],
    ['JSON of something else', '/v1/traces', '{"hello":1}', { 'content-type': 'application/json' }],
    ['garbage as protobuf', '/v1/logs', 'not protobuf at all', { 'content-type': 'application/x-protobuf' }],
    ['no gzip', '/v1/traces', REQUEST, { 'content-type': 'application/json', 'content-encoding': 'gzip' }],
    [
      'an unknown coding',
      '/v1/traces',
      REQUEST,
      { 'content-type': 'application/json', 'content-encoding': 'lzma' },
    ],
    ['garbage on an unknown path', '/api/v2/../../etc/passwd', '\u0000\u0001', {}],
  ];

  it.each(cases)('%s', async (_name, target, body, headers) => {
    const receiver = await start();
    const response = await post(receiver, target, body, headers);
    expect(response.status).toBe(200);
    const answer = Buffer.from(await response.arrayBuffer());
    expect(answer.toString('latin1')).toContain('kept in quarantine');
    const files = quarantined();
    expect(files).toHaveLength(1);
    const file = path.join(directory, 'quarantine', files[0] ?? '');
    expect(readFileSync(file)).toEqual(Buffer.from(body));
    expect(JSON.parse(readFileSync(`${file}.note.json`, 'utf8'))).toMatchObject({
      bytes: Buffer.from(body).length,
    });
    expect(files[0]).toMatch(/^[0-9TZ-]+-\d+-\d+\.body$/);
  });

  it('a partial success has the encoding of the request', async () => {
    const receiver = await start();
    const json = await post(receiver, '/v1/traces', 'x');
    expect(json.headers.get('content-type')).toBe('application/json');
    expect(await json.json()).toMatchObject({ partialSuccess: { rejectedSpans: '1' } });
    const protobuf = await post(receiver, '/v1/traces', 'x', { 'content-type': 'application/x-protobuf' });
    expect(protobuf.headers.get('content-type')).toBe('application/x-protobuf');
    const bytes = Buffer.from(await protobuf.arrayBuffer());
    // Field 1 (partial_success), inside it field 1 (rejected_spans) = 1.
    expect([bytes[0], bytes[2], bytes[3]]).toEqual([0x0a, 0x08, 0x01]);
  });

  it('a body over the limit is streamed to the quarantine', async () => {
    const receiver = await start({ maxBodyBytes: 1_000 });
    const body = `{"resourceSpans":[${' '.repeat(100_000)}]}`;
    const response = await post(receiver, '/v1/traces', body);
    expect(response.status).toBe(200);
    expect(readFileSync(path.join(directory, 'quarantine', quarantined()[0] ?? ''), 'utf8')).toBe(body);
  });

  it('a body that unpacks to more than the limit is kept as it was sent', async () => {
    const receiver = await start({ maxUnpackedBytes: 1_000 });
    const packed = gzipSync(' '.repeat(1_000_000));
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    const response = await post(receiver, '/v1/traces', packed, headers);
    expect(response.status).toBe(200);
    expect(readFileSync(path.join(directory, 'quarantine', quarantined()[0] ?? ''))).toEqual(packed);
  });

  it('an exporter takes the acknowledgement and does not send again', async () => {
    const receiver = await start({ maxBodyBytes: 10 });
    await exportSpans(new ProtobufExporter({ url: `${receiver.url}/v1/traces` }), 3);
    expect(receiver.stats()).toMatchObject({ requests: 1, quarantined: 1, refused: 0 });
  });
});

describe('careless senders', () => {
  it.each(['/', '/v1/spans', '/v1/logs'])(
    'spans sent to %s are stored as spans, with a warning',
    async (target) => {
      const receiver = await start();
      const response = await post(receiver, target, REQUEST);
      expect(response.status).toBe(200);
      expect(JSON.stringify(await response.json())).toContain('/v1/traces');
      expect((await readSpans()).spans).toHaveLength(1);
      expect(quarantined()).toEqual([]);
    },
  );

  it.each(['application/x-protobuf', 'text/plain', ''])('JSON called "%s" is stored', async (type) => {
    const receiver = await start();
    await post(receiver, '/v1/traces', REQUEST, type === '' ? {} : { 'content-type': type });
    expect((await readSpans()).spans).toHaveLength(1);
  });

  it('pretty-printed JSON becomes one line and keeps integers above 2^53', async () => {
    const receiver = await start();
    const pretty = JSON.stringify(JSON.parse(REQUEST), null, 2).replace(
      '"1790000000000000001"',
      '1790000000000000001',
    );
    await post(receiver, '/v1/traces', pretty);
    await post(receiver, '/v1/traces', REQUEST);
    expect(readFileSync(path.join(directory, 'traces.jsonl'), 'utf8').split('\n')).toHaveLength(3);
    expect((await readSpans()).spans[0]?.endTimeUnixNano).toBe(1790000000000000001n);
  });

  it('an empty request is acknowledged and writes nothing', async () => {
    const receiver = await start();
    const json = await post(receiver, '/v1/traces', '{}');
    const protobuf = await post(receiver, '/v1/traces', '', { 'content-type': 'application/x-protobuf' });
    expect([json.status, protobuf.status]).toEqual([200, 200]);
    expect(await json.text()).toBe('{}');
    expect(readdirSync(directory)).toEqual([]);
  });

  it('a web page may not write into the evidence unless its origin is allowed', async () => {
    const receiver = await start({ allowedOrigins: ['https://app.example'] });
    const headers = { 'content-type': 'application/json' };
    expect(
      (await post(receiver, '/v1/traces', REQUEST, { ...headers, origin: 'https://evil.example' })).status,
    ).toBe(403);
    expect(
      (await post(receiver, '/v1/traces', REQUEST, { ...headers, origin: 'https://app.example' })).status,
    ).toBe(200);
    expect((await readSpans()).spans).toHaveLength(1);
  });

  it('health, unknown pages and other methods', async () => {
    const receiver = await start();
    expect(await (await fetch(`${receiver.url}/healthz`)).json()).toEqual({ status: 'ok' });
    expect((await fetch(`${receiver.url}/else`)).status).toBe(404);
    expect((await fetch(`${receiver.url}/v1/traces`)).status).toBe(405);
  });
});

describe('what cannot be written is not acknowledged', () => {
  it('a full disk answers 503 with Retry-After, and the health check says so', async () => {
    // Every write to this device fails with ENOSPC.
    symlinkSync('/dev/full', path.join(directory, 'traces.jsonl'));
    const receiver = await start({ retryAfterSeconds: 7 });
    const response = await post(receiver, '/v1/traces', REQUEST);
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('7');
    expect(await response.text()).toContain('ENOSPC');
    const health = await fetch(`${receiver.url}/healthz`);
    expect(health.status).toBe(503);
  });

  it('after the disk is free again the same request is stored', async () => {
    mkdirSync(path.join(directory, 'traces.jsonl'));
    const receiver = await start();
    expect((await post(receiver, '/v1/traces', REQUEST)).status).toBe(503);
    rmSync(path.join(directory, 'traces.jsonl'), { recursive: true });
    expect((await post(receiver, '/v1/traces', REQUEST)).status).toBe(200);
    expect((await readSpans()).spans).toHaveLength(1);
    expect((await fetch(`${receiver.url}/healthz`)).status).toBe(200);
  });

  it('garbage that cannot be quarantined is not acknowledged either', async () => {
    writeFileSync(path.join(directory, 'quarantine'), 'a file in its place');
    const receiver = await start();
    expect((await post(receiver, '/v1/traces', 'garbage')).status).toBe(503);
  });

  it('more than may be pending at one time is asked to come again', async () => {
    const receiver = await start({ maxPendingBytes: 100 });
    const response = await post(receiver, '/v1/traces', REQUEST);
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('5');
    expect(receiver.stats()).toMatchObject({ slowed: 1, refused: 0 });
  });
});

/** A folder in the place of a file: what cannot be written for a reason that is neither full nor passing. */
const blocked = (): string => path.join(directory, 'traces.binpb');

describe('a real exporter that is asked to come again', () => {
  it.each([
    [429, { maxPendingBytes: 100 }, { slowed: 1 }],
    [503, {}, { refused: 1 }],
  ] as const)(
    'after %d with Retry-After it does, and what it holds arrives whole',
    async (status, limits, counted) => {
      if (status === 503) mkdirSync(blocked());
      const first = await start({ retryAfterSeconds: 1, ...limits });
      const sending = exportSpans(new ProtobufExporter({ url: `${first.url}/v1/traces` }), 20);
      const { port } = first;
      for (let look = 0; look < 500 && first.stats().slowed + first.stats().refused === 0; look += 1) {
        await new Promise((resolve) => {
          setTimeout(resolve, 10);
        });
      }
      expect(first.stats()).toMatchObject(counted);
      await first.close();
      running.splice(running.indexOf(first), 1);
      if (status === 503) rmSync(blocked(), { recursive: true });
      await start({ port });
      await sending;
      expect((await readSpans('traces.binpb')).spans).toHaveLength(20);
    },
  );

  it('a body that fails again and again in one way is set aside with a note, and the next one is stored', async () => {
    mkdirSync(blocked());
    const receiver = await start({ retryAfterSeconds: 0, maxAttempts: 3 });
    await exportSpans(new ProtobufExporter({ url: `${receiver.url}/v1/traces` }), 4);
    expect(receiver.stats()).toMatchObject({ requests: 3, refused: 2, quarantined: 1 });
    const [name = ''] = quarantined();
    const file = path.join(directory, 'quarantine', name);
    expect(JSON.parse(readFileSync(`${file}.note.json`, 'utf8'))).toMatchObject({
      reason: expect.stringContaining('could not be stored'),
      signal: 'traces',
    });
    rmSync(blocked(), { recursive: true });
    await exportSpans(new ProtobufExporter({ url: `${receiver.url}/v1/traces` }), 4);
    // What was set aside is a request as it came, and an audit of the folder reads it too.
    const { spans, damages } = await readSpans('.');
    expect(spans).toHaveLength(8);
    expect(damages).toBe(0);
  });
});

describe('the files', () => {
  it('a torn last line of an earlier process does not swallow the next one', async () => {
    writeFileSync(path.join(directory, 'traces.jsonl'), `${REQUEST}\n${REQUEST.slice(0, 40)}`);
    const receiver = await start();
    await post(receiver, '/v1/traces', REQUEST);
    const { spans, damages } = await readSpans();
    expect(spans).toHaveLength(2);
    expect(damages).toBe(1);
  });

  it.each([
    // A length of zero is all that is left.
    [1, 0],
    [3, 1],
    [4, 1],
    [5, 1],
    [60, 1],
  ])('a frame of which %d bytes are left does not swallow the next one', async (left, damaged) => {
    const first = await start();
    await exportSpans(new ProtobufExporter({ url: `${first.url}/v1/traces` }), 2);
    await first.close();
    const file = path.join(directory, 'traces.binpb');
    const whole = readFileSync(file);
    writeFileSync(file, Buffer.concat([whole, whole.subarray(0, left)]));
    const second = await start();
    await exportSpans(new ProtobufExporter({ url: `${second.url}/v1/traces` }), 3);
    const { spans, damages } = await readSpans('traces.binpb');
    expect(spans.map(({ name }) => name)).toEqual([0, 1, 0, 1, 2].map((at) => `tools/call t${at}`));
    expect(damages).toBe(damaged);
  });

  it('a file that was moved away is begun anew', async () => {
    const receiver = await start();
    await post(receiver, '/v1/traces', REQUEST);
    rmSync(path.join(directory, 'traces.jsonl'));
    await post(receiver, '/v1/traces', REQUEST);
    expect((await readSpans()).spans).toHaveLength(1);
  });

  it('a hundred requests at one time are a hundred lines', async () => {
    const receiver = await start();
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => post(receiver, '/v1/traces', REQUEST)),
    );
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([200]));
    expect(await readSpans()).toMatchObject({ damages: 0 });
    expect((await readSpans()).spans).toHaveLength(100);
  });

  it('what was acknowledged survives SIGKILL of the receiver', async () => {
    const { child, url } = await startChild('');
    let acknowledged = 0;
    for (let index = 0; index < 20; index += 1) if ((await send(url, REQUEST)) === 200) acknowledged += 1;
    await kill(child);
    expect(acknowledged).toBe(20);
    expect(await readSpans()).toMatchObject({ damages: 0 });
    expect((await readSpans()).spans).toHaveLength(20);
  });

  it('a write that fails half way leaves no half line, and nothing of it is acknowledged', async () => {
    // The limit of the shell (8 KiB) makes the kernel take a part of a write and refuse the rest.
    const { child, url } = await startChild("trap '' XFSZ; ulimit -f 8;");
    const body = REQUEST.replace('"n"', `"${'n'.repeat(3_000)}"`);
    const answers: number[] = [];
    for (let index = 0; index < 5; index += 1) answers.push(await send(url, body));
    await kill(child);
    expect(answers).toEqual([200, 200, 503, 503, 503]);
    const text = readFileSync(path.join(directory, 'traces.jsonl'), 'utf8');
    expect(text).toBe(`${body}\n${body}\n`);
  });
});

/** The receiver in a process of its own, started by a shell that first does what `setup` says. */
async function startChild(setup: string): Promise<{ child: ChildProcess; url: string }> {
  const program = `import { startReceiver } from ${JSON.stringify(import.meta.resolve('@waybill/audit'))};
    const receiver = await startReceiver({ directory: process.argv[1], port: 0 });
    process.stdout.write(receiver.url + '\\n');`;
  const child = spawn(
    'bash',
    ['-c', `${setup} exec "$0" --input-type=module -e "$1" "$2"`, process.execPath, program, directory],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const url = await new Promise<string>((resolve) => {
    child.stdout.once('data', (chunk: Buffer) => {
      resolve(chunk.toString().trim());
    });
  });
  return { child, url };
}

async function send(url: string, body: string): Promise<number> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/v1/traces`, { method: 'POST', body, headers });
  await response.arrayBuffer();
  return response.status;
}

async function kill(child: ChildProcess): Promise<void> {
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await exited;
}

describe('starting', () => {
  it('a taken port is named with the remedy', async () => {
    const blocker = createServer();
    await new Promise<void>((resolve) => {
      blocker.listen(0, '127.0.0.1', resolve);
    });
    const address = blocker.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const error = await startReceiver({ directory, port }).catch((caught: unknown) => caught);
    blocker.close();
    expect(error).toBeInstanceOf(ReceiverError);
    expect(error).toMatchObject({ code: 'port_in_use' });
    expect((error as ReceiverError).message).toContain(String(port));
    expect((error as ReceiverError).remedy).toContain('--port');
  });

  it('a directory that cannot be had is named', async () => {
    writeFileSync(path.join(directory, 'file'), '');
    const error = await startReceiver({ directory: path.join(directory, 'file'), port: 0 }).catch(
      (caught: unknown) => caught,
    );
    expect(error).toMatchObject({ code: 'directory_unwritable' });
  });

  it('listens on loopback only unless told otherwise', async () => {
    const receiver = await start();
    expect(receiver.host).toBe('127.0.0.1');
  });

  it('close waits for requests that it has begun', async () => {
    const receiver = await startReceiver({ directory, port: 0 });
    const sent = post(receiver, '/v1/traces', REQUEST);
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
    await receiver.close();
    expect((await sent).status).toBe(200);
  });
});
