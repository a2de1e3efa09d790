import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { collect } from './collect.test-support.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const SHAPES = path.join(ROOT, 'test/cases/shapes');
/** Exports of other people: read where they lie, never copied. */
const FILES = path.join(ROOT, '../shared/cases/files');

/** Shapes that cannot hold all of the others; each says what is different. */
const DIFFERENT = new Set([
  's03-single-span.json',
  's03-truncated-last-line.jsonl',
  's03-numbers-upperhex.json',
  's03-noscope-noresource.json',
]);

async function shape(name: string): ReturnType<typeof collect> {
  return collect({ kind: 'file', id: 's1', path: path.join(SHAPES, name), found: false });
}

describe('one export in every shape', () => {
  const same = readdirSync(SHAPES).filter((name) => !DIFFERENT.has(name));

  it.each(same)('%s holds the same spans, undamaged', async (name) => {
    const expected = await shape('s03-hex.json');
    const { spans, summary } = await shape(name);
    expect(expected.spans).toHaveLength(2);
    expect(spans.map(({ at: _at, ...span }) => span)).toEqual(
      expected.spans.map(({ at: _at, ...span }) => span),
    );
    expect(summary.damaged).toEqual([]);
  });

  it('aliases become the keys of the vocabulary', async () => {
    const { spans } = await shape('s03-hex.json');
    expect(spans[0]?.attributes).toMatchObject({
      'waybill.call.id': 'c-1',
      'waybill.operation.id': 'row-42:done:v1',
      'waybill.run.id': 'run-1',
    });
    expect(spans[0]?.events[0]?.attributes).toEqual({ 'waybill.stage.seq': 1 });
  });

  it('a bare span is one side', async () => {
    const { spans } = await shape('s03-single-span.json');
    const expected = await shape('s03-hex.json');
    expect(spans).toHaveLength(1);
    expect(spans[0]?.attributes).toEqual(expected.spans[0]?.attributes);
    expect(spans[0]?.resource.serviceName).toBe('');
  });

  it('a truncated last line is damage with its line; the line before is read', async () => {
    const { spans, summary } = await shape('s03-truncated-last-line.jsonl');
    expect(spans).toHaveLength(1);
    expect(summary.damaged).toMatchObject([
      { at: { source: 's1', line: 2 }, reason: 'the record ends early' },
    ]);
  });

  it('times written as numbers above 2^53 keep their last digit', async () => {
    const { spans } = await shape('s03-numbers-upperhex.json');
    expect(spans[0]?.startTimeUnixNano).toBe(1790000000000000001n);
    expect(spans[0]?.events[0]?.timeUnixNano).toBe(1790000000001000001n);
    expect(spans[0]?.traceId).toBe('4bf92f3577b34da6a3ce929d0e0e4736');
  });

  it('without scope and resource the spans are the same, the service is empty', async () => {
    const { spans } = await shape('s03-noscope-noresource.json');
    expect(spans.map((span) => span.resource.serviceName)).toEqual(['', '']);
    expect(spans.map((span) => span.scope.name)).toEqual(['', '']);
  });
});

const present = existsSync(FILES);
if (!present) console.warn(`skipped: no exports of other people at ${FILES}`);

describe.skipIf(!present)('exports of other people', () => {
  it.each([
    ['contrib-jaegerproto_batch_01.json', 'jaeger-json', 1, 0],
    ['envoy-aigw-single-span-chat-openai-agents.json', 'otlp-json', 1, 0],
    ['jaeger-apiv3-GetTrace.json', 'otlp-json', 1, 0],
    ['jaeger-mcp-agntcy-get-inventory.json', 'jaeger-json', 77, 0],
    ['jaeger-mcp-agntcy-interfaces-R1-status.json', 'jaeger-json', 188, 0],
    ['jaeger-otlp2jaeger-in.otlp.json', 'otlp-json', 2, 0],
    ['jaeger-otlp2jaeger-out.jaegerui.json', 'jaeger-json', 2, 0],
    ['langfuse-claude-agent-2025-12-22.trace.json', 'none', 0, 1],
    ['lquerel-flat-2_traces.jsonl', 'otlp-jsonl', 35, 0],
    ['otlp-proto-example-trace.json', 'otlp-json', 1, 0],
    ['tempo-tempopb-trace.json', 'otlp-json', 1, 0],
  ])('%s is %s with %d spans and %d damaged places', async (name, format, count, damaged) => {
    const { summary } = await collect({ kind: 'file', id: 's1', path: path.join(FILES, name), found: false });
    expect(summary).toMatchObject({ format, spans: count });
    expect(summary.damaged).toHaveLength(damaged);
  });

  it('the same spans as OTLP and as Jaeger JSON agree but for what Jaeger loses', async () => {
    const file = (name: string): ReturnType<typeof collect> =>
      collect({ kind: 'file', id: 's1', path: path.join(FILES, name), found: false });
    const otlp = await file('jaeger-otlp2jaeger-in.otlp.json');
    const jaeger = await file('jaeger-otlp2jaeger-out.jaegerui.json');
    const keep = ({ at: _at, lossy: _lossy, flags: _flags, ...span }: (typeof otlp.spans)[number]): object =>
      span;
    expect(jaeger.spans.map(keep)).toEqual(otlp.spans.map(keep));
    expect(jaeger.spans[0]?.lossy).toContain('nanoseconds');
  });
});
