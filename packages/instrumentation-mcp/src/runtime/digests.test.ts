import { createHmac } from 'node:crypto';
import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import * as v1Http from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import * as v1Server from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import * as v2Client from '@modelcontextprotocol/client';
import { toNodeHandler } from '@modelcontextprotocol/node';
import * as v2Server from '@modelcontextprotocol/server';
import { canonicalJson } from '@waybill/core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Harness, startHarness } from '../../test-support/harness.js';
import { listen } from '../../test-support/http.js';

let harness: Harness;
beforeAll(() => {
  harness = startHarness([v1Client, v1Http, v1Server, v2Client, v2Server], { digestKey: 'k' });
});
afterEach(() => harness.reset());
afterAll(() => harness.stop());

const hmac = (value: unknown): string =>
  `hmac-sha256:${createHmac('sha256', 'k')
    .update(canonicalJson(value, { fractions: 'allow' }))
    .digest('hex')}`;

interface Side {
  readonly args: unknown;
  readonly result: unknown;
}
const digests = async (): Promise<Record<'client' | 'server', Side>> => {
  const side = async (name: 'client' | 'server'): Promise<Side> => {
    const { attributes } = await harness.tool(name);
    return { args: attributes['waybill.args.digest'], result: attributes['waybill.result.digest'] };
  };
  return { client: await side('client'), server: await side('server') };
};

/** One call in memory of a handler that answers with `result`. */
async function inMemory(args: unknown, result: unknown): Promise<void> {
  const server = new v1Server.Server({ name: 's', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(CallToolRequestSchema, async () => result as never);
  const client = new v1Client.Client({ name: 'c', version: '1' });
  const [a, b] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(b), client.connect(a)]);
  await client.callTool({ name: 't', arguments: args as Record<string, unknown> });
  await client.close();
}

const text = (value: string): object => ({ content: [{ type: 'text', text: value }] });

describe('digests of arguments and results', () => {
  it('are those of the canonical JSON, the same on both sides, without _meta', async () => {
    const args = { z: 1.5, a: 'ü', list: [1, undefined, Number.NaN], gone: undefined };
    await inMemory(args, { ...text('x'), _meta: { n: 1 } });
    const expected = {
      args: hmac({ a: 'ü', list: [1, null, null], z: 1.5 }),
      result: hmac({ content: [{ text: 'x', type: 'text' }] }),
    };
    expect(await digests()).toEqual({ client: expected, server: expected });
  });

  it('are not made without a key', async () => {
    harness.config = {};
    await inMemory({ a: 1 }, text('x'));
    const none = { args: undefined, result: undefined };
    expect(await digests()).toEqual({ client: none, server: none });
  });

  it('take absent arguments for empty ones', async () => {
    await inMemory(undefined, text('x'));
    expect((await digests()).client.args).toBe(hmac({}));
  });

  it.each<[string, () => unknown]>([
    ['beyond 64 KiB', () => ({ a: 'x'.repeat(65_536) })],
    ['of many small members beyond it', () => ({ a: Array.from({ length: 40_000 }, () => 1) })],
    ['with a lone surrogate', () => ({ a: '\ud800' })],
    ['that writes itself', () => ({ a: { toJSON: () => 'x' } })],
    ['of more than 100 levels', () => ({ a: JSON.parse('['.repeat(200) + ']'.repeat(200)) as unknown })],
  ])('are not made of a value %s, and the call goes on', async (_title, args) => {
    await inMemory(args(), text('x'));
    expect((await digests()).client).toEqual({ args: undefined, result: hmac(text('x')) });
    expect(harness.warnings).toEqual([]);
  });

  it('of a Date are those of its text', async () => {
    await inMemory({ at: new Date(0) }, text('x'));
    const { client } = await digests();
    expect(client.args).toBe(hmac({ at: '1970-01-01T00:00:00.000Z' }));
  });

  it('belong to tool calls alone', async () => {
    await inMemory({}, text('x'));
    const others = harness.spans().filter((span) => span.attributes['mcp.method.name'] !== 'tools/call');
    expect(
      others.flatMap((span) => Object.keys(span.attributes)).filter((key) => key.endsWith('digest')),
    ).toEqual([]);
  });
});

/** A handler of each SDK over HTTP: what a transport adds to a result must not be taken for another result. */
const servers: readonly [string, () => Promise<Awaited<ReturnType<typeof listen>>>, boolean][] = [
  [
    'SDK 1.x',
    () =>
      listen(async (request, response) => {
        const server = new v1Server.Server({ name: 's', version: '1' }, { capabilities: { tools: {} } });
        server.setRequestHandler(CallToolRequestSchema, async () => text('x') as never);
        const transport = new StreamableHTTPServerTransport({});
        await server.connect(transport);
        await transport.handleRequest(request, response);
      }),
    false,
  ],
  [
    'SDK 2.x, 2026-07-28',
    () =>
      listen(
        toNodeHandler(
          v2Server.createMcpHandler(() => {
            const server = new v2Server.McpServer({ name: 's', version: '1' });
            server.registerTool(
              't',
              { inputSchema: z.object({ n: z.number() }) },
              async () => text('x') as never,
            );
            return server;
          }),
        ),
      ),
    true,
  ],
];

it.each(servers)('%s: both sides of a call over HTTP have equal digests', async (_title, serve, modern) => {
  const running = await serve();
  if (modern) {
    const client = new v2Client.Client(
      { name: 'c', version: '1' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    await client.connect(new v2Client.StreamableHTTPClientTransport(running.url));
    await client.callTool({ name: 't', arguments: { n: 1 } });
    await client.close();
  } else {
    const client = new v1Client.Client({ name: 'c', version: '1' });
    await client.connect(new v1Http.StreamableHTTPClientTransport(running.url));
    await client.callTool({ name: 't', arguments: { n: 1 } });
    await client.close();
  }
  const { client, server } = await digests();
  expect(client.args).toBe(hmac({ n: 1 }));
  expect(client.result).toMatch(/^hmac-sha256:[\da-f]{64}$/);
  expect(server).toEqual(client);
  await running.close();
});
