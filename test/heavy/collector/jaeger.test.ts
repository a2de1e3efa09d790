import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { post, span, spanId, traceId, traces } from './support/otlp.js';
import { type Running, end, freePort, program, startCollector, until } from './support/programs.js';
import { type Sink, startSink } from './support/sink.js';

const collectorPath = program('collector');
const jaegerPath = program('jaeger');
const example = (name: string): string =>
  fileURLToPath(new URL(`../../../examples/observability/${name}`, import.meta.url));

interface JaegerTag {
  readonly key: string;
  readonly value: unknown;
}
interface JaegerSpan {
  readonly spanID: string;
  readonly operationName: string;
  readonly processID: string;
  readonly references: readonly {
    readonly refType: string;
    readonly traceID: string;
    readonly spanID: string;
  }[];
  readonly tags: readonly JaegerTag[];
  readonly logs: readonly { readonly timestamp: number; readonly fields: readonly JaegerTag[] }[];
  readonly warnings: readonly string[] | null;
}
interface JaegerAnswer {
  readonly data: readonly {
    readonly spans: readonly JaegerSpan[];
    readonly processes: Readonly<Record<string, { readonly serviceName: string }>>;
  }[];
}
interface OtlpAnswer {
  readonly result: {
    readonly resourceSpans: readonly {
      readonly scopeSpans: readonly {
        readonly spans: readonly { readonly spanId: string; readonly name: string }[];
      }[];
    }[];
  };
}

describe.skipIf(collectorPath === undefined || jaegerPath === undefined)('a call in Jaeger', () => {
  let collector: Running;
  let sink: Sink;
  let jaeger: ChildProcess;
  let api: string;
  const trace = traceId();
  const client = spanId();
  const server = spanId();
  const earlier = spanId();

  beforeAll(async () => {
    if (collectorPath === undefined || jaegerPath === undefined) return;
    const [grpc, http, query] = [await freePort(), await freePort(), await freePort()];
    api = `http://127.0.0.1:${String(http)}`;
    jaeger = spawn(jaegerPath, ['--config', example('jaeger.yaml')], {
      stdio: 'ignore',
      env: {
        ...process.env,
        JAEGER_OTLP_GRPC: `127.0.0.1:${String(grpc)}`,
        JAEGER_QUERY_HTTP: `127.0.0.1:${String(http)}`,
        JAEGER_QUERY_GRPC: `127.0.0.1:${String(query)}`,
        JAEGER_UI_CONFIG: example('jaeger-ui.json'),
      },
    });
    await until('Jaeger to answer', async () => {
      try {
        return (await fetch(`${api}/api/v3/services`)).ok || undefined;
      } catch {
        return undefined;
      }
    });
    sink = await startSink();
    collector = await startCollector(collectorPath, {
      config: 'audit-first.yaml',
      env: {
        WAYBILL_SERVE: sink.url,
        WAYBILL_VIEW: `127.0.0.1:${String(grpc)}`,
        WAYBILL_DECISION_WAIT: '1s',
      },
    });
    // The reply was lost after the commit: the first leg timed out, and the server had done it.
    const shared = {
      'mcp.method.name': 'tools/call',
      'gen_ai.tool.name': 'set_status',
      'waybill.run.id': 'run-1',
      'waybill.operation.id': 'row-42:done:v1',
      'waybill.call.id': 'c-1',
      'waybill.effect.kind': 'write',
    };
    const stages = (names: readonly string[]) =>
      names.map((name, index) => ({ name, attributes: { 'waybill.stage.seq': index + 1 } }));
    await post(
      collector.ports.http,
      'traces',
      traces({ service: 'agent' }, [
        span({
          traceId: trace,
          spanId: client,
          kind: 'client',
          attributes: {
            ...shared,
            'waybill.outcome': 'TIMEOUT',
            'waybill.outcome_layer': 'client',
            'error.type': 'timeout',
          },
          events: stages(['waybill.client.sent', 'waybill.client.timeout']),
          links: [{ attributes: { 'waybill.link.kind': 'retry_of' } }],
          status: { code: 2, message: 'Request timed out' },
        }),
        span({
          traceId: trace,
          spanId: earlier,
          kind: 'client',
          attributes: { ...shared, 'waybill.call.id': 'c-0', 'waybill.outcome': 'TRANSPORT_ERROR' },
        }),
      ]),
    );
    await post(
      collector.ports.http,
      'traces',
      traces({ service: 'todo-mcp' }, [
        span({
          traceId: trace,
          spanId: server,
          parentSpanId: client,
          kind: 'server',
          attributes: { ...shared, 'waybill.outcome': 'TOOL_SUCCESS', 'waybill.reply.state': 'cut' },
          events: stages([
            'waybill.server.received',
            'waybill.server.effect_requested',
            'waybill.server.effect_confirmed',
            'waybill.server.result_sent',
          ]),
        }),
      ]),
    );
  });
  afterAll(async () => {
    if (collectorPath === undefined || jaegerPath === undefined) return;
    await collector.stop();
    await end(jaeger, 'SIGTERM');
    await sink.close();
    collector.remove();
  });

  const v1 = (): Promise<JaegerAnswer['data'][number]> =>
    until('the trace in Jaeger', async () => {
      const response = await fetch(`${api}/api/traces/${trace}?raw=true`);
      if (!response.ok) return undefined;
      const found = ((await response.json()) as JaegerAnswer).data[0];
      return found?.spans.length === 3 ? found : undefined;
    });

  it('shows both sides in one trace, under two services, named by tool', async () => {
    const { spans, processes } = await v1();
    const services = new Set(spans.map(({ processID }) => processes[processID]?.serviceName));
    expect(services).toStrictEqual(new Set(['agent', 'todo-mcp']));
    expect(new Set(spans.map(({ operationName }) => operationName))).toStrictEqual(
      new Set(['tools/call set_status']),
    );
    const parent = spans.find(({ spanID }) => spanID === server)?.references[0];
    expect(parent).toStrictEqual({ refType: 'CHILD_OF', traceID: trace, spanID: client });
    expect(spans.flatMap(({ warnings }) => warnings ?? [])).toStrictEqual([]);
  });

  it('shows the stages as logs, in order, and the outcome as a tag', async () => {
    const { spans } = await v1();
    const stagesOf = (id: string) =>
      spans
        .find(({ spanID }) => spanID === id)
        ?.logs.map(({ fields }) => fields.find(({ key }) => key === 'event')?.value);
    const tag = (id: string, key: string) =>
      spans.find(({ spanID }) => spanID === id)?.tags.find((one) => one.key === key)?.value;
    expect(stagesOf(client)).toStrictEqual(['waybill.client.sent', 'waybill.client.timeout']);
    expect(stagesOf(server)).toStrictEqual([
      'waybill.server.received',
      'waybill.server.effect_requested',
      'waybill.server.effect_confirmed',
      'waybill.server.result_sent',
    ]);
    expect(tag(client, 'waybill.outcome')).toBe('TIMEOUT');
    expect(tag(client, 'error')).toBe(true);
    expect(tag(server, 'error')).toBeUndefined();
    expect(tag(server, 'waybill.reply.state')).toBe('cut');
  });

  it('gives the same spans as OTLP by /api/v3', async () => {
    await v1();
    const response = await fetch(`${api}/api/v3/traces/${trace}?raw_traces=true`);
    const answer = (await response.json()) as OtlpAnswer;
    const ids = answer.result.resourceSpans.flatMap(({ scopeSpans }) =>
      scopeSpans.flatMap(({ spans }) => spans.map(({ spanId: id }) => id)),
    );
    expect(new Set(ids)).toStrictEqual(new Set([client, server, earlier]));
  });

  it('finds every attempt of an operation by its id', async () => {
    await v1();
    const tags = encodeURIComponent(JSON.stringify({ 'waybill.operation.id': 'row-42:done:v1' }));
    const response = await fetch(`${api}/api/traces?service=agent&tags=${tags}`);
    const answer = (await response.json()) as JaegerAnswer;
    expect(answer.data).toHaveLength(1);
  });

  it('takes the settings of its page', () => {
    const settings = JSON.parse(readFileSync(example('jaeger-ui.json'), 'utf8')) as {
      linkPatterns: object[];
    };
    expect(settings.linkPatterns).toHaveLength(2);
    expect(jaeger.exitCode).toBeNull();
  });
});
