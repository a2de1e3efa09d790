import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import * as v1Http from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import * as v1Mcp from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import * as v2Client from '@modelcontextprotocol/client';
import { toNodeHandler } from '@modelcontextprotocol/node';
import * as v2Server from '@modelcontextprotocol/server';
import type { Attributes } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Harness, startHarness } from '../../test-support/harness.js';
import { listen } from '../../test-support/http.js';

/** Of the MCP conventions, docs/gen-ai/mcp.md: the same for all four histograms. */
const BOUNDARIES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

const exporter = new InMemoryMetricExporter(AggregationTemporality.DELTA);
const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 1_000_000 });
const provider = new MeterProvider({ readers: [reader] });
let harness: Harness;
beforeAll(() => {
  harness = startHarness([v1Client, v1Http, v1Mcp, v2Client, v2Server], {}, () => provider.getMeter('test'));
});
afterEach(async () => {
  await reader.forceFlush();
  exporter.reset();
  harness.reset();
});
afterAll(async () => {
  await harness.stop();
  await provider.shutdown();
});

async function collected(): Promise<Map<string, MetricData>> {
  await reader.forceFlush();
  const data = new Map<string, MetricData>();
  for (const { scopeMetrics } of exporter.getMetrics()) {
    for (const { metrics } of scopeMetrics)
      for (const metric of metrics) data.set(metric.descriptor.name, metric);
  }
  return data;
}

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
  const data = await collected();
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
    expect(points[0]?.value).toMatchObject({ buckets: { boundaries: BOUNDARIES } });
    const keys = new Set(points.flatMap((point) => Object.keys(point.attributes)));
    expect([...keys].filter((key) => key.startsWith('waybill.') || key.includes('.id'))).toEqual([]);
  }
  expect([...data.keys()].filter((name) => name.includes('session'))).toEqual([]);
});

describe('the duration of a session, where it is asked for', () => {
  const sessions = async (): Promise<Record<'client' | 'server', Attributes[]>> => {
    const data = await collected();
    const side = (name: 'client' | 'server'): Attributes[] => {
      const metric = data.get(`mcp.${name}.session.duration`);
      if (metric !== undefined) {
        expect(metric.descriptor.unit).toBe('s');
        expect(metric.dataPoints[0]?.value).toMatchObject({ count: 1, buckets: { boundaries: BOUNDARIES } });
      }
      return (metric?.dataPoints ?? []).map((point) => point.attributes);
    };
    return { client: side('client'), server: side('server') };
  };

  it('is measured on both sides, once, from connect to close', async () => {
    harness.config = { sessionMetrics: true };
    const server = new v1Mcp.McpServer({ name: 's', version: '1' });
    const client = new v2Client.Client({ name: 'c', version: '1' });
    const [a, b] = InMemoryTransport.createLinkedPair();
    await Promise.all([server.connect(b), client.connect(a as never)]);
    await client.close();
    await server.close();
    const attributes = { 'mcp.protocol.version': '2025-11-25' };
    expect(await sessions()).toEqual({ client: [attributes], server: [attributes] });
  });

  it('names the error of a handshake that failed', async () => {
    harness.config = { sessionMetrics: true };
    const [a, b] = InMemoryTransport.createLinkedPair();
    const refuse = (message: { readonly id?: unknown }): void => {
      if (message.id === undefined) return;
      void b.send({ jsonrpc: '2.0', id: message.id, error: { code: -32_000, message: 'no' } } as never);
    };
    Object.assign(b, { onmessage: refuse });
    await b.start();
    const client = new v1Client.Client({ name: 'c', version: '1' });
    await expect(client.connect(a)).rejects.toThrow('no');
    expect((await sessions()).client).toEqual([{ 'error.type': '-32000' }]);
  });

  const overHttp = { 'network.transport': 'tcp', 'network.protocol.name': 'http' };
  it('is measured over HTTP where the server has a session, until it is deleted', async () => {
    harness.config = { sessionMetrics: true };
    let transport: StreamableHTTPServerTransport | undefined;
    const running = await listen(async (request, response) => {
      if (transport === undefined) {
        transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => 'session-1' });
        await new v1Mcp.McpServer({ name: 's', version: '1' }).connect(transport);
      }
      await transport.handleRequest(request, response);
    });
    const client = new v1Client.Client({ name: 'c', version: '1' });
    const clientTransport = new v1Http.StreamableHTTPClientTransport(running.url);
    await client.connect(clientTransport);
    await clientTransport.terminateSession();
    await client.close();
    const version = { 'mcp.protocol.version': '2025-11-25' };
    expect(await sessions()).toEqual({
      client: [
        {
          ...overHttp,
          ...version,
          'server.address': '127.0.0.1',
          'server.port': Number(running.url.port),
        },
      ],
      server: [{ ...overHttp, ...version }],
    });
    await running.close();
  });

  it('is not measured for a stateless server, which is connected for each request', async () => {
    harness.config = { sessionMetrics: true };
    const running = await listen(async (request, response) => {
      const transport = new StreamableHTTPServerTransport({});
      const server = new v1Mcp.McpServer({ name: 's', version: '1' });
      await server.connect(transport);
      await transport.handleRequest(request, response);
      await server.close();
    });
    const client = new v1Client.Client({ name: 'c', version: '1' });
    await client.connect(new v1Http.StreamableHTTPClientTransport(running.url));
    await client.close();
    const { client: seen, server } = await sessions();
    expect([seen.length, server.length]).toEqual([1, 0]);
    await running.close();
  });

  it('is not measured under 2026-07-28, which has no sessions', async () => {
    harness.config = { sessionMetrics: true };
    const handler = v2Server.createMcpHandler(() => new v2Server.McpServer({ name: 's', version: '1' }));
    const running = await listen(toNodeHandler(handler));
    const client = new v2Client.Client(
      { name: 'c', version: '1' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    await client.connect(new v2Client.StreamableHTTPClientTransport(running.url));
    await client.close();
    expect(await sessions()).toEqual({ client: [], server: [] });
    await running.close();
  });
});
