import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import * as v1ClientHttp from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import * as v1Server from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Harness, stagesOf, startHarness } from '../../test-support/harness.js';
import { listen } from '../../test-support/http.js';

const modules = [v1Client, v1ClientHttp, v1Server];
let harness: Harness;
let client: v1Client.Client;
let inHandler: () => unknown;
const makeServer = (): v1Server.Server => {
  const server = new v1Server.Server({ name: 's', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(CallToolRequestSchema, async () => {
    await inHandler();
    return { content: [] };
  });
  return server;
};
beforeEach(async () => {
  harness = startHarness(modules);
  inHandler = () => undefined;
  client = new v1Client.Client({ name: 'c', version: '1' });
  const [a, b] = InMemoryTransport.createLinkedPair();
  await Promise.all([makeServer().connect(b), client.connect(a)]);
  harness.reset();
});
afterEach(async () => {
  await client.close();
  await harness.stop();
});

describe('switched off while a call is under way', () => {
  it('the call is told to its end and its result is the one of the server', async () => {
    inHandler = () => {
      harness.enabled = false;
    };
    expect(await client.callTool({ name: 'x' })).toEqual({ content: [] });
    const sides = [await harness.tool('client'), await harness.tool('server')];
    for (const span of sides) expect(span.attributes['waybill.outcome']).toBe('TOOL_SUCCESS');
    expect(stagesOf(await harness.tool('client'))).toEqual(['client.sent', 'client.result_received']);
    expect((await harness.tool('server')).attributes['waybill.reply.state']).toBe('handed_over');
  });

  it('and on again, the next call is a call like the first', async () => {
    harness.enabled = false;
    expect(await client.callTool({ name: 'x' })).toEqual({ content: [] });
    expect(harness.spans()).toEqual([]);
    harness.enabled = true;
    await client.callTool({ name: 'x' });
    expect((await harness.tool('server')).attributes['waybill.outcome']).toBe('TOOL_SUCCESS');
  });
});

describe('another instrumentation that takes over', () => {
  it('sees connections and handlers that were in use before', async () => {
    await client.callTool({ name: 'x' });
    const before = stagesOf(await harness.tool('server'));
    await harness.stop();
    harness = startHarness(modules);
    await client.callTool({ name: 'x' });
    expect(stagesOf(await harness.tool('server'))).toEqual(before);
  });

  it('sees the HTTP answers of a transport that was started before', async () => {
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => crypto.randomUUID() });
    const http = await listen(async (request, response) => {
      await transport.handleRequest(request, response);
    });
    await makeServer().connect(transport);
    const remote = new v1Client.Client({ name: 'c', version: '1' });
    await remote.connect(new v1ClientHttp.StreamableHTTPClientTransport(http.url));
    await harness.stop();
    harness = startHarness(modules);
    await remote.callTool({ name: 'x' });
    expect((await harness.tool('client')).attributes).toMatchObject({
      'http.response.status_code': 200,
      'waybill.stream.kind': 'sse',
    });
    await remote.close();
    await http.close();
  });

  it('leaves a call that is under way to the one before', async () => {
    const first = harness;
    let second: Harness | undefined;
    inHandler = () => {
      second = startHarness(modules);
    };
    expect(await client.callTool({ name: 'x' })).toEqual({ content: [] });
    expect((await first.tool('client')).attributes['waybill.outcome']).toBe('TOOL_SUCCESS');
    await second?.stop();
  });
});
