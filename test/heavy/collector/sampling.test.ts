import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { EFFECT_KINDS, type EffectKind, OUTCOMES, type Outcome } from '@waybill/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { post, span, spanId, spansOfLines, traceId, traces } from './support/otlp.js';
import { type Running, program, scrape, startCollector, sumOf, until } from './support/programs.js';
import { type Sink, startSink } from './support/sink.js';

const path = program('collector');
const CALLS = 20_000;
const PER_REQUEST = 100;

interface Call {
  readonly trace: string;
  readonly kind: EffectKind;
  readonly outcome: Outcome;
  readonly client: string;
  readonly server: string;
}

/** Repeatable numbers in [0, 1): the seed is printed with the result. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function makeCalls(seed: number): readonly Call[] {
  const random = randomFrom(seed);
  const pick = <T>(from: readonly T[]): T => {
    const one = from[Math.floor(random() * from.length)];
    if (one === undefined) throw new Error('an empty list');
    return one;
  };
  return Array.from({ length: CALLS }, () => ({
    trace: traceId(),
    // Most calls of an agent are reads that end well; the rest is spread over everything.
    kind: random() < 0.8 ? 'read' : pick(EFFECT_KINDS),
    outcome: random() < 0.9 ? 'TOOL_SUCCESS' : (pick(OUTCOMES).outcome as Outcome),
    client: spanId(),
    server: spanId(),
  }));
}

describe.skipIf(path === undefined)('20,000 calls at 5 %', () => {
  const seed = 20_261_130;
  const calls = makeCalls(seed);
  let sink: Sink;
  let store: Running;
  let collector: Running;
  let kept: ReadonlySet<string>;

  beforeAll(async () => {
    if (path === undefined) return;
    sink = await startSink();
    store = await startCollector(path, { config: './store.yaml' });
    collector = await startCollector(path, {
      config: 'audit-first.yaml',
      env: {
        WAYBILL_SERVE: sink.url,
        WAYBILL_VIEW: `127.0.0.1:${String(store.ports.grpc)}`,
        WAYBILL_DECISION_WAIT: '3s',
      },
    });
    const started = Date.now();
    // The halves of a call come from two processes, in requests of their own.
    for (let at = 0; at < calls.length; at += PER_REQUEST) {
      const some = calls.slice(at, at + PER_REQUEST);
      const half = (side: 'client' | 'server') =>
        traces(
          { service: side === 'client' ? 'agent' : 'todo-mcp' },
          some.map((call) =>
            span({
              traceId: call.trace,
              spanId: side === 'client' ? call.client : call.server,
              ...(side === 'server' ? { parentSpanId: call.client } : {}),
              kind: side,
              attributes: {
                'mcp.method.name': 'tools/call',
                'gen_ai.tool.name': 'set_status',
                'waybill.call.id': call.client,
                'waybill.effect.kind': call.kind,
                // What the client made of it; the server had answered well.
                'waybill.outcome': side === 'client' ? call.outcome : 'TOOL_SUCCESS',
              },
            }),
          ),
        );
      const statuses = await Promise.all([
        post(collector.ports.http, 'traces', half('client')),
        post(collector.ports.http, 'traces', half('server')),
      ]);
      expect(statuses).toStrictEqual([200, 200]);
    }
    const seconds = (Date.now() - started) / 1000;
    process.stdout.write(
      `sampling: seed ${String(seed)}, ${String(CALLS * 2)} spans acknowledged in ${seconds.toFixed(1)} s, requests of ${String(PER_REQUEST)}\n`,
    );
    await until(
      'everything at the audit backend',
      () => (sink.spans.size >= CALLS * 2 ? true : undefined),
      120_000,
    );
    // Until nothing more comes: the tail sampler decides by ticks.
    const stored = (): string => readFileSync(join(store.data, 'store.jsonl'), 'utf8');
    let size = -1;
    while (stored().length !== size) {
      size = stored().length;
      await delay(6_000);
    }
    const self = await scrape(collector.ports.self);
    expect(sumOf(self, 'otelcol_exporter_enqueue_failed_spans', { exporter: 'otlp_grpc/view' })).toBe(0);
    expect(sumOf(self, 'otelcol_processor_tail_sampling_sampling_trace_dropped_too_early')).toBe(0);
    kept = new Set([...spansOfLines(stored())].map(({ spanId: id }) => id));
  });
  afterAll(async () => {
    if (path === undefined) return;
    await collector.stop();
    await store.stop();
    await sink.close();
    collector.remove();
    store.remove();
  });

  const mustStay = (call: Call): boolean => call.kind !== 'read' || call.outcome !== 'TOOL_SUCCESS';

  it('keeps both halves of every side-effecting and every non-successful call', () => {
    const owed = calls.filter(mustStay);
    const missing = owed.filter(({ client, server }) => !kept.has(client) || !kept.has(server));
    expect(owed.length).toBeGreaterThan(2_000);
    expect(missing).toStrictEqual([]);
  });

  it('keeps about 5 % of the reads that ended well, whole', () => {
    const rest = calls.filter((call) => !mustStay(call));
    const whole = rest.filter(({ client, server }) => kept.has(client) && kept.has(server)).length;
    const half = rest.filter(({ client, server }) => kept.has(client) !== kept.has(server)).length;
    process.stdout.write(
      `sampling: ${String(calls.length - rest.length)} owed and kept; of ${String(rest.length)} reads ${String(whole)} kept (${((100 * whole) / rest.length).toFixed(2)} %)\n`,
    );
    expect(half).toBe(0);
    expect(whole / rest.length).toBeGreaterThan(0.04);
    expect(whole / rest.length).toBeLessThan(0.06);
  });

  it('gives the audit backend every span once', () => {
    expect(sink.spans.size).toBe(CALLS * 2);
    expect([...sink.spans.values()].every((times) => times === 1)).toBe(true);
  });

  it('counts outcomes as they were, before the sampling', async () => {
    const truth = new Map<string, number>();
    for (const { kind, outcome } of calls) {
      const key = `${kind} ${outcome}`;
      truth.set(key, (truth.get(key) ?? 0) + 1);
    }
    const samples = await until('all calls in the metrics', async () => {
      const page = await scrape(collector.ports.metrics);
      return sumOf(page, 'waybill_calls_total') >= CALLS * 2 ? page : undefined;
    });
    const counted = new Map<string, number>();
    for (const key of truth.keys()) {
      const [kind = '', outcome = ''] = key.split(' ');
      counted.set(
        key,
        sumOf(samples, 'waybill_calls_total', {
          span_kind: 'SPAN_KIND_CLIENT',
          waybill_effect_kind: kind,
          waybill_outcome: outcome,
        }),
      );
    }
    expect(Object.fromEntries(counted)).toStrictEqual(Object.fromEntries(truth));
    expect(
      sumOf(samples, 'waybill_calls_total', {
        span_kind: 'SPAN_KIND_SERVER',
        waybill_outcome: 'TOOL_SUCCESS',
      }),
    ).toBe(CALLS);
  });
});
