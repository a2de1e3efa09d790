import * as v2Client from '@modelcontextprotocol/client';
import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import * as v1Mcp from '@modelcontextprotocol/sdk/server/mcp.js';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type Harness, outcomeOf, stagesOf, startHarness } from '../../test-support/harness.js';

let harness: Harness;
beforeAll(() => {
  harness = startHarness([v1Client, v1Mcp, v2Client]);
});
afterEach(() => harness.reset());
afterAll(() => harness.stop());

const CLIENTS = [
  { name: 'SDK 1.x', client: () => new v1Client.Client({ name: 'c', version: '1' }) },
  { name: 'SDK 2.x', client: () => new v2Client.Client({ name: 'c', version: '1' }) },
];

// LangChain's adapters hand out such a Proxy: `this` of a request is the Proxy, `this` of its response is the client.
it.each(CLIENTS)('a call through a Proxy of a connected client of $name is one call', async ({ client }) => {
  const server = new v1Mcp.McpServer({ name: 'mem', version: '1' });
  server.registerTool('echo', {}, () => ({ content: [{ type: 'text', text: 'hi' }] }));
  const [near, far] = InMemoryTransport.createLinkedPair();
  await server.connect(far);
  const connected = client();
  await connected.connect(near);
  const proxy = new Proxy(connected, {});
  const result = await proxy.callTool({ name: 'echo' });
  expect(result).toEqual({ content: [{ type: 'text', text: 'hi' }] });
  const span = await harness.tool('client');
  expect(stagesOf(span)).toEqual(['client.sent', 'client.result_received']);
  expect(outcomeOf(span)).toMatchObject({ 'waybill.outcome': 'TOOL_SUCCESS' });
  await connected.close();
});
