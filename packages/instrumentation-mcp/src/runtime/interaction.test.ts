import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import * as v1Http from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as v1Server from '@modelcontextprotocol/sdk/server/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import * as v2Client from '@modelcontextprotocol/client';
import { toNodeHandler } from '@modelcontextprotocol/node';
import * as v2Server from '@modelcontextprotocol/server';
import { SpanKind, context, trace } from '@opentelemetry/api';
import { withOperation } from '@waybill/api';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Harness, startHarness } from '../../test-support/harness.js';
import { type Running, listen, rawPeer } from '../../test-support/http.js';

let harness: Harness;
beforeAll(() => {
  harness = startHarness([v1Client, v1Http, v1Server, v2Client, v2Server]);
});
afterEach(() => harness.reset());
afterAll(() => harness.stop());

const clientCalls = () =>
  harness
    .spans()
    .filter((span) => span.kind === SpanKind.CLIENT && span.attributes['mcp.method.name'] === 'tools/call')
    .toSorted(
      (a, b) => Number(a.attributes['waybill.call.number']) - Number(b.attributes['waybill.call.number']),
    );

async function serveQuestion(): Promise<Running> {
  const confirm = z.object({ confirm: z.boolean() });
  const handler = v2Server.createMcpHandler(() => {
    const server = new v2Server.McpServer({ name: 'deployer', version: '1' });
    server.registerTool('deploy', { inputSchema: z.object({ env: z.string() }) }, async (_args, ctx) => {
      const accepted = v2Server.acceptedContent(ctx.mcpReq.inputResponses, 'confirm', confirm);
      if (accepted?.confirm === true) return { content: [{ type: 'text', text: 'done' }] };
      return v2Server.inputRequired({
        inputRequests: {
          confirm: v2Server.inputRequired.elicit({ message: 'Sure?', requestedSchema: confirm }),
        },
      });
    });
    return server;
  });
  return listen(toNodeHandler(handler));
}

describe('a call in several rounds (2026-07-28)', () => {
  const connect = async (url: URL, options: object = {}): Promise<v2Client.Client> => {
    const client = new v2Client.Client(
      { name: 'c', version: '1' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } }, capabilities: { elicitation: {} }, ...options },
    );
    client.setRequestHandler('elicitation/create', async () => ({
      action: 'accept',
      content: { confirm: true },
    }));
    await client.connect(new v2Client.StreamableHTTPClientTransport(url));
    return client;
  };

  it('is two legs of one operation, of which the second continues the first and is no retry', async () => {
    const running = await serveQuestion();
    const client = await connect(running.url);
    await client.callTool({ name: 'deploy', arguments: { env: 'prod' } });
    const [first, second] = clientCalls();
    expect(clientCalls()).toHaveLength(2);
    expect(first?.attributes['waybill.outcome']).toBe('INPUT_REQUIRED');
    expect(second?.attributes['waybill.outcome']).toBe('TOOL_SUCCESS');
    expect(second?.attributes['waybill.call.continues']).toBe(first?.attributes['waybill.call.id']);
    expect(second?.attributes['waybill.operation.id']).toBe(first?.attributes['waybill.operation.id']);
    expect(second?.attributes['waybill.call.id']).not.toBe(first?.attributes['waybill.call.id']);
    expect(second?.attributes).toMatchObject({ 'waybill.call.attempt': 1, 'waybill.retry.origin': 'none' });
    expect(second?.links.map((link) => link.attributes?.['waybill.link.kind'])).toEqual(['previous_leg']);
    expect(second?.spanContext().traceId).toBe(first?.spanContext().traceId);
    const servers = [await harness.tool('server', 0), await harness.tool('server', 1)];
    expect(new Set(servers.map((span) => span.attributes['waybill.call.id']))).toEqual(
      new Set([first, second].map((span) => span?.attributes['waybill.call.id'])),
    );
    expect(new Set(servers.map((span) => span.parentSpanContext?.spanId))).toEqual(
      new Set([first, second].map((span) => span?.spanContext().spanId)),
    );
    await client.close();
    await running.close();
  });

  it('hangs both legs under one INTERNAL span where no span was active, and under the active one otherwise', async () => {
    const running = await serveQuestion();
    const client = await connect(running.url);
    await client.callTool({ name: 'deploy', arguments: { env: 'prod' } });
    const above = harness.spans().find((span) => span.kind === SpanKind.INTERNAL);
    expect(above?.name).toBe('execute_tool deploy');
    expect(clientCalls()[1]?.parentSpanContext?.spanId).toBe(above?.spanContext().spanId);
    harness.exporter.reset();
    const agent = trace.getTracer('agent').startSpan('agent');
    await context.with(trace.setSpan(context.active(), agent), () =>
      client.callTool({ name: 'deploy', arguments: { env: 'prod' } }),
    );
    agent.end();
    expect(
      harness
        .spans()
        .filter((span) => span.kind === SpanKind.INTERNAL)
        .map((span) => span.name),
    ).toEqual(['agent']);
    expect(clientCalls().map((span) => span.parentSpanContext?.spanId)).toEqual([
      agent.spanContext().spanId,
      agent.spanContext().spanId,
    ]);
    await client.close();
    await running.close();
  });

  it('is joined too where the application makes the rounds itself', async () => {
    const running = await serveQuestion();
    const client = await connect(running.url);
    const call = { name: 'deploy', arguments: { env: 'prod' } };
    const schema = z.looseObject({});
    await client.request({ method: 'tools/call', params: call }, schema, {
      allowInputRequired: true,
    } as never);
    await client.request(
      {
        method: 'tools/call',
        params: { ...call, inputResponses: { confirm: { action: 'accept', content: { confirm: true } } } },
      } as never,
      schema,
      { allowInputRequired: true } as never,
    );
    const [first, second] = clientCalls();
    expect(first?.attributes['waybill.outcome']).toBe('INPUT_REQUIRED');
    expect(second?.attributes['waybill.call.continues']).toBe(first?.attributes['waybill.call.id']);
    await client.close();
    await running.close();
  });
});

describe('a request that the SDK sends again by itself', () => {
  it('is a second leg with the origin sdk (HeaderMismatch)', async () => {
    let calls = 0;
    const peer = await rawPeer((rpc, response) => {
      const body =
        rpc.method === 'server/discover'
          ? {
              result: {
                resultType: 'complete',
                ttlMs: 0,
                cacheScope: 'private',
                supportedVersions: ['2026-07-28'],
                capabilities: { tools: {} },
                serverInfo: { name: 'r', version: '1' },
              },
            }
          : ++calls === 1
            ? { error: { code: -32020, message: 'header mismatch' } }
            : { result: { resultType: 'complete', content: [] } };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: rpc.id, ...body }));
    });
    const client = new v2Client.Client(
      { name: 'c', version: '1' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    await client.connect(new v2Client.StreamableHTTPClientTransport(peer.url));
    await client.callTool({ name: 't', arguments: {} });
    const [first, second] = clientCalls();
    expect(first?.attributes).toMatchObject({
      'waybill.outcome': 'JSONRPC_ERROR',
      'waybill.retry.origin': 'none',
    });
    expect(second?.attributes).toMatchObject({
      'waybill.outcome': 'TOOL_SUCCESS',
      'waybill.retry.origin': 'sdk',
      'waybill.call.attempt': 2,
      'waybill.operation.id': first?.attributes['waybill.operation.id'],
    });
    await client.close();
    await peer.close();
  });
});

describe('a gateway that is client and server in one process', () => {
  type Handler = (
    name: string,
    args: unknown,
    call: (name: string, args: object) => Promise<unknown>,
  ) => Promise<unknown>;
  async function chain(
    handler: Handler,
  ): Promise<{ call(name: string, args: object): Promise<unknown>; close(): Promise<void> }> {
    const pair = async (server: v1Server.Server): Promise<v1Client.Client> => {
      const [a, b] = InMemoryTransport.createLinkedPair();
      const client = new v1Client.Client({ name: 'c', version: '1' });
      await Promise.all([server.connect(b), client.connect(a)]);
      return client;
    };
    const make = (
      name: string,
      answer: (tool: string, args: unknown) => Promise<unknown>,
    ): v1Server.Server => {
      const server = new v1Server.Server({ name, version: '1' }, { capabilities: { tools: {} } });
      server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [] }));
      server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
        await answer(params.name, params.arguments);
        return { content: [] };
      });
      return server;
    };
    const upstream = await pair(make('upstream', async () => undefined));
    const gateway = await pair(
      make('gateway', (tool, args) =>
        handler(tool, args, (name, inner) =>
          upstream.callTool({ name, arguments: inner as Record<string, unknown> }),
        ),
      ),
    );
    return {
      call: (name, args) => gateway.callTool({ name, arguments: args as Record<string, unknown> }),
      close: async () => {
        await gateway.close();
        await upstream.close();
      },
    };
  }

  it('passes the operation of the same call through, with a call id of its own', async () => {
    const gateway = await chain((name, args, forward) => forward(name, args as object));
    await withOperation('op-gateway', () => gateway.call('t', { a: 1 }));
    const [outer, inner] = clientCalls();
    expect(inner?.attributes['waybill.operation.id']).toBe('op-gateway');
    expect(inner?.attributes['waybill.operation.source']).toBe('caller');
    expect(inner?.attributes['waybill.call.id']).not.toBe(outer?.attributes['waybill.call.id']);
    const servers = [await harness.tool('server', 0), await harness.tool('server', 1)];
    expect(new Set(servers.map((span) => span.parentSpanContext?.spanId))).toEqual(
      new Set([outer, inner].map((span) => span?.spanContext().spanId)),
    );
    await gateway.close();
  });

  it('gives other calls derived ids, the same each time the outer call is made', async () => {
    const gateway = await chain((_name, _args, forward) => forward('write', { b: 2 }));
    await withOperation('op-outer', async () => {
      await gateway.call('t', { a: 1 });
      await gateway.call('t', { a: 1 });
    });
    const [, first, , second] = clientCalls();
    expect(first?.attributes).toMatchObject({
      'waybill.operation.source': 'derived',
      'waybill.operation.parent.id': 'op-outer',
    });
    expect(second?.attributes['waybill.operation.id']).toBe(first?.attributes['waybill.operation.id']);
    expect(second?.attributes['waybill.call.attempt']).toBe(2);
    await gateway.close();
  });
});
