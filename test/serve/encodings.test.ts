/**
 * The same telemetry in every encoding that the JavaScript SDK can write is the same evidence: read from a file, and
 * stored by the receiver.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { SeverityNumber } from '@opentelemetry/api-logs';
import {
  JsonLogsSerializer,
  JsonMetricsSerializer,
  JsonTraceSerializer,
  ProtobufLogsSerializer,
  ProtobufMetricsSerializer,
  ProtobufTraceSerializer,
} from '@opentelemetry/otlp-transformer';
import { InMemoryLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs';
import {
  AggregationType,
  MeterProvider,
  MetricReader,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';
import { readInput, startReceiver, type InputSummary, type LogRecord, type Span } from '@waybill/audit';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const LINKED = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 };

function spans(): ReadableSpan[] {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const tracer = provider.getTracer('scope', '1.0.0');
  const parent = trace.setSpanContext(ROOT_CONTEXT, { ...LINKED, isRemote: true });
  for (let index = 0; index < 3; index += 1) {
    const span = tracer.startSpan(
      `tools/call näme-${index}`,
      {
        kind: SpanKind.SERVER,
        links: [{ context: LINKED, attributes: { 'waybill.link.kind': 'ambient_http' } }],
      },
      parent,
    );
    span.setAttributes({
      text: 'snö ❄',
      empty: '',
      int: -(2 ** 40),
      safe: Number.MAX_SAFE_INTEGER,
      double: 0.1,
      yes: true,
      no: false,
      list: ['a', 'b'],
      ints: [1, 2, 3],
      none: [],
    });
    span.addEvent('waybill.server.received', { 'waybill.stage.seq': 1 }, [1_790_000_000, 123_456_789]);
    span.setStatus({ code: SpanStatusCode.ERROR, message: 'broken' });
    span.end();
  }
  return exporter.getFinishedSpans();
}

function framed(...messages: Uint8Array[]): Uint8Array {
  return Buffer.concat(
    messages.flatMap((message) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(message.length);
      return [length, message];
    }),
  );
}

async function read(bytes: Uint8Array): Promise<{ spans: Span[]; logs: LogRecord[]; summary: InputSummary }> {
  const found: Span[] = [];
  const logs: LogRecord[] = [];
  const summary = await readInput(
    { kind: 'bytes', id: 's1', path: 'x', bytes },
    {
      span: (span) => found.push(span),
      log: (record) => logs.push(record),
      damage: () => undefined,
      gap: () => undefined,
    },
  );
  return { spans: found, logs, summary };
}

function withoutPlace(items: readonly (Span | LogRecord)[]): object[] {
  return items.map(({ at: _at, ...item }) => item);
}

describe('spans', () => {
  const written = spans();
  const json = Buffer.from(JsonTraceSerializer.serializeRequest(written) ?? []);
  const protobuf = Buffer.from(ProtobufTraceSerializer.serializeRequest(written) ?? []);

  it.each<[string, Uint8Array, string]>([
    ['one protobuf message', protobuf, 'otlp-proto'],
    ['two protobuf messages, one after the other', Buffer.concat([protobuf, protobuf]), 'otlp-proto'],
    ['framed protobuf', framed(protobuf), 'otlp-framed'],
    ['framed JSON', framed(json), 'otlp-framed'],
    ['protobuf in gzip', gzipSync(protobuf), 'otlp-proto'],
    ['framed protobuf in gzip', gzipSync(framed(protobuf, protobuf)), 'otlp-framed'],
  ])('%s is the same as JSON', async (_name, bytes, format) => {
    const expected = await read(json);
    expect(expected.spans).toHaveLength(3);
    const actual = await read(bytes);
    expect(actual.summary).toMatchObject({ format, damaged: [] });
    expect(withoutPlace(actual.spans).slice(0, 3)).toEqual(withoutPlace(expected.spans));
    expect(actual.spans.length % 3).toBe(0);
  });

  it('the model holds what was recorded', async () => {
    const [first] = (await read(protobuf)).spans;
    expect(first).toMatchObject({
      parentSpanId: LINKED.spanId,
      traceId: LINKED.traceId,
      name: 'tools/call näme-0',
      kind: 2,
      status: { code: 2, message: 'broken' },
      attributes: {
        text: 'snö ❄',
        int: -(2 ** 40),
        safe: Number.MAX_SAFE_INTEGER,
        double: 0.1,
        list: ['a', 'b'],
        none: [],
      },
      links: [{ spanId: LINKED.spanId, attributes: { 'waybill.link.kind': 'ambient_http' } }],
    });
    expect(first?.events[0]?.timeUnixNano).toBe(1_790_000_000_123_456_789n);
  });

  it('every cut of a framed file keeps the whole records before it and names the place', async () => {
    const bytes = framed(protobuf, protobuf);
    for (let cut = 1; cut < bytes.length; cut += 7) {
      const { spans: left, summary } = await read(bytes.subarray(0, cut));
      if (cut >= protobuf.length + 4) expect(left.length).toBeGreaterThanOrEqual(3);
      if (cut !== protobuf.length + 4) expect(summary.damaged.length).toBeGreaterThan(0);
    }
  });
});

describe('logs', () => {
  it('protobuf is the same as JSON', async () => {
    const exporter = new InMemoryLogRecordExporter();
    const provider = new LoggerProvider({ processors: [new SimpleLogRecordProcessor({ exporter })] });
    provider.getLogger('stages', '1').emit({
      eventName: 'waybill.server.received',
      severityNumber: SeverityNumber.INFO,
      body: { nested: ['a', 1, { deep: true }] },
      context: trace.setSpanContext(ROOT_CONTEXT, LINKED),
      attributes: { 'waybill.stage.seq': 1, bytes: new Uint8Array([1, 2, 255]) },
    });
    const records = exporter.getFinishedLogRecords();
    const json = await read(JsonLogsSerializer.serializeRequest(records) ?? new Uint8Array());
    const protobuf = await read(ProtobufLogsSerializer.serializeRequest(records) ?? new Uint8Array());
    expect(json.logs).toHaveLength(1);
    expect(json.logs[0]).toMatchObject({ eventName: 'waybill.server.received', traceId: LINKED.traceId });
    expect(Buffer.from(json.logs[0]?.attributes['bytes'] as Uint8Array)).toEqual(Buffer.from([1, 2, 255]));
    const plain = (logs: readonly LogRecord[]): object[] =>
      withoutPlace(logs).map((log) => ({
        ...log,
        attributes: { ...(log as LogRecord).attributes, bytes: undefined },
      }));
    expect(plain(protobuf.logs)).toEqual(plain(json.logs));
  });
});

class PullReader extends MetricReader {
  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }
  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }
}

async function metrics(): Promise<ResourceMetrics> {
  const reader = new PullReader();
  const provider = new MeterProvider({
    readers: [reader],
    views: [{ instrumentName: 'exponential', aggregation: { type: AggregationType.EXPONENTIAL_HISTOGRAM } }],
  });
  const meter = provider.getMeter('meter');
  meter.createCounter('ints').add(7, { tool: 'a' });
  meter.createCounter('doubles').add(0.5);
  meter.createUpDownCounter('negative').add(-3);
  meter.createHistogram('histogram').record(12.5);
  meter.createHistogram('exponential').record(3);
  const { resourceMetrics } = await reader.collect();
  return resourceMetrics;
}

describe('the receiver stores protobuf as it came', () => {
  it.each([
    [
      'traces',
      () =>
        Promise.resolve([
          JsonTraceSerializer.serializeRequest(spans()),
          ProtobufTraceSerializer.serializeRequest(spans()),
        ]),
    ],
    [
      'metrics',
      async () => {
        const all = await metrics();
        return [JsonMetricsSerializer.serializeRequest(all), ProtobufMetricsSerializer.serializeRequest(all)];
      },
    ],
  ] as const)('%s', async (signal, make) => {
    const directory = mkdtempSync(path.join(tmpdir(), 'waybill-encodings-'));
    const receiver = await startReceiver({ directory, port: 0 });
    try {
      const [json, protobuf] = await make();
      for (const [body, type] of [
        [json, 'application/json'],
        [protobuf, 'application/x-protobuf'],
        [protobuf, 'application/x-protobuf'],
      ] as const) {
        const response = await fetch(`${receiver.url}/v1/${signal}`, {
          method: 'POST',
          body: Buffer.from(body ?? []),
          headers: { 'content-type': type },
        });
        expect(response.status).toBe(200);
        expect((await response.arrayBuffer()).byteLength).toBe(type === 'application/json' ? 2 : 0);
      }
      const file = (name: string): Buffer => readFileSync(path.join(directory, name));
      expect(file(`${signal}.jsonl`)).toEqual(Buffer.concat([json ?? Buffer.alloc(0), Buffer.from('\n')]));
      expect(file(`${signal}.binpb`)).toEqual(
        framed(protobuf ?? Buffer.alloc(0), protobuf ?? Buffer.alloc(0)),
      );
      expect(receiver.stats()).toMatchObject({ quarantined: 0 });
    } finally {
      await receiver.close();
      rmSync(directory, { recursive: true, force: true });
    }
  });

  it('a log record that could be read as a span is stored as JSON, which names what it is', async () => {
    const directory = mkdtempSync(path.join(tmpdir(), 'waybill-encodings-'));
    const receiver = await startReceiver({ directory, port: 0 });
    try {
      // resource_logs { scope_logs { log_records { body { string_value: "x" } } } }: as a span, its name.
      const body = Buffer.from([0x0a, 0x09, 0x12, 0x07, 0x12, 0x05, 0x2a, 0x03, 0x0a, 0x01, 0x78]);
      const headers = { 'content-type': 'application/x-protobuf' };
      await fetch(`${receiver.url}/v1/logs`, { method: 'POST', body, headers });
      const { logs: found, spans: none } = await read(readFileSync(path.join(directory, 'logs.jsonl')));
      expect(none).toEqual([]);
      expect(found).toMatchObject([{ body: 'x' }]);
    } finally {
      await receiver.close();
      rmSync(directory, { recursive: true, force: true });
    }
  });

  it('fields that the schema does not know are kept', async () => {
    const directory = mkdtempSync(path.join(tmpdir(), 'waybill-encodings-'));
    const receiver = await startReceiver({ directory, port: 0 });
    try {
      const known = Buffer.from(ProtobufTraceSerializer.serializeRequest(spans()) ?? []);
      // Field 99, length-delimited, "new".
      const body = Buffer.concat([known, Buffer.from([0x9a, 0x06, 0x03]), Buffer.from('new')]);
      const headers = { 'content-type': 'application/x-protobuf' };
      await fetch(`${receiver.url}/v1/traces`, { method: 'POST', body, headers });
      const line: unknown = JSON.parse(readFileSync(path.join(directory, 'traces.jsonl'), 'utf8'));
      expect(line).toMatchObject({ unknownFields: { 99: [Buffer.from('\u0003new').toString('base64')] } });
    } finally {
      await receiver.close();
      rmSync(directory, { recursive: true, force: true });
    }
  });
});

describe('damaged binary files', () => {
  const protobuf = Buffer.from(ProtobufTraceSerializer.serializeRequest(spans()) ?? []);

  it('a frame of a wrong length costs itself: the frames behind it are found', async () => {
    const bytes = Buffer.from(framed(protobuf, protobuf, protobuf));
    bytes.writeUInt32BE(0xffff_ffff, protobuf.length + 4);
    const { spans: left, summary } = await read(bytes);
    expect(left).toHaveLength(6);
    expect(summary.damaged).toMatchObject([
      { at: { offset: protobuf.length + 4 }, reason: 'bytes that begin no record' },
    ]);
  });

  it('a damaged span costs itself', async () => {
    const bytes = Buffer.from(framed(protobuf));
    const name = bytes.indexOf('tools/call näme-1');
    // The length before the name now points behind the end of its span.
    bytes[name - 1] = 0x7f;
    bytes[name - 2] = 0x2a;
    const { spans: left, summary } = await read(bytes);
    expect(left.map((span) => span.name)).toEqual(['tools/call näme-0', 'tools/call näme-2']);
    expect(summary.damaged.length).toBeGreaterThan(0);
  });

  it.each([
    ['framed', framed(protobuf, protobuf)],
    ['bare', protobuf],
    ['framed, gzip', gzipSync(framed(protobuf, protobuf))],
  ])('any flipped bits of %s end in a judged remainder (seed 20260930)', async (_name, whole) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 })), {
          minLength: 1,
          maxLength: 4,
        }),
        async (flips) => {
          const bytes = Buffer.from(whole);
          for (const [at, mask] of flips) bytes[at] = (bytes[at] ?? 0) ^ mask;
          const { spans: left } = await read(bytes);
          for (const one of left) expect(one.traceId).toMatch(/^(?:[0-9a-f]{32})?$/);
        },
      ),
      { seed: 20_260_930, numRuns: 500 },
    );
  });
});

describe('spans that nobody wants', () => {
  it('are passed over in protobuf as in JSON: same question, same answer, same count', async () => {
    const written = spans();
    const peeked: Record<string, string[]> = { json: [], protobuf: [] };
    const kept: Record<string, string[]> = { json: [], protobuf: [] };
    const counts: number[] = [];
    for (const [encoding, bytes] of [
      ['json', JsonTraceSerializer.serializeRequest(written)],
      ['protobuf', ProtobufTraceSerializer.serializeRequest(written)],
    ] as const) {
      const summary = await readInput(
        { kind: 'bytes', id: 's1', path: 'x', bytes: bytes ?? new Uint8Array() },
        {
          wants: (span) => {
            const keys: string[] = [];
            span.hasKey((key) => (keys.push(key), false));
            peeked[encoding]?.push([span.name, span.scopeName, span.serviceName, ...keys].join(' '));
            return span.name.endsWith('1');
          },
          span: (span) => kept[encoding]?.push(span.name),
          log: () => undefined,
          damage: () => undefined,
          gap: () => undefined,
        },
      );
      counts.push(summary.spans);
    }
    expect(peeked['protobuf']).toEqual(peeked['json']);
    expect(peeked['json']?.[0]).toContain('tools/call näme-0 scope');
    expect(kept).toEqual({ json: ['tools/call näme-1'], protobuf: ['tools/call näme-1'] });
    expect(counts).toEqual([3, 3]);
  });
});
