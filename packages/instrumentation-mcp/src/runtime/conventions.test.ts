import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import * as v1Sse from '@modelcontextprotocol/sdk/client/sse.js';
import * as v1Http from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import * as v1Server from '@modelcontextprotocol/sdk/server/index.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, McpError } from '@modelcontextprotocol/sdk/types.js';
import { SpanKind, SpanStatusCode, context, trace } from '@opentelemetry/api';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Harness, eventually, stagesOf, startHarness } from '../../test-support/harness.js';
import { listen, rawPeer } from '../../test-support/http.js';

let harness: Harness;
beforeAll(() => {
  harness = startHarness([v1Client, v1Http, v1Sse, v1Server]);
});
afterEach(() => harness.reset());
afterAll(() => harness.stop());

function makeServer(answer: () => Promise<unknown>): v1Server.Server {
  const server = new v1Server.Server({ name: 's', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(CallToolRequestSchema, async () => (await answer()) as never);
  return server;
}
const done = async (): Promise<unknown> => ({ content: [] });

async function inMemory(server: v1Server.Server): Promise<v1Client.Client> {
  const client = new v1Client.Client({ name: 'c', version: '1' });
  const [a, b] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(b), client.connect(a)]);
  return client;
}

describe('the status of a span', () => {
  it.each([
    ['no description, since no scrub looks at it', {}, undefined],
    [
      'the message of the peer where content is wanted',
      { captureContent: true },
      'MCP error -32050: of Anna',
    ],
  ])('has %s', async (_title, config, message) => {
    harness.config = config;
    const client = await inMemory(
      makeServer(async () => {
        throw new McpError(-32_050, 'of Anna');
      }),
    );
    await client.callTool({ name: 't' }).catch(() => undefined);
    for (const side of ['client', 'server'] as const) {
      const { status, attributes } = await harness.tool(side);
      expect(status.code).toBe(SpanStatusCode.ERROR);
      expect(status.message).toBe(message);
      expect(attributes).toMatchObject({ 'error.type': '-32050', 'rpc.response.status_code': '-32050' });
    }
    await client.close();
  });
});

type Serve = (request: IncomingMessage, response: ServerResponse) => Promise<void>;
const streamable = (): Serve => async (request, response) => {
  const transport = new StreamableHTTPServerTransport({});
  await makeServer(done).connect(transport);
  await transport.handleRequest(request, response);
};
const legacy = (): Serve => {
  let transport: SSEServerTransport | undefined;
  return async (request, response) => {
    if (request.method === 'GET') {
      transport = new SSEServerTransport('/messages', response);
      await makeServer(done).connect(transport);
    } else await transport?.handlePostMessage(request, response);
  };
};

it.each([
  ['Streamable HTTP', streamable, (url: URL) => new v1Http.StreamableHTTPClientTransport(url)],
  ['HTTP+SSE', legacy, (url: URL) => new v1Sse.SSEClientTransport(url)],
] as const)('a server span over %s names the other end of the socket', async (_title, serve, transport) => {
  const running = await listen(serve());
  const ports = new Set<number | undefined>();
  running.server.on('connection', (socket) => ports.add(socket.remotePort));
  const client = new v1Client.Client({ name: 'c', version: '1' });
  await client.connect(transport(running.url));
  await client.callTool({ name: 't' });
  const { attributes } = await harness.tool('server');
  expect(attributes['client.address']).toBe('127.0.0.1');
  expect(ports).toContain(attributes['client.port']);
  await client.close();
  await running.close();
});

it('a server span in memory names no client', async () => {
  const client = await inMemory(makeServer(done));
  await client.callTool({ name: 't' });
  const keys = Object.keys((await harness.tool('server')).attributes);
  expect(keys.filter((key) => key.startsWith('client.'))).toEqual([]);
  await client.close();
});

describe('the server span of another instrumentation', () => {
  /** As others do it: around `onmessage` of the transport, after the SDK has connected. */
  async function traced(): Promise<v1Client.Client> {
    const server = makeServer(done);
    const client = await inMemory(server);
    const { transport } = server;
    const inner = transport?.onmessage;
    const around: NonNullable<typeof inner> = (message, extra) => {
      const method = 'method' in message ? message.method : 'response';
      const span = trace.getTracer('other').startSpan(`${method} other`, {
        kind: SpanKind.SERVER,
        attributes: { 'mcp.method.name': method },
      });
      context.with(trace.setSpan(context.active(), span), () => inner?.(message, extra));
      setTimeout(() => span.end(), 20);
    };
    if (transport !== undefined) Object.assign(transport, { onmessage: around });
    return client;
  }
  const servers = () => harness.spans().filter((span) => span.kind === SpanKind.SERVER);

  it('takes our attributes and stages where that is asked for, and no second span is made', async () => {
    const client = await traced();
    harness.reset();
    harness.config = { spans: 'enrich' };
    await client.callTool({ name: 't' });
    const span = await harness.tool('server');
    expect(servers().map(({ name }) => name)).toEqual(['tools/call other']);
    const caller = await harness.tool('client');
    expect(span.attributes).toMatchObject({
      'waybill.outcome': 'TOOL_SUCCESS',
      'waybill.call.id': caller.attributes['waybill.call.id'],
      'waybill.reply.state': 'handed_over',
    });
    expect(stagesOf(span)).toEqual([
      'server.received',
      'server.handler_started',
      'server.handler_returned',
      'server.result_sent',
    ]);
    await client.close();
  });

  it('is left alone otherwise', async () => {
    const client = await traced();
    harness.reset();
    await client.callTool({ name: 't' });
    await eventually(() => (servers().length === 2 ? true : undefined));
    const names = servers().map(({ name }) => name);
    expect(names.toSorted((a, b) => a.localeCompare(b))).toEqual(['tools/call other', 'tools/call t']);
    await client.close();
  });
});

it.each(['logs', 'both'] as const)(
  'a late result is a log record too where stages are: %s',
  async (stageSignal) => {
    const peer = await rawPeer(async (request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(': hi\n\n');
      await new Promise((resolve) => setTimeout(resolve, 400));
      const message = { jsonrpc: '2.0', id: request.id, result: { content: [] } };
      response.end(`data: ${JSON.stringify(message)}\n\n`);
    });
    const client = new v1Client.Client({ name: 'c', version: '1' });
    await client.connect(new v1Http.StreamableHTTPClientTransport(peer.url));
    harness.reset();
    harness.config = { stageSignal };
    await client.callTool({ name: 't' }, undefined, { timeout: 100 }).catch(() => undefined);
    const late = await eventually(() =>
      harness.logs.find((record) => record.eventName === 'waybill.client.late_result'),
    );
    const span = await harness.tool('client');
    expect(late?.attributes).toMatchObject({
      'waybill.call.id': span.attributes['waybill.call.id'],
      'waybill.outcome': 'TOOL_SUCCESS',
      'waybill.stage.seq': 4,
    });
    await client.close();
    await peer.close();
  },
);
