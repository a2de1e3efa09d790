import type { IncomingMessage, ServerResponse } from 'node:http';
import * as v1Auth from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import * as v1Sse from '@modelcontextprotocol/sdk/client/sse.js';
import * as v1Http from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as v1Mcp from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import * as v2Client from '@modelcontextprotocol/client';
import * as v2Server from '@modelcontextprotocol/server';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { SpanKind, context, trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Harness, outcomeOf, stagesOf, startHarness } from '../../test-support/harness.js';
import { type Running, bodyOf, listen } from '../../test-support/http.js';

let harness: Harness;
beforeAll(() => {
  harness = startHarness([v1Client, v1Http, v1Sse, v1Mcp, v2Client, v2Server]);
});
afterEach(() => harness.reset());
afterAll(() => harness.stop());

interface Rpc {
  readonly id?: unknown;
  readonly method: string;
  readonly params?: Record<string, unknown>;
}
/** Refuses the first tools/call that reaches it, and nothing else. */
type Refusal = (response: ServerResponse) => void;

/** Takes the parsed body of a request, as body parsers hand it on. */
type Endpoint = (request: IncomingMessage, response: ServerResponse, body: Rpc) => Promise<void>;

const tool = async (): Promise<{ content: [{ type: 'text'; text: string }] }> => ({
  content: [{ type: 'text', text: 'done' }],
});

const v1Endpoint: Endpoint = async (request, response, body) => {
  const server = new v1Mcp.McpServer({ name: 's1', version: '1' });
  server.registerTool('t', {}, tool);
  const transport = new StreamableHTTPServerTransport({});
  await server.connect(transport);
  await transport.handleRequest(request, response, body);
};
const v2Handler = toNodeHandler(
  v2Server.createMcpHandler(() => {
    const server = new v2Server.McpServer({ name: 's2', version: '1' });
    server.registerTool('t', { inputSchema: z.object({}) }, tool);
    return server;
  }),
);
const v2Endpoint: Endpoint = async (request, response, body) => {
  await v2Handler(request, response, body);
};

interface Refusing extends Running {
  readonly calls: Rpc[];
}

/** A real server behind a gate that refuses the first tools/call; it gives out tokens too. */
async function refusing(refusal: Refusal, endpoint: Endpoint): Promise<Refusing> {
  const calls: Rpc[] = [];
  const running = await listen(async (request, response) => {
    const path = request.url ?? '';
    if (path.startsWith('/.well-known/') || request.method !== 'POST') {
      response.writeHead(path.startsWith('/.well-known/') ? 404 : 405).end();
      return;
    }
    const text = await bodyOf(request);
    if (path === '/token') {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ access_token: 'a', token_type: 'Bearer', scope: 'b' }));
      return;
    }
    const rpc = JSON.parse(text) as Rpc;
    if (rpc.method === 'tools/call' && calls.push(rpc) === 1) refusal(response);
    else await endpoint(request, response, rpc);
  });
  return { ...running, calls };
}

const unauthorized: Refusal = (response) => {
  response.writeHead(401, { 'www-authenticate': 'Bearer' }).end('who are you');
};
const insufficient: Refusal = (response) => {
  const challenge = 'Bearer error="insufficient_scope", scope="b"';
  response.writeHead(403, { 'www-authenticate': challenge }).end('not yet');
};
const redirect =
  (status: number): Refusal =>
  (response) => {
    response.writeHead(status, { location: '/other' }).end();
  };

interface TestClient {
  call(): Promise<unknown>;
  close(): Promise<void>;
}
const CALL = { name: 't', arguments: { note: 'same "io.waybill/callId":"x"' }, _meta: { own: 1 } };
const connectV1 = async (url: URL): Promise<TestClient> => {
  const client = new v1Client.Client({ name: 'c', version: '1' });
  const authProvider = new v1Auth.ClientCredentialsProvider({
    clientId: 'c',
    clientSecret: 's',
    expectedIssuer: url.origin,
  });
  await client.connect(new v1Http.StreamableHTTPClientTransport(url, { authProvider }));
  return { call: () => client.callTool(CALL), close: () => client.close() };
};
const connectV2 = async (url: URL, modern: boolean): Promise<TestClient> => {
  const client = new v2Client.Client(
    { name: 'c', version: '1' },
    modern ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {},
  );
  const authProvider = new v2Client.ClientCredentialsProvider({
    clientId: 'c',
    clientSecret: 's',
    expectedIssuer: url.origin,
  });
  await client.connect(new v2Client.StreamableHTTPClientTransport(url, { authProvider }));
  return { call: () => client.callTool(CALL), close: () => client.close() };
};

const callsOf = (kind: SpanKind): ReadableSpan[] =>
  harness
    .spans()
    .filter((span) => span.kind === kind && span.attributes['mcp.method.name'] === 'tools/call')
    .toSorted(
      (a, b) => Number(a.attributes['waybill.call.number']) - Number(b.attributes['waybill.call.number']),
    );
const callIdIn = (rpc: Rpc | undefined): unknown =>
  (rpc?.params?.['_meta'] as Record<string, unknown> | undefined)?.['io.waybill/callId'];

describe.each([
  ['SDK 1.x', v1Endpoint, connectV1],
  ['SDK 2.x', v1Endpoint, (url: URL) => connectV2(url, false)],
  ['SDK 2.x, 2026-07-28', v2Endpoint, (url: URL) => connectV2(url, true)],
] as const)('%s: a request that is sent again', (_sdk, endpoint, connect) => {
  it.each([
    ['with a token after 401', unauthorized, 401, 'sdk'],
    ['with more rights after 403', insufficient, 403, 'sdk'],
    ['to another place after 307', redirect(307), 307, 'redirect'],
    ['to another place after 308', redirect(308), 308, 'redirect'],
  ] as const)('%s is a leg of its own, of the same operation', async (_title, refusal, status, origin) => {
    const running = await refusing(refusal, endpoint);
    const client = await connect(running.url);
    expect(await client.call()).toMatchObject({ content: [{ type: 'text', text: 'done' }] });
    const server = await harness.tool('server');
    const [first, second, ...others] = callsOf(SpanKind.CLIENT);
    expect(others).toEqual([]);
    expect(first && outcomeOf(first)).toEqual({
      'waybill.outcome': 'HTTP_ERROR',
      'waybill.outcome_layer': 'transport',
      'waybill.outcome_source': 'wire',
      'error.type': String(status),
    });
    expect(first && stagesOf(first)).toEqual(['client.sent', 'client.failed']);
    expect(first?.attributes).toMatchObject({
      'http.response.status_code': status,
      'waybill.retry.origin': 'none',
      'waybill.call.attempt': 1,
    });
    expect(second && stagesOf(second)).toEqual(['client.sent', 'client.result_received']);
    expect(second?.attributes).toMatchObject({
      'waybill.outcome': 'TOOL_SUCCESS',
      'waybill.retry.origin': origin,
      'waybill.call.attempt': 2,
      'waybill.operation.id': first?.attributes['waybill.operation.id'],
      'waybill.run.id': first?.attributes['waybill.run.id'],
      'jsonrpc.request.id': first?.attributes['jsonrpc.request.id'],
      'waybill.stream.final_response': true,
    });
    expect(second?.attributes).not.toHaveProperty('waybill.call.continues');
    expect(second?.links.map(({ context: { spanId }, attributes }) => [spanId, attributes])).toEqual([
      [first?.spanContext().spanId, { 'waybill.link.kind': 'retry_of' }],
    ]);
    const ids = [first, second].map((span) => span?.attributes['waybill.call.id']);
    expect(new Set(ids).size).toBe(2);
    expect(running.calls.map(callIdIn)).toEqual(ids);
    // What is sent again differs in the ids of the leg alone.
    const [before, after] = running.calls.map((rpc) => JSON.stringify(rpc));
    expect(
      after
        ?.replace(String(ids[1]), String(ids[0]))
        .replace(second?.spanContext().spanId ?? '', first?.spanContext().spanId ?? ''),
    ).toBe(before);
    expect(server.attributes['waybill.call.id']).toBe(ids[1]);
    expect(server.parentSpanContext?.spanId).toBe(second?.spanContext().spanId);
    expect(second?.spanContext().traceId).toBe(first?.spanContext().traceId);
    await client.close();
    await running.close();
  });

  it('begins when the leg before it has ended', async () => {
    const running = await refusing(redirect(307), endpoint);
    const client = await connect(running.url);
    await client.call();
    const [first, second] = callsOf(SpanKind.CLIENT);
    expect(second?.startTime).toEqual(first?.endTime);
    await client.close();
    await running.close();
  });

  it('is a sibling of the leg before it where a span was active', async () => {
    const running = await refusing(unauthorized, endpoint);
    const client = await connect(running.url);
    const agent = trace.getTracer('agent').startSpan('agent');
    await context.with(trace.setSpan(context.active(), agent), () => client.call());
    agent.end();
    expect(callsOf(SpanKind.CLIENT).map((span) => span.parentSpanContext?.spanId)).toEqual([
      agent.spanContext().spanId,
      agent.spanContext().spanId,
    ]);
    await client.close();
    await running.close();
  });

  it('has the body as it was where ids do not travel', async () => {
    const running = await refusing(redirect(307), endpoint);
    const client = await connect(running.url);
    harness.config = { propagateIds: 'none' };
    await client.call();
    expect(running.calls.map(callIdIn)).toEqual([undefined, undefined]);
    expect(callsOf(SpanKind.CLIENT).map((span) => span.attributes['waybill.retry.origin'])).toEqual([
      'none',
      'redirect',
    ]);
    await client.close();
    await running.close();
  });
});

it('a refusal that is not answered by sending again stays one leg', async () => {
  const running = await refusing((response) => response.writeHead(401).end(), v1Endpoint);
  const client = new v1Client.Client({ name: 'c', version: '1' });
  await client.connect(new v1Http.StreamableHTTPClientTransport(running.url));
  await expect(client.callTool(CALL)).rejects.toThrow('Error POSTing to endpoint');
  expect(callsOf(SpanKind.CLIENT).map((span) => span.attributes['waybill.outcome'])).toEqual(['HTTP_ERROR']);
  await client.close();
  await running.close();
});

it('a redirect that fetch itself follows repeats the bytes: one leg with one hand-over', async () => {
  const running = await refusing(redirect(307), v1Endpoint);
  const client = new v2Client.Client({ name: 'c', version: '1' });
  const transport = new v2Client.StreamableHTTPClientTransport(running.url, { redirectPolicy: 'follow' });
  await client.connect(transport);
  await client.callTool(CALL);
  const [only, ...others] = callsOf(SpanKind.CLIENT);
  expect(others).toEqual([]);
  expect(only && stagesOf(only)).toEqual(['client.sent', 'client.result_received']);
  expect(new Set(running.calls.map(callIdIn))).toEqual(new Set([only?.attributes['waybill.call.id']]));
  await client.close();
  await running.close();
});

it('HTTP+SSE: a POST that is sent again with a token is a leg of its own', async () => {
  let transport: SSEServerTransport | undefined;
  const calls: Rpc[] = [];
  const running = await listen(async (request, response) => {
    if (request.method === 'GET' && request.url === '/mcp') {
      const server = new v1Mcp.McpServer({ name: 's', version: '1' });
      server.registerTool('t', {}, tool);
      transport = new SSEServerTransport('/messages', response);
      await server.connect(transport);
      return;
    }
    const text = request.method === 'POST' ? await bodyOf(request) : '';
    if (request.url?.startsWith('/messages') !== true) {
      response.writeHead(request.url === '/token' ? 200 : 404, { 'content-type': 'application/json' });
      response.end('{"access_token":"a","token_type":"Bearer"}');
      return;
    }
    const rpc = JSON.parse(text) as Rpc;
    if (rpc.method === 'tools/call' && calls.push(rpc) === 1) unauthorized(response);
    else await transport?.handlePostMessage(request, response, rpc);
  });
  const client = new v1Client.Client({ name: 'c', version: '1' });
  const authProvider = new v1Auth.ClientCredentialsProvider({
    clientId: 'c',
    clientSecret: 's',
    expectedIssuer: running.url.origin,
  });
  await client.connect(new v1Sse.SSEClientTransport(running.url, { authProvider }));
  await client.callTool(CALL);
  const legs = callsOf(SpanKind.CLIENT);
  expect(legs.map((span) => span.attributes['waybill.outcome'])).toEqual(['HTTP_ERROR', 'TOOL_SUCCESS']);
  expect(calls.map(callIdIn)).toEqual(legs.map((span) => span.attributes['waybill.call.id']));
  await client.close();
  await running.close();
});

it('a request that is no tool call stays one span, whatever it takes to send it', async () => {
  let posts = 0;
  const running = await listen(async (request, response) => {
    const rpc = request.method === 'POST' ? (JSON.parse(await bodyOf(request)) as Rpc) : undefined;
    if (rpc === undefined) response.writeHead(405).end();
    else if (rpc.method === 'initialize' && ++posts === 1) redirect(307)(response);
    else await v1Endpoint(request, response, rpc);
  });
  const client = new v1Client.Client({ name: 'c', version: '1' });
  await client.connect(new v1Http.StreamableHTTPClientTransport(running.url));
  const handshakes = harness
    .spans()
    .filter((span) => span.kind === SpanKind.CLIENT && span.name === 'initialize');
  expect([posts, handshakes.length]).toEqual([2, 1]);
  await client.close();
  await running.close();
});

it('a request that a filter leaves alone is not taken for one that its neighbour sends again', async () => {
  harness.config = { ignoreCall: (info) => info.side === 'client' && info.method === 'tools/list' };
  const running = await listen(async (request, response) => {
    const rpc = request.method === 'POST' ? (JSON.parse(await bodyOf(request)) as Rpc) : undefined;
    if (rpc === undefined) {
      response.writeHead(405).end();
      return;
    }
    const server = new v1Mcp.McpServer({ name: 's', version: '1' });
    server.registerTool('t', {}, async (extra) => {
      await extra.sendNotification({ method: 'notifications/message', params: { level: 'info', data: 1 } });
      await new Promise((resolve) => setTimeout(resolve, 50));
      return tool();
    });
    server.server.registerCapabilities({ logging: {} });
    const transport = new StreamableHTTPServerTransport({});
    await server.connect(transport);
    await transport.handleRequest(request, response, rpc);
  });
  const client = new v1Client.Client({ name: 'c', version: '1' });
  let listed: Promise<unknown> | undefined;
  client.setNotificationHandler(LoggingMessageNotificationSchema, () => {
    listed = client.listTools();
  });
  await client.connect(new v1Http.StreamableHTTPClientTransport(running.url));
  await client.callTool(CALL);
  await listed;
  const legs = callsOf(SpanKind.CLIENT);
  expect(legs.map(stagesOf)).toEqual([['client.sent', 'client.result_received']]);
  await client.close();
  await running.close();
});
