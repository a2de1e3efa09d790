import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import * as v1Mcp from '@modelcontextprotocol/sdk/server/mcp.js';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { DURATION_BOUNDARIES_SECONDS } from '@waybill/core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Harness, startHarness } from '../../test-support/harness.js';

const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 1_000_000 });
const provider = new MeterProvider({ readers: [reader] });
let harness: Harness;
beforeAll(() => {
  harness = startHarness([v1Client, v1Mcp], {}, () => provider.getMeter('test'));
});
afterAll(async () => {
  await harness.stop();
  await provider.shutdown();
});

it('measures every request and counts tool calls by outcome, without ids', async () => {
  const server = new v1Mcp.McpServer({ name: 's', version: '1' });
  server.registerTool('t', { annotations: { destructiveHint: true } }, async () => ({ content: [] }));
  server.registerTool('bad', {}, async () => ({ content: [], isError: true }));
  const client = new v1Client.Client({ name: 'c', version: '1' });
  const [a, b] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(b), client.connect(a)]);
  await client.callTool({ name: 't', arguments: {} });
  await client.callTool({ name: 't', arguments: {} });
  await client.callTool({ name: 'bad', arguments: {} });
  await harness.tool('server', 2);
  await client.close();
  await reader.forceFlush();
  const data = new Map<string, MetricData>();
  for (const { scopeMetrics } of exporter.getMetrics()) {
    for (const { metrics } of scopeMetrics)
      for (const metric of metrics) data.set(metric.descriptor.name, metric);
  }
  for (const side of ['client', 'server'] as const) {
    const calls = data.get(`waybill.${side}.calls`);
    expect(calls?.descriptor.unit).toBe('{call}');
    const kind = side === 'server' ? 'destructive' : 'unknown';
    expect(calls?.dataPoints.map(({ attributes, value }) => ({ ...attributes, value }))).toEqual([
      { 'waybill.outcome': 'TOOL_SUCCESS', 'gen_ai.tool.name': 't', 'waybill.effect.kind': kind, value: 2 },
      {
        'waybill.outcome': 'TOOL_ERROR',
        'gen_ai.tool.name': 'bad',
        'waybill.effect.kind': 'unknown',
        value: 1,
      },
    ]);
    const duration = data.get(`mcp.${side}.operation.duration`);
    expect(duration?.descriptor.unit).toBe('s');
    const points = duration?.dataPoints ?? [];
    expect(points.map((point) => point.attributes['mcp.method.name'])).toContain('initialize');
    expect(points.map((point) => point.attributes['error.type'])).toContain('tool_error');
    expect(points[0]?.value).toMatchObject({ buckets: { boundaries: [...DURATION_BOUNDARIES_SECONDS] } });
    const keys = new Set(points.flatMap((point) => Object.keys(point.attributes)));
    expect([...keys].filter((key) => key.startsWith('waybill.') || key.includes('.id'))).toEqual([]);
  }
});
