import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import * as v1Http from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as v1Mcp from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import * as v2Client from '@modelcontextprotocol/client';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import * as v2Server from '@modelcontextprotocol/server';
import { SpanKind, SpanStatusCode, context, trace } from '@opentelemetry/api';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Harness, eventually, outcomeOf, stagesOf, startHarness } from '../../test-support/harness.js';
import { type RpcRequest, type Running, listen, rawPeer } from '../../test-support/http.js';

interface CallOptions {
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}
interface TestClient {
  call(tool?: string, options?: CallOptions): Promise<unknown>;
  close(): Promise<void>;
}

async function connectV1(url: URL): Promise<TestClient> {
  const client = new v1Client.Client({ name: 'c', version: '1' });
  const transport = new v1Http.StreamableHTTPClientTransport(url, {
    reconnectionOptions: {
      initialReconnectionDelay: 20,
      maxReconnectionDelay: 50,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 1,
    },
  });
  await client.connect(transport);
  return {
    call: (name = 't', options) => client.callTool({ name, arguments: { text: 'x' } }, undefined, options),
    close: () => client.close(),
  };
}
async function connectV2(url: URL, mode: 'legacy' | 'modern' = 'legacy'): Promise<TestClient> {
  const client = new v2Client.Client(
    { name: 'c', version: '1' },
    mode === 'modern' ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {},
  );
  await client.connect(
    new v2Client.StreamableHTTPClientTransport(url, {
      reconnectionOptions: {
        initialReconnectionDelay: 20,
        maxReconnectionDelay: 50,
        reconnectionDelayGrowFactor: 1,
        maxRetries: 1,
      },
    }),
  );
  return {
    call: (name = 't', options) => client.callTool({ name, arguments: { text: 'x' } }, options),
    close: () => client.close(),
  };
}

type Tool = (args: { readonly text: string }) => Promise<object>;

async function serveV1(tool: Tool, json: boolean): Promise<Running> {
  return listen(async (request, response) => {
    const server = new v1Mcp.McpServer({ name: 's1', version: '1' });
    server.registerTool(
      't',
      { inputSchema: { text: z.string() } },
      async (args) => (await tool(args)) as never,
    );
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: json });
    await server.connect(transport);
    await transport.handleRequest(request, response);
  });
}
async function serveV2(tool: Tool, json: boolean): Promise<Running> {
  return listen(async (request, response) => {
    const server = new v2Server.McpServer({ name: 's2', version: '1' });
    server.registerTool(
      't',
      { inputSchema: z.object({ text: z.string() }) },
      async (args) => (await tool(args)) as never,
    );
    const transport = new NodeStreamableHTTPServerTransport({ enableJsonResponse: json });
    await server.connect(transport);
    await transport.handleRequest(request, response);
  });
}
async function serveModern(tool: Tool): Promise<Running> {
  const handler = v2Server.createMcpHandler(() => {
    const server = new v2Server.McpServer({ name: 's3', version: '1' });
    server.registerTool(
      't',
      { inputSchema: z.object({ text: z.string() }) },
      async (args) => (await tool(args)) as never,
    );
    return server;
  });
  return listen(toNodeHandler(handler));
}

let harness: Harness;
beforeAll(() => {
  harness = startHarness([v1Client, v1Http, v1Mcp, v2Client, v2Server]);
});
afterEach(() => harness.reset());
afterAll(() => harness.stop());

const ok: Tool = async ({ text }) => ({ content: [{ type: 'text', text }] });

describe.each([
  ['SDK 1.x, event stream', (tool: Tool) => serveV1(tool, false), connectV1, 'sse'],
  ['SDK 1.x, JSON', (tool: Tool) => serveV1(tool, true), connectV1, 'json'],
  ['SDK 2.x, event stream', (tool: Tool) => serveV2(tool, false), connectV2, 'sse'],
  ['SDK 2.x, JSON', (tool: Tool) => serveV2(tool, true), connectV2, 'json'],
  ['SDK 2.x, 2026-07-28', serveModern, (url: URL) => connectV2(url, 'modern'), 'json'],
] as const)('%s', (name, serve, connect, kind) => {
  it('shows both sides of a call, the stream and the flushed reply', async () => {
    const running = await serve(ok);
    const client = await connect(running.url);
    expect(await client.call()).toMatchObject({ content: [{ type: 'text', text: 'x' }] });
    const caller = await harness.tool('client');
    const server = await harness.tool('server');
    expect(server.parentSpanContext?.spanId).toBe(caller.spanContext().spanId);
    expect(outcomeOf(caller)).toEqual({
      'waybill.outcome': 'TOOL_SUCCESS',
      'waybill.outcome_layer': 'application',
      'waybill.outcome_source': 'wire',
    });
    expect(caller.attributes).toMatchObject({
      'waybill.stream.kind': kind,
      'waybill.stream.final_response': true,
      'waybill.stream.end': 'result',
      'network.transport': 'tcp',
      'network.protocol.name': 'http',
      'server.address': '127.0.0.1',
      'server.port': Number(running.url.port),
      'http.response.status_code': 200,
      'mcp.protocol.version': name.includes('2026') ? '2026-07-28' : '2025-11-25',
    });
    expect(caller.attributes['waybill.stream.bytes']).toBeGreaterThan(40);
    expect(stagesOf(caller)).toEqual(['client.sent', 'client.result_received']);
    expect(stagesOf(server)).toEqual([
      'server.received',
      'server.handler_started',
      'server.handler_returned',
      'server.result_sent',
      'server.result_flushed',
    ]);
    expect(server.attributes['waybill.reply.state']).toBe('flushed');
    expect(server.attributes['waybill.call.id']).toBe(caller.attributes['waybill.call.id']);
    await client.close();
    await running.close();
  });

  it('tells a reply that its socket did not take', async () => {
    let socket: { destroy(): void } | undefined;
    const running = await serve(async () => {
      socket?.destroy();
      await new Promise((resolve) => setTimeout(resolve, 30));
      return { content: [] };
    });
    const client = await connect(running.url);
    if ('server' in running) {
      (
        running.server as {
          on(event: string, listener: (value: { socket: { destroy(): void } }) => void): void;
        }
      ).on('request', (request) => {
        socket = request.socket;
      });
    }
    await client.call('t', { timeout: 200 }).catch(() => undefined);
    const server = await harness.tool('server');
    expect(['cut', 'dropped']).toContain(server.attributes['waybill.reply.state']);
    expect(stagesOf(server)).toContain('server.result_dropped');
    expect(stagesOf(server)).not.toContain('server.result_flushed');
    expect(server.status.code).toBe(SpanStatusCode.UNSET);
    await client.close();
    await running.close();
  });

  it('links the ambient HTTP span, which is no ancestor of the call', async () => {
    const running = await serve(ok);
    const tracer = trace.getTracer('http');
    const http =
      'server' in running
        ? (running.server as { emit: (event: string, ...args: unknown[]) => boolean })
        : undefined;
    const emit = http?.emit.bind(http);
    if (http !== undefined && emit !== undefined) {
      http.emit = (event, ...args) => {
        if (event !== 'request') return emit(event, ...args);
        const span = tracer.startSpan('POST /mcp', { kind: SpanKind.SERVER });
        return context.with(trace.setSpan(context.active(), span), () => {
          (args[1] as ServerResponse).once('close', () => span.end());
          return emit(event, ...args);
        });
      };
    }
    const client = await connect(running.url);
    await client.call();
    const server = await harness.tool('server');
    expect(server.links.map((link) => link.attributes?.['waybill.link.kind'])).toEqual(['ambient_http']);
    await client.close();
    await running.close();
  });
});

const RESULT = { content: [{ type: 'text', text: 'x' }] };
const rpc = (id: unknown, body: object): string => JSON.stringify({ jsonrpc: '2.0', id, ...body });
type Answer = (request: RpcRequest, response: ServerResponse) => void | Promise<void>;
const json =
  (text: (id: unknown) => string, status = 200): Answer =>
  (request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(text(request.id));
  };
const sse =
  (chunks: (id: unknown) => readonly string[], end: 'fin' | 'rst' | 'hold'): Answer =>
  async (request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    for (const chunk of chunks(request.id)) {
      response.write(chunk);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    if (end === 'fin') response.end();
    if (end === 'rst') response.socket?.resetAndDestroy();
  };

const faults: readonly [string, Answer, Record<string, unknown>, readonly string[]][] = [
  [
    '503',
    json(() => 'busy', 503),
    { 'waybill.outcome': 'HTTP_ERROR', 'error.type': '503' },
    ['client.sent', 'client.failed'],
  ],
  [
    'malformed JSON',
    json(() => '{nope'),
    {
      'waybill.outcome': 'MALFORMED_JSON',
      'waybill.outcome_reason': 'syntax',
      'error.type': 'malformed_json',
    },
    ['client.sent', 'client.failed'],
  ],
  [
    'result and error together',
    json((id) => rpc(id, { result: RESULT, error: { code: 1, message: 'm' } })),
    {
      'waybill.outcome': 'INVALID_ENVELOPE',
      'waybill.outcome_reason': 'both_members',
      'error.type': 'invalid_envelope',
    },
    ['client.sent', 'client.failed'],
  ],
  [
    'a JSON-RPC error',
    json((id) => rpc(id, { error: { code: -32603, message: 'm' } })),
    { 'waybill.outcome': 'JSONRPC_ERROR', 'error.type': '-32603' },
    ['client.sent', 'client.result_received'],
  ],
  [
    'a wrong id',
    json(() => rpc(4711, { result: RESULT })),
    { 'waybill.outcome': 'INVALID_ENVELOPE', 'waybill.outcome_reason': 'id_mismatch' },
    ['client.sent', 'client.timeout', 'client.cancel_sent'],
  ],
  [
    'content that is no array',
    json((id) => rpc(id, { result: { content: 'x' } })),
    { 'waybill.outcome': 'INVALID_TOOL_RESULT', 'error.type': 'invalid_tool_result' },
    ['client.sent', 'client.result_received'],
  ],
  [
    'an event stream that ends without a result',
    sse(() => [': hi\n\n'], 'fin'),
    {
      'waybill.outcome': 'STREAM_INCOMPLETE',
      'waybill.outcome_reason': 'closed_before_response',
      'error.type': 'stream_incomplete',
    },
    ['client.sent', 'client.stream_closed', 'client.timeout', 'client.cancel_sent'],
  ],
  [
    'an event stream that is reset',
    sse(() => ['data: {"jsonrpc":'], 'rst'),
    { 'waybill.outcome': 'STREAM_INCOMPLETE', 'waybill.outcome_reason': 'reset_mid_event' },
    ['client.sent', 'client.stream_closed', 'client.timeout', 'client.cancel_sent'],
  ],
  [
    'an event stream that stays open',
    sse(() => [': hi\n\n'], 'hold'),
    { 'waybill.outcome': 'STREAM_INCOMPLETE', 'waybill.outcome_reason': 'open_no_response_at_timeout' },
    ['client.sent', 'client.timeout', 'client.cancel_sent'],
  ],
  [
    'headers alone',
    sse(() => [], 'hold'),
    { 'waybill.outcome': 'TIMEOUT', 'error.type': 'timeout' },
    ['client.sent', 'client.timeout', 'client.cancel_sent'],
  ],
  [
    '202 to a request',
    (_request, response) => {
      response.writeHead(202).end();
    },
    { 'waybill.outcome': 'INVALID_ENVELOPE', 'waybill.outcome_reason': 'accepted_without_response' },
    ['client.sent', 'client.timeout', 'client.cancel_sent'],
  ],
  [
    'a connection reset before the headers',
    (_request, response) => {
      response.socket?.resetAndDestroy();
    },
    { 'waybill.outcome': 'TRANSPORT_ERROR', 'waybill.outcome_reason': 'reset' },
    ['client.sent', 'client.failed'],
  ],
];

describe.each([
  ['SDK 1.x', connectV1],
  ['SDK 2.x', connectV2],
] as const)('the client of %s', (_name, connect) => {
  it.each(faults)('reads %s from the wire', async (_title, answer, expected, stages) => {
    const peer = await rawPeer((request, response) => {
      if (request.method === 'tools/call') return answer(request, response);
      response.writeHead(404).end();
      return undefined;
    });
    const client = await connect(peer.url);
    await client
      .call('t', { timeout: stages.includes('client.timeout') ? 500 : 10_000 })
      .catch(() => undefined);
    const span = await harness.tool('client');
    expect(outcomeOf(span)).toMatchObject(expected);
    expect(stagesOf(span)).toEqual(stages);
    await client.close();
    await peer.close();
  });

  it('counts a resumed stream as the same call', async () => {
    let id: unknown;
    const peer = await rawPeer((request, response) => {
      if (request.method === 'tools/call') {
        id = request.id;
        return sse(() => ['id: 1\ndata: \n\n'], 'fin')(request, response);
      }
      return sse(() => [`data: ${rpc(id, { result: RESULT })}\n\n`], 'fin')(request, response);
    });
    const client = await connect(peer.url);
    await client.call('t', { timeout: 2000 });
    const span = await harness.tool('client');
    expect(outcomeOf(span)['waybill.outcome']).toBe('TOOL_SUCCESS');
    expect(span.attributes['waybill.flags']).toEqual(['resumed']);
    expect(stagesOf(span)).toEqual([
      'client.sent',
      'client.stream_closed',
      'client.stream_resumed',
      'client.result_received',
    ]);
    await client.close();
    await peer.close();
  });

  it('records a late result beside the call, and in the journal', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'waybill-late-'));
    const journal = join(folder, 'stages.jsonl');
    harness.config = { stageJournal: journal };
    const peer = await rawPeer(async (request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(': hi\n\n');
      await new Promise((resolve) => setTimeout(resolve, 1500));
      response.end(`data: ${rpc(request.id, { result: RESULT })}\n\n`);
    });
    const client = await connect(peer.url);
    await client.call('t', { timeout: 500 }).catch(() => undefined);
    const late = await eventually(() => harness.spans().find((span) => span.name === 'waybill.late_result'));
    const span = await harness.tool('client');
    expect(outcomeOf(span)['waybill.outcome']).toBe('STREAM_INCOMPLETE');
    expect(late?.links.map((link) => link.context.spanId)).toEqual([span.spanContext().spanId]);
    expect(late?.attributes).toMatchObject({
      'waybill.call.id': span.attributes['waybill.call.id'],
      'waybill.flags': ['late_result'],
    });
    expect(late?.events.map((event) => event.attributes)).toEqual([
      { 'waybill.outcome': 'TOOL_SUCCESS', 'waybill.stage.seq': 4 },
    ]);
    const last = readFileSync(journal, 'utf8').trimEnd().split('\n').at(-1) ?? '';
    expect(last).toContain('"eventName":"waybill.client.late_result"');
    expect(last).toContain('{"key":"waybill.stage.seq","value":{"intValue":"4"}}');
    rmSync(folder, { recursive: true });
    harness.config = {};
    await client.close();
    await peer.close();
  });

  it('tells an abort from a timeout', async () => {
    const peer = await rawPeer(sse(() => [': hi\n\n'], 'hold'));
    const client = await connect(peer.url);
    const abort = new AbortController();
    setTimeout(() => abort.abort(new Error('enough')), 40);
    await client.call('t', { signal: abort.signal, timeout: 2000 }).catch(() => undefined);
    const span = await harness.tool('client');
    expect(outcomeOf(span)['waybill.outcome']).toBe('CANCELLED');
    expect(stagesOf(span)).toEqual(['client.sent', 'client.cancelled', 'client.cancel_sent']);
    await client.close();
    await peer.close();
  });

  it('sends trace context and ids in _meta and nothing else that is new', async () => {
    const peer = await rawPeer(json((id) => rpc(id, { result: RESULT })));
    const client = await connect(peer.url);
    await client.call();
    const span = await harness.tool('client');
    const call = peer.seen.find((request) => request.method === 'tools/call');
    const { _meta: meta, ...others } = call?.params ?? {};
    expect(others).toEqual({ name: 't', arguments: { text: 'x' } });
    expect(meta).toEqual({
      traceparent: `00-${span.spanContext().traceId}-${span.spanContext().spanId}-01`,
      'io.waybill/callId': span.attributes['waybill.call.id'],
      'io.waybill/operationSource': 'generated',
      'io.waybill/operationId': span.attributes['waybill.operation.id'],
      'io.waybill/runId': span.attributes['waybill.run.id'],
    });
    await client.close();
    await peer.close();
  });
});
