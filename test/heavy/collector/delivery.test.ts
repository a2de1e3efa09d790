import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { logs, post, span, spanId, spansOfLines, traceId, traces } from './support/otlp.js';
import { type Running, freePort, program, scrape, startCollector, sumOf, until } from './support/programs.js';
import { type Sink, startSink } from './support/sink.js';

const path = program('collector');
const cleanUp: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const task of cleanUp.splice(0).reverse()) await task();
});

async function collector(options: Parameters<typeof startCollector>[1]): Promise<Running> {
  const running = await startCollector(path ?? '', options);
  cleanUp.push(async () => {
    await running.stop();
    if (options.again === undefined) running.remove();
  });
  return running;
}
async function backend(port?: number): Promise<Sink> {
  const sink = await startSink(port);
  cleanUp.push(() => sink.close());
  return sink;
}

const write = {
  'mcp.method.name': 'tools/call',
  'gen_ai.tool.name': 'set_status',
  'waybill.effect.kind': 'write',
};

/** One request with that many spans, each in a trace of its own. */
function request(ids: readonly string[]): object {
  return traces(
    {},
    ids.map((id) =>
      span({ traceId: traceId(), spanId: id, attributes: { ...write, 'waybill.call.id': id } }),
    ),
  );
}
const someIds = (count: number): readonly string[] => Array.from({ length: count }, () => spanId());

describe.skipIf(path === undefined)('the audit branch, audit first', () => {
  it('loses nothing that was acknowledged when the Collector is killed under load, five times', async () => {
    const sink = await backend();
    const store = await collector({ config: './store.yaml' });
    const env = { WAYBILL_SERVE: sink.url, WAYBILL_VIEW: `127.0.0.1:${String(store.ports.grpc)}` };
    let running = await collector({ config: 'audit-first.yaml', env });
    const acknowledged = new Set<string>();
    let unanswered = 0;
    for (let round = 0; round < 5; round += 1) {
      // Half of the rounds with a backend that refuses: then the queue holds everything at the moment of the kill.
      sink.answer(round % 2 === 0 ? 503 : 200);
      const load = { on: true };
      const senders = Array.from({ length: 4 }, async () => {
        while (load.on) {
          const ids = someIds(20);
          const status = await post(running.ports.http, 'traces', request(ids), 5_000);
          if (status === 200) for (const id of ids) acknowledged.add(id);
          else unanswered += ids.length;
        }
      });
      await delay(1_200);
      await running.kill();
      load.on = false;
      await Promise.all(senders);
      running = await collector({ config: 'audit-first.yaml', env, again: running });
    }
    sink.answer(200);
    await until(
      'every acknowledged span at the backend',
      () => ([...acknowledged].every((id) => sink.spans.has(id)) ? true : undefined),
      120_000,
    ).catch(() => undefined);
    const lost = [...acknowledged].filter((id) => !sink.spans.has(id));
    await delay(3_000);
    const viewed = new Set(
      [...spansOfLines(readFileSync(join(store.data, 'store.jsonl'), 'utf8'))].map(({ spanId: id }) => id),
    );
    const repeated = [...sink.spans.values()].filter((times) => times > 1).length;
    process.stdout.write(
      `5 SIGKILLs: ${String(acknowledged.size)} spans acknowledged, ${String(lost.length)} lost, ${String(repeated)} delivered more than once, ${String(unanswered)} never answered; the viewing branch lost ${String([...acknowledged].filter((id) => !viewed.has(id)).length)}\n`,
    );
    expect(acknowledged.size).toBeGreaterThan(500);
    expect(lost).toStrictEqual([]);
  });

  it('holds the sender when the queue is full, and loses nothing when the backend is back', async () => {
    const sink = await backend();
    const store = await collector({ config: './store.yaml' });
    sink.answer(503, { 'retry-after': '1' });
    const running = await collector({
      config: 'audit-first.yaml',
      env: {
        WAYBILL_SERVE: sink.url,
        WAYBILL_VIEW: `127.0.0.1:${String(store.ports.grpc)}`,
        WAYBILL_QUEUE: '10',
      },
    });
    const sent = Array.from({ length: 30 }, () => someIds(5));
    const started = Date.now();
    const outcomes = await Promise.all(
      sent.map((ids) => post(running.ports.http, 'traces', request(ids), 4_000)),
    );
    const held = outcomes.filter((status) => status === 'no answer').length;
    expect(Date.now() - started).toBeGreaterThan(3_500);
    expect(outcomes.filter((status) => status === 200).length).toBeGreaterThanOrEqual(10);
    expect(held).toBeGreaterThan(0);
    const full = await scrape(running.ports.self);
    expect(
      sumOf(full, 'otelcol_exporter_queue_size', { exporter: 'otlp_http/audit', data_type: 'traces' }),
    ).toBeGreaterThanOrEqual(10);

    sink.answer(200);
    const acknowledged = sent.filter((_, index) => outcomes[index] === 200).flat();
    await until(
      'the acknowledged spans',
      () => (acknowledged.every((id) => sink.spans.has(id)) ? true : undefined),
      60_000,
    );
    process.stdout.write(
      `queue of 10, backend down: ${String(outcomes.filter((status) => status === 200).length)} of 30 requests acknowledged, ${String(held)} held until the sender gave up; none of the acknowledged lost\n`,
    );
  });

  it('delivers what was queued while nothing listened, once something does', async () => {
    const port = await freePort();
    const store = await collector({ config: './store.yaml' });
    const running = await collector({
      config: 'audit-first.yaml',
      env: {
        WAYBILL_SERVE: `http://127.0.0.1:${String(port)}`,
        WAYBILL_VIEW: `127.0.0.1:${String(store.ports.grpc)}`,
      },
    });
    const ids = someIds(50);
    expect(await post(running.ports.http, 'traces', request(ids))).toBe(200);
    await delay(2_000);
    const sink = await backend(port);
    await until('the spans', () => (ids.every((id) => sink.spans.has(id)) ? true : undefined), 60_000);
  });

  it.each([
    { status: 429, kept: true },
    { status: 502, kept: true },
    { status: 503, kept: true },
    { status: 504, kept: true },
    { status: 400, kept: false },
    { status: 404, kept: false },
    { status: 408, kept: false },
    { status: 413, kept: false },
    { status: 500, kept: false },
  ])('a backend that answers $status once: the request is tried again: $kept', async ({ status, kept }) => {
    const sink = await backend();
    sink.answer(status);
    const running = await collector({ config: 'audit-first.yaml', env: { WAYBILL_SERVE: sink.url } });
    const ids = someIds(1);
    expect(await post(running.ports.http, 'traces', request(ids))).toBe(200);
    await delay(700);
    sink.answer(200);
    if (kept) {
      await until('the span', () => (ids.every((id) => sink.spans.has(id)) ? true : undefined), 30_000);
      return;
    }
    const failed = await until('the loss in the metrics', async () => {
      const page = await scrape(running.ports.self);
      return sumOf(page, 'otelcol_exporter_send_failed_spans', { exporter: 'otlp_http/audit' }) || undefined;
    });
    expect(failed).toBe(1);
    expect(sink.spans.size).toBe(0);
  });

  it('refuses or cleans a span whose attributes have types that nobody expects', async () => {
    const sink = await backend();
    const running = await collector({ config: 'audit-first.yaml', env: { WAYBILL_SERVE: sink.url } });
    const status = await post(running.ports.http, 'traces', {
      resourceSpans: [
        {
          scopeSpans: [
            {
              spans: [
                {
                  traceId: traceId(),
                  spanId: spanId(),
                  name: 'x',
                  attributes: [
                    {
                      key: 'mcp.method.name',
                      value: { bytesValue: Buffer.from('raw-bytes').toString('base64') },
                    },
                    {
                      key: 'error.type',
                      value: { kvlistValue: { values: [{ key: 'a', value: { doubleValue: 'NaN' } }] } },
                    },
                    {
                      key: 'gen_ai.tool.name',
                      value: { arrayValue: { values: [{}, { stringValue: 'deep-secret-text here' }] } },
                    },
                    {
                      key: 'waybill.flags',
                      value: { arrayValue: { values: [{ stringValue: 'prose, and more of it' }] } },
                    },
                    { key: 'waybill.operation.id', value: {} },
                  ],
                },
              ],
            },
          ],
        },
      ],
    });
    await delay(1_500);
    const everything = sink.bodies.map((body) => body.toString('latin1')).join('');
    expect([200, 400, 500, 503]).toContain(status);
    expect(everything).not.toContain('deep-secret');
    expect(everything).not.toContain('prose');
    expect(everything).not.toContain('raw-bytes');
    process.stdout.write(
      `a span of odd types: ${String(status)}, ${String(sink.bodies.length)} request(s) at the backend\n`,
    );
  });
});

describe.skipIf(path === undefined)('a scrub that fails', () => {
  it('lets nothing through and says so to the sender', async () => {
    const sink = await backend();
    const running = await collector({
      config: 'audit-first.yaml',
      extra: ['./failing-scrub.yaml'],
      env: { WAYBILL_SERVE: sink.url },
    });
    expect(await post(running.ports.http, 'traces', request(someIds(1)))).toBe(503);
    await delay(1_500);
    expect(sink.bodies).toStrictEqual([]);
    // With rotation the file is made by its first write.
    expect(existsSync(join(running.data, 'traces.jsonl'))).toBe(false);
  });
});

describe.skipIf(path === undefined)('links', () => {
  const linked = traces({}, [
    span({ attributes: write, links: [{ attributes: { note: 'text-in-a-link' } }] }),
    span({
      attributes: { ...write, 'waybill.call.id': 'c-1' },
      links: [{ attributes: { 'waybill.link.kind': 'retry_of' } }],
    }),
  ]);
  const leaves = async (sink: Sink): Promise<string> => {
    await until('the spans', () => (sink.spans.size === 2 ? true : undefined));
    return sink.bodies.map((body) => body.toString('latin1')).join('');
  };

  it('pass the scrub with their attributes: the known hole', async () => {
    const sink = await backend();
    const running = await collector({ config: 'audit-first.yaml', env: { WAYBILL_SERVE: sink.url } });
    expect(await post(running.ports.http, 'traces', linked)).toBe(200);
    expect(await leaves(sink)).toContain('text-in-a-link');
  });

  it('are deleted from foreign spans by drop-links.yaml, and stay on those of Waybill', async () => {
    const sink = await backend();
    const running = await collector({
      config: 'audit-first.yaml',
      extra: ['drop-links.yaml'],
      gates: ['ottl.set.allowNil'],
      env: { WAYBILL_SERVE: sink.url },
    });
    expect(await post(running.ports.http, 'traces', linked)).toBe(200);
    const left = await leaves(sink);
    expect(left).not.toContain('text-in-a-link');
    expect(left).toContain('retry_of');
  });
});

describe.skipIf(path === undefined)('the audit branch, view first', () => {
  it('neither holds the sender nor the view when its queue is full, and counts what it loses', async () => {
    const sink = await backend();
    const store = await collector({ config: './store.yaml' });
    sink.answer(503);
    const running = await collector({
      config: 'view-first.yaml',
      env: {
        WAYBILL_SERVE: sink.url,
        WAYBILL_VIEW: `127.0.0.1:${String(store.ports.grpc)}`,
        WAYBILL_QUEUE: '2',
        WAYBILL_DECISION_WAIT: '1s',
      },
    });
    const ids: string[] = [];
    const times: number[] = [];
    for (let index = 0; index < 20; index += 1) {
      const some = someIds(5);
      const started = Date.now();
      expect(await post(running.ports.http, 'traces', request(some))).toBe(200);
      times.push(Date.now() - started);
      ids.push(...some);
      // Longer than the batch's timeout: each request is a batch of its own.
      await delay(250);
    }
    await until('all spans in the view', () => {
      const text = readFileSync(join(store.data, 'store.jsonl'), 'utf8');
      return ids.every((id) => text.includes(id)) ? true : undefined;
    });
    const page = await scrape(running.ports.self);
    const lost = sumOf(page, 'otelcol_exporter_enqueue_failed_spans', { exporter: 'otlp_http/audit' });
    expect(Math.max(...times)).toBeLessThan(2_000);
    expect(lost).toBeGreaterThan(0);
    sink.answer(200);
    await until(
      'the rest at the backend',
      () => (sink.spans.size + lost >= ids.length ? true : undefined),
      60_000,
    );
    expect(sink.spans.size + lost).toBe(ids.length);
    process.stdout.write(
      `view first, queue of 2, backend down: 100 spans acknowledged (slowest answer ${String(Math.max(...times))} ms) and viewed, ${String(lost)} lost for the audit and counted\n`,
    );
  });
});

describe.skipIf(path === undefined)('verdicts and findings', () => {
  it('come back by a receiver of their own, keep their trace, and are not audited again', async () => {
    const sink = await backend();
    const running = await collector({ config: 'audit-first.yaml', env: { WAYBILL_SERVE: sink.url } });
    const finding = logs({ service: 'waybill' }, [
      {
        eventName: 'waybill.finding',
        body: 'The caller gave up on row-42:done:v1; the effect was confirmed. Owner: jane.roe@mail.example',
        attributes: {
          'waybill.operation.id': 'row-42:done:v1',
          'waybill.finding.rule': 'reply-lost',
          note: 'text-of-somebody-else',
        },
      },
    ]);
    expect(await post(running.ports.findings, 'logs', finding)).toBe(200);
    const line = await until('the finding in its file', () => {
      const text = readFileSync(join(running.data, 'findings.jsonl'), 'utf8');
      return text === '' ? undefined : text;
    });
    expect(line).toContain('The caller gave up on row-42:done:v1');
    expect(line).toContain('reply-lost');
    expect(line).toMatch(/"traceId":"[0-9a-f]{32}"/);
    expect(line).not.toContain('jane.roe');
    expect(line).not.toContain('text-of-somebody-else');
    await delay(1_500);
    expect(sink.bodies).toStrictEqual([]);
  });
});

describe.skipIf(path === undefined)('ClickHouse that is down', () => {
  const nobody = async (): Promise<string> => `tcp://127.0.0.1:${String(await freePort())}`;

  it('keeps the Collector from starting while the tables are to be created', async () => {
    const starting = startCollector(path ?? '', {
      config: 'clickhouse.yaml',
      env: { WAYBILL_CLICKHOUSE: await nobody() },
    });
    await expect(starting).rejects.toThrow('create database');
  });

  it('is what the queue is for once they are there', async () => {
    const running = await collector({
      config: 'clickhouse.yaml',
      env: { WAYBILL_CLICKHOUSE: await nobody(), WAYBILL_CLICKHOUSE_SCHEMA: 'false' },
    });
    expect(await post(running.ports.http, 'traces', request(someIds(3)))).toBe(200);
    const page = await scrape(running.ports.self);
    expect(
      sumOf(page, 'otelcol_exporter_queue_size', { exporter: 'clickhouse/audit', data_type: 'traces' }),
    ).toBe(1);
  });
});

describe.skipIf(path === undefined)('two tiers', () => {
  it('bring all spans of a trace to one host, also when tier 1 is killed and a host is down for a while', async () => {
    const sinks = [await backend(), await backend()];
    const tier2 = await Promise.all(
      sinks.map((sink) => collector({ config: 'audit-first.yaml', env: { WAYBILL_SERVE: sink.url } })),
    );
    const [a, b] = tier2;
    const [sinkA, sinkB] = sinks;
    if (!a || !b || !sinkA || !sinkB) throw new Error('two hosts');
    const env = {
      WAYBILL_TIER2_A: `127.0.0.1:${String(a.ports.grpc)}`,
      WAYBILL_TIER2_B: `127.0.0.1:${String(b.ports.grpc)}`,
    };
    let tier1 = await collector({ config: 'gateway-loadbalancing.yaml', env });
    const pairs = Array.from({ length: 200 }, () => ({
      trace: traceId(),
      client: spanId(),
      server: spanId(),
    }));
    const send = async (side: 'client' | 'server', from: number, to: number): Promise<void> => {
      const body = traces(
        { service: side },
        pairs.slice(from, to).map((pair) =>
          span({
            traceId: pair.trace,
            spanId: pair[side],
            kind: side,
            attributes: { ...write, 'waybill.call.id': pair.client },
          }),
        ),
      );
      expect(await post(tier1.ports.http, 'traces', body)).toBe(200);
    };
    await send('client', 0, 100);
    await b.kill();
    await send('client', 100, 200);
    await send('server', 0, 100);
    await tier1.kill();
    tier1 = await collector({ config: 'gateway-loadbalancing.yaml', env, again: tier1 });
    const back = await collector({ config: 'audit-first.yaml', env: { WAYBILL_SERVE: sinkB.url }, again: b });
    await send('server', 100, 200);
    await until(
      'all spans at the two backends',
      () => {
        const all = new Set([...sinkA.spans.keys(), ...sinkB.spans.keys()]);
        return pairs.every(({ client, server }) => all.has(client) && all.has(server)) ? true : undefined;
      },
      90_000,
    );
    const split = pairs.filter(({ client, server }) => sinkA.spans.has(client) !== sinkA.spans.has(server));
    process.stdout.write(
      `two tiers: ${String(sinkA.spans.size)} and ${String(sinkB.spans.size)} spans, ${String(split.length)} of 200 traces split\n`,
    );
    expect(split).toStrictEqual([]);
    expect(sinkA.spans.size).toBeGreaterThan(0);
    expect(sinkB.spans.size).toBeGreaterThan(0);
    expect(back.ports).toStrictEqual(b.ports);
  });
});
