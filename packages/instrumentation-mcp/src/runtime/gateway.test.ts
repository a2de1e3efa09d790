import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import * as v1Http from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as v1Mcp from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import * as v2Client from '@modelcontextprotocol/client';
import { toNodeHandler } from '@modelcontextprotocol/node';
import * as v2Server from '@modelcontextprotocol/server';
import { SpanKind, trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import {
  ATTR_CALL_ID,
  ATTR_JSONRPC_REQUEST_ID,
  ATTR_OPERATION_ID,
  ATTR_OPERATION_PARENT_ID,
  ATTR_OUTCOME,
  ATTR_RUN_ID,
  METHOD_TOOLS_CALL,
} from '@waybill/core';
import { withRun } from '@waybill/api';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Harness, startHarness } from '../../test-support/harness.js';
import { type Running, listen } from '../../test-support/http.js';

let harness: Harness;
beforeAll(() => {
  harness = startHarness([v1Client, v1Http, v1Mcp, v2Client, v2Server]);
});
afterEach(() => harness.reset());
afterAll(() => harness.stop());

interface TestClient {
  call(tool: string, text: string): Promise<unknown>;
  close(): Promise<void>;
}
type Tool = (text: string) => Promise<string>;
type Sdk = 'SDK 1.x' | 'SDK 2.x at 2025-11-25' | 'SDK 2.x at 2026-07-28';
const info = { name: 'x', version: '1' };
const content = (text: string): { content: { type: 'text'; text: string }[] } => ({
  content: [{ type: 'text', text }],
});

/** Serves tools over HTTP, each request by a server of its own, so that nothing but the wire joins the calls. */
async function serve(sdk: Sdk, tools: Readonly<Record<string, Tool>>): Promise<Running> {
  if (sdk === 'SDK 1.x') {
    return listen(async (request, response) => {
      const server = new v1Mcp.McpServer(info);
      for (const [name, tool] of Object.entries(tools))
        server.registerTool(name, { inputSchema: { text: z.string() } }, async ({ text }) =>
          content(await tool(text)),
        );
      const transport = new StreamableHTTPServerTransport({});
      await server.connect(transport);
      await transport.handleRequest(request, response);
    });
  }
  return listen(
    toNodeHandler(
      v2Server.createMcpHandler(() => {
        const server = new v2Server.McpServer(info);
        for (const [name, tool] of Object.entries(tools))
          server.registerTool(name, { inputSchema: z.object({ text: z.string() }) }, async ({ text }) =>
            content(await tool(text)),
          );
        return server;
      }),
    ),
  );
}

async function connect(sdk: Sdk, url: URL): Promise<TestClient> {
  if (sdk === 'SDK 1.x') {
    const client = new v1Client.Client(info);
    await client.connect(new v1Http.StreamableHTTPClientTransport(url));
    return {
      call: (name, text) => client.callTool({ name, arguments: { text } }),
      close: () => client.close(),
    };
  }
  const pin = sdk === 'SDK 2.x at 2026-07-28' ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {};
  const client = new v2Client.Client(info, pin);
  await client.connect(new v2Client.StreamableHTTPClientTransport(url));
  return {
    call: (name, text) => client.callTool({ name, arguments: { text } }),
    close: () => client.close(),
  };
}

const textOf = (result: unknown): string =>
  (result as { readonly content: readonly { readonly text: string }[] }).content[0]?.text ?? '';
const spanIdOf = (span: ReadableSpan | undefined): string | undefined => span?.spanContext().spanId;

/** Every tools/call span of a side; waits until there are so many. */
async function calls(side: 'client' | 'server', count: number): Promise<readonly ReadableSpan[]> {
  await harness.tool(side, count - 1);
  const kind = side === 'client' ? SpanKind.CLIENT : SpanKind.SERVER;
  return harness
    .spans()
    .filter((span) => span.kind === kind && span.attributes['mcp.method.name'] === METHOD_TOOLS_CALL);
}
const pick = (spans: readonly ReadableSpan[], key: string): readonly unknown[] =>
  spans.map(({ attributes }) => attributes[key]);
const childrenOf = (
  spans: readonly ReadableSpan[],
  parent: ReadableSpan | undefined,
): readonly ReadableSpan[] => spans.filter((span) => span.parentSpanContext?.spanId === spanIdOf(parent));

describe.each([
  ['SDK 1.x', 'SDK 1.x'],
  ['SDK 2.x at 2025-11-25', 'SDK 2.x at 2025-11-25'],
  ['SDK 2.x at 2026-07-28', 'SDK 2.x at 2026-07-28'],
  ['SDK 1.x', 'SDK 2.x at 2026-07-28'],
  ['SDK 2.x at 2026-07-28', 'SDK 1.x'],
] as const)('a gateway in one process, %s in front and %s behind', (front, behind) => {
  it('keeps parallel calls apart whose JSON-RPC ids are the same on both hops', async () => {
    // The slowest first, so that replies come in another order than calls.
    const upstream = await serve(behind, {
      save: async (text) => {
        await new Promise((resolve) => setTimeout(resolve, 60 - Number(text) * 20));
        return `saved ${text}`;
      },
    });
    const inner = await connect(behind, upstream.url);
    const gateway = await serve(front, { forward: async (text) => textOf(await inner.call('save', text)) });
    const outer = await connect(front, gateway.url);
    const texts = ['0', '1', '2'];
    const results = await Promise.all(texts.map((text) => outer.call('forward', text)));
    expect(results.map(textOf)).toEqual(texts.map((text) => `saved ${text}`));

    const [clients, servers] = [await calls('client', 6), await calls('server', 6)];
    const hops = {
      outer: clients.filter(({ name }) => name.endsWith('forward')),
      inner: clients.filter(({ name }) => name.endsWith('save')),
    };
    // Without that the test shows nothing.
    const ids = (spans: readonly ReadableSpan[]): Set<unknown> =>
      new Set(pick(spans, ATTR_JSONRPC_REQUEST_ID));
    if (front === behind) expect(ids(hops.inner)).toEqual(ids(hops.outer));
    expect(new Set(pick(clients, ATTR_CALL_ID)).size).toBe(6);
    expect(new Set(pick([...clients, ...servers], ATTR_OUTCOME))).toEqual(new Set(['TOOL_SUCCESS']));

    for (const call of hops.outer) {
      const [received, ...others] = childrenOf(servers, call);
      const [forwarded, ...more] = childrenOf(clients, received);
      const [saved, ...rest] = childrenOf(servers, forwarded);
      expect([others, more, rest]).toEqual([[], [], []]);
      expect(saved?.name).toBe('tools/call save');
      expect(received?.attributes[ATTR_CALL_ID]).toBe(call.attributes[ATTR_CALL_ID]);
      expect(saved?.attributes[ATTR_CALL_ID]).toBe(forwarded?.attributes[ATTR_CALL_ID]);
      // The inner call is another operation, which the outer one has caused.
      expect(forwarded?.attributes[ATTR_OPERATION_PARENT_ID]).toBe(call.attributes[ATTR_OPERATION_ID]);
      const traces = [call, received, forwarded, saved].map((span) => span?.spanContext().traceId);
      expect(new Set(traces).size).toBe(1);
    }
    expect(new Set(hops.outer.map((span) => span.spanContext().traceId)).size).toBe(3);

    await outer.close();
    await inner.close();
    await gateway.close();
    await upstream.close();
  });
});

describe.each(['SDK 1.x', 'SDK 2.x at 2025-11-25', 'SDK 2.x at 2026-07-28'] as const)(
  'nested calls of %s',
  (sdk) => {
    it('of a server that calls itself are a chain in one trace and one run, each its own operation', async () => {
      let own: TestClient | undefined;
      const running = await serve(sdk, {
        count: async (text) =>
          text === '0' ? 'end' : `${text} ${textOf(await own?.call('count', String(Number(text) - 1)))}`,
      });
      const client = await connect(sdk, running.url);
      own = await connect(sdk, running.url);
      const told = await withRun('run-nested', () => client.call('count', '3'));
      expect(textOf(told)).toBe('3 2 1 end');

      const [clients, servers] = [await calls('client', 4), await calls('server', 4)];
      expect(new Set(pick([...clients, ...servers], ATTR_RUN_ID))).toEqual(new Set(['run-nested']));
      expect(new Set(pick(clients, ATTR_OPERATION_ID)).size).toBe(4);
      let [call] = clients.filter((span) => span.parentSpanContext === undefined);
      for (let depth = 0; depth < 4; depth++) {
        const [received] = childrenOf(servers, call);
        expect(received?.attributes[ATTR_CALL_ID]).toBe(call?.attributes[ATTR_CALL_ID]);
        expect(received?.attributes[ATTR_OPERATION_ID]).toBe(call?.attributes[ATTR_OPERATION_ID]);
        const [next] = childrenOf(clients, received);
        if (depth < 3)
          expect(next?.attributes[ATTR_OPERATION_PARENT_ID]).toBe(call?.attributes[ATTR_OPERATION_ID]);
        else expect(next).toBeUndefined();
        call = next;
      }
      await client.close();
      await own.close();
      await running.close();
    });

    it('that a handler makes at once are siblings under it, whatever order they end in', async () => {
      const leaf = await serve(sdk, {
        leaf: async (text) => {
          await new Promise((resolve) => setTimeout(resolve, text === 'slow' ? 60 : 0));
          return text;
        },
      });
      const down = await connect(sdk, leaf.url);
      const top = await serve(sdk, {
        both: async () => {
          const both = await Promise.all(['slow', 'fast'].map((text) => down.call('leaf', text)));
          return both.map(textOf).join(' ');
        },
      });
      const client = await connect(sdk, top.url);
      expect(textOf(await client.call('both', ''))).toBe('slow fast');
      const [clients, servers] = [await calls('client', 3), await calls('server', 3)];
      const handler = servers.find(({ name }) => name === 'tools/call both');
      const leaves = childrenOf(clients, handler);
      expect(leaves).toHaveLength(2);
      expect(new Set(pick(leaves, ATTR_OPERATION_ID)).size).toBe(2);
      expect(leaves.flatMap((span) => childrenOf(servers, span))).toHaveLength(2);
      expect(trace.getActiveSpan()).toBeUndefined();
      await client.close();
      await down.close();
      await top.close();
      await leaf.close();
    });
  },
);
