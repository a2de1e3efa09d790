import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Emitter, type Secret, emitters, freeFormKeys, nameKeys, secrets } from './support/emitters.js';
import { logs, post, span, spanId, traces } from './support/otlp.js';
import { type Running, program, startCollector, until } from './support/programs.js';
import { type Sink, startSink } from './support/sink.js';

const path = program('collector');

/** One span, log or resource that carries one secret in one place. */
interface Probe {
  readonly title: string;
  readonly secret: Secret;
  readonly signal: 'traces' | 'logs';
  readonly body: (marked: Secret, id: string) => object;
  /** Whether the span belongs to the audit branch (MCP) or only to the view. */
  readonly place: string;
}

function probesOf(emitter: Emitter, secret: Secret): readonly Probe[] {
  const source = { scope: emitter.scope };
  const base = emitter.span;
  const probe = (place: string, signal: 'traces' | 'logs', body: Probe['body']): Probe => ({
    title: `${emitter.name}: ${secret.class} in ${place}`,
    secret,
    signal,
    body,
    place,
  });
  return [
    ...emitter.attributes.map((key) =>
      probe(`span attribute ${key}`, 'traces', ({ text }, id) =>
        traces(source, [span({ ...base, spanId: id, attributes: { ...base.attributes, [key]: text } })]),
      ),
    ),
    probe('span attribute, nested', 'traces', ({ text }, id) =>
      traces(source, [
        span({
          ...base,
          spanId: id,
          attributes: { ...base.attributes, 'gen_ai.request.model': { note: text } },
        }),
      ]),
    ),
    ...emitter.events.map(([name, key]) =>
      probe(`event attribute ${name}/${key}`, 'traces', ({ text }, id) =>
        traces(source, [span({ ...base, spanId: id, events: [{ name, attributes: { [key]: text } }] })]),
      ),
    ),
    probe('event name', 'traces', ({ text }, id) =>
      traces(source, [span({ ...base, spanId: id, events: [{ name: text }] })]),
    ),
    probe('status message', 'traces', ({ text }, id) =>
      traces(source, [span({ ...base, spanId: id, status: { code: 2, message: text } })]),
    ),
    probe('span name', 'traces', ({ text }, id) =>
      traces(source, [span({ ...base, spanId: id, name: text })]),
    ),
    probe('scope attribute', 'traces', ({ text }, id) =>
      traces({ ...source, scopeAttributes: { note: text } }, [span({ ...base, spanId: id })]),
    ),
    ...emitter.resource.map((key) =>
      probe(`resource ${key}`, 'traces', ({ text }, id) =>
        traces({ ...source, resource: { [key]: text } }, [span({ ...base, spanId: id })]),
      ),
    ),
    probe('log body', 'logs', ({ text }) => logs(source, [{ eventName: emitter.log[0], body: text }])),
    probe('body of a stage record', 'logs', ({ text }) =>
      logs(source, [{ eventName: 'waybill.client.failed', body: text }]),
    ),
    probe('log attribute', 'logs', ({ text }) =>
      logs(source, [{ eventName: 'waybill.client.failed', attributes: { [emitter.log[1]]: text } }]),
    ),
    probe('resource of a log', 'logs', ({ text }) =>
      logs({ ...source, resource: { 'process.command_line': text } }, [{ eventName: 'waybill.client.sent' }]),
    ),
    ...nameKeys.map((key) =>
      probe(`name attribute ${key}`, 'traces', ({ text }, id) =>
        traces(source, [span({ ...base, spanId: id, attributes: { ...base.attributes, [key]: text } })]),
      ),
    ),
    ...(secret.form
      ? [
          ...freeFormKeys.map((key) =>
            probe(`free-form attribute ${key}`, 'traces', ({ text }, id) =>
              traces(source, [
                span({ ...base, spanId: id, attributes: { ...base.attributes, [key]: text } }),
              ]),
            ),
          ),
          probe('resource service.instance.id', 'traces', ({ text }, id) =>
            traces({ ...source, resource: { 'service.instance.id': text } }, [span({ ...base, spanId: id })]),
          ),
          probe('operation id of a log', 'logs', ({ text }) =>
            logs(source, [
              { eventName: 'waybill.client.sent', attributes: { 'waybill.operation.id': text } },
            ]),
          ),
        ]
      : []),
  ];
}

describe.skipIf(path === undefined)('nothing private leaves', () => {
  let sink: Sink;
  let store: Running;
  let collector: Running;

  beforeAll(async () => {
    if (path === undefined) return;
    sink = await startSink();
    store = await startCollector(path, { config: './store.yaml' });
    collector = await startCollector(path, {
      config: 'audit-first.yaml',
      env: {
        WAYBILL_SERVE: sink.url,
        WAYBILL_VIEW: `127.0.0.1:${String(store.ports.grpc)}`,
        WAYBILL_SAMPLE_PERCENT: '100',
        WAYBILL_DECISION_WAIT: '1s',
      },
    });
  });
  afterAll(async () => {
    if (path === undefined) return;
    await collector.stop();
    await store.stop();
    await sink.close();
    collector.remove();
    store.remove();
  });

  /** Everything that left: what the audit backend got, every file, every metric, and what the Collector printed. */
  async function left(): Promise<string> {
    const files = [
      ...readdirSync(collector.data)
        .filter((name) => name.endsWith('.jsonl') || name.endsWith('.log'))
        .map((name) => join(collector.data, name)),
      join(store.data, 'store.jsonl'),
    ];
    const metrics = await (await fetch(`http://127.0.0.1:${String(collector.ports.metrics)}/metrics`)).text();
    return [
      ...files.map((file) => readFileSync(file, 'utf8')),
      ...sink.bodies.map((body) => body.toString('latin1')),
      metrics,
    ].join('\n');
  }

  it('of 12 classes, in every place, from every emitter', async () => {
    const sent = new Set<string>();
    const titles = new Map<string, string>();
    let requests = 0;
    let serial = 0;
    for (const emitter of emitters) {
      for (const secret of secrets) {
        for (const probe of probesOf(emitter, secret)) {
          // A mark of its own beside each secret says which probe leaked.
          const id = spanId();
          serial += 1;
          const mark = `needle${String(serial).padStart(5, '0')}z`;
          titles.set(mark, probe.title);
          const text = secret.form ? secret.text : `${secret.text} ${mark}`;
          const status = await post(collector.ports.http, probe.signal, probe.body({ ...secret, text }, id));
          expect(status, probe.title).toBe(200);
          requests += 1;
          if (probe.signal === 'traces') sent.add(id);
        }
      }
    }
    expect(requests).toBeGreaterThan(12 * 5 * emitters.length);

    // All of it arrived, so nothing was kept in by being dropped.
    const stored = await until(
      'every span in the store',
      () => {
        const text = readFileSync(join(store.data, 'store.jsonl'), 'utf8');
        return [...sent].every((id) => text.includes(id)) ? text : undefined;
      },
      120_000,
    );
    await delay(2_500);
    const everything = await left();
    expect(stored.length).toBeGreaterThan(0);

    const leaks = secrets.filter(({ needle }) => everything.includes(needle)).map(({ class: name }) => name);
    const marks = [...titles].filter(([mark]) => everything.includes(mark)).map(([, title]) => title);
    const context = leaks.flatMap((name) => {
      const needle = secrets.find((secret) => secret.class === name)?.needle ?? '';
      const at = everything.indexOf(needle);
      return [`${name}: ...${everything.slice(Math.max(0, at - 300), at + 60)}`];
    });
    expect({ leaks, marks, context }).toStrictEqual({ leaks: [], marks: [], context: [] });
    process.stdout.write(
      `leak test: ${String(requests)} probes, ${String(emitters.length)} emitters, 0 leaks\n`,
    );
  });

  it('and every attribute of Waybill passes unchanged', async () => {
    const attributes = {
      'mcp.method.name': 'tools/call',
      'gen_ai.tool.name': 'set_status',
      'gen_ai.usage.input_tokens': 4242,
      'waybill.run.id': '4bf92f3577b34da6a3ce929d0e0e4736',
      'waybill.run.source': 'trace',
      'waybill.call.id': '41234123-4123-4123-8123-412341234123',
      'waybill.call.attempt': 2,
      'waybill.call.number': 17,
      'waybill.call.continues': 'c-16',
      'waybill.reply.call.id': 'c-18',
      'waybill.operation.id': 'row-42:done:v1',
      'waybill.operation.source': 'caller',
      'waybill.operation.parent.id': 'plan 7 / step 2',
      'waybill.boundary.id': 'host-1:4711:client',
      'waybill.retry.origin': 'application',
      'waybill.effect.kind': 'write',
      'waybill.effect.replayed': false,
      'waybill.outcome': 'STREAM_INCOMPLETE',
      'waybill.outcome_layer': 'stream',
      'waybill.outcome_reason': 'open_no_response_at_timeout',
      'waybill.outcome_source': 'wire',
      'waybill.sdk.outcome': 'TIMEOUT',
      'waybill.sdk.accepted': true,
      'waybill.flags': ['resumed', 'bom'],
      'waybill.stages': ['client.sent', 'client.timeout'],
      'waybill.stream.kind': 'sse',
      'waybill.stream.events': 3,
      'waybill.stream.bytes': 1790000000000000,
      'waybill.stream.final_response': false,
      'waybill.stream.end': 'open',
      'waybill.reply.state': 'cut',
      'waybill.receipt.id': 'r-01J9Z3K4',
      'waybill.receipt.state': 'pending',
      'waybill.receipt.log_index': 9007199254740991,
      'waybill.receipt.leaf_hash': '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      'waybill.args.digest': 'hmac-sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      'waybill.result.digest': '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      'waybill.instrumentation.degraded': ['transport.fetch'],
    } as const;
    const id = spanId();
    const sent = span({
      spanId: id,
      attributes,
      events: [{ name: 'waybill.client.sent', attributes: { 'waybill.stage.seq': 1 } }],
      traceState: 'ot=th:8',
    });
    expect(await post(collector.ports.http, 'traces', traces({}, [sent]))).toBe(200);
    const line = await until('the span in the file', () =>
      readFileSync(join(collector.data, 'traces.jsonl'), 'utf8')
        .split('\n')
        .find((text) => text.includes(id)),
    );
    const document = JSON.parse(line) as {
      resourceSpans: { scopeSpans: { spans: { attributes: { key: string; value: unknown }[] }[] }[] }[];
    };
    const got = document.resourceSpans[0]?.scopeSpans[0]?.spans[0];
    const wanted = sent as typeof got & object;
    // The processor counts what its list of allowed values let pass; that count is its own.
    const attributesGot = got?.attributes.filter(({ key }) => !key.startsWith('redaction.'));
    expect(new Map(attributesGot?.map(({ key, value }) => [key, value]))).toStrictEqual(
      new Map(wanted.attributes.map(({ key, value }) => [key, value])),
    );
    expect(line).toContain('"traceState":"ot=th:8"');
    expect(line).toContain('waybill.client.sent');
  });
});
