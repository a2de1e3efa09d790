import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import * as v1Mcp from '@modelcontextprotocol/sdk/server/mcp.js';
import * as v1Server from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import * as v2Client from '@modelcontextprotocol/client';
import * as v2Server from '@modelcontextprotocol/server';
import { SpanStatusCode } from '@opentelemetry/api';
import { recordStage } from '@waybill/api';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Harness, eventually, outcomeOf, stagesOf, startHarness } from '../../test-support/harness.js';
import { listen } from '../../test-support/http.js';

let harness: Harness;
beforeAll(() => {
  harness = startHarness([v1Client, v1Mcp, v1Server, v2Client, v2Server]);
});
afterEach(() => harness.reset());
afterAll(() => harness.stop());

interface Pair {
  readonly call: (name: string, args?: Record<string, unknown>, signal?: AbortSignal) => Promise<unknown>;
  readonly close: () => Promise<void>;
}
type Tool = () => Promise<object>;

async function v1Pair(tool: Tool): Promise<Pair> {
  const server = new v1Mcp.McpServer({ name: 's', version: '1' });
  server.registerTool('t', { inputSchema: { n: z.number() } }, async () => (await tool()) as never);
  const client = new v1Client.Client({ name: 'c', version: '1' });
  const [a, b] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(b), client.connect(a)]);
  return {
    call: (name, args = { n: 1 }, signal) =>
      client.callTool({ name, arguments: args }, undefined, signal === undefined ? {} : { signal }),
    close: () => client.close(),
  };
}
async function v2Pair(tool: Tool): Promise<Pair> {
  const server = new v2Server.McpServer({ name: 's', version: '1' });
  server.registerTool('t', { inputSchema: z.object({ n: z.number() }) }, async () => (await tool()) as never);
  const client = new v2Client.Client({ name: 'c', version: '1' });
  const [a, b] = v2Client.InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(b as never), client.connect(a)]);
  return {
    call: (name, args = { n: 1 }, signal) =>
      client.callTool({ name, arguments: args }, signal === undefined ? {} : { signal }),
    close: () => client.close(),
  };
}

/** A promise, and what resolves it. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

const ok: Tool = async () => ({ content: [] });

describe.each([
  ['SDK 1.x', v1Pair, { 'waybill.outcome': 'TOOL_ERROR', 'error.type': 'tool_error' }],
  ['SDK 2.x', v2Pair, { 'waybill.outcome': 'JSONRPC_ERROR' }],
] as const)('the server of %s', (_name, pair, unknownTool) => {
  it('answers a tool that it does not have, which is no error of a server that says so by a code', async () => {
    const { call, close } = await pair(ok);
    await call('nobody').catch(() => undefined);
    const span = await harness.tool('server');
    expect(outcomeOf(span)).toMatchObject(unknownTool);
    const isOwnFault = 'error.type' in unknownTool;
    expect(span.status.code).toBe(isOwnFault ? SpanStatusCode.ERROR : SpanStatusCode.UNSET);
    expect('error.type' in span.attributes).toBe(isOwnFault);
    await close();
  });

  it('answers arguments that do not fit as an error of the tool, without its handler', async () => {
    let ran = false;
    const { call, close } = await pair(async () => {
      ran = true;
      return { content: [] };
    });
    await call('t', { n: 'one' });
    const span = await harness.tool('server');
    expect(outcomeOf(span)['waybill.outcome']).toBe('TOOL_ERROR');
    expect(ran).toBe(false);
    expect(stagesOf(span).filter((stage) => stage.includes('effect'))).toEqual([]);
    await close();
  });

  it('goes on after it was told that nobody waits: the effect, and a reply that is let go', async () => {
    const started = gate();
    const goOn = gate();
    const { call, close } = await pair(async () => {
      recordStage('server.effect_requested');
      started.open();
      await goOn.opened;
      recordStage('server.effect_confirmed', { version: 1 });
      return { content: [] };
    });
    const abort = new AbortController();
    const result = call('t', { n: 1 }, abort.signal).catch(() => undefined);
    await started.opened;
    abort.abort();
    await result;
    await eventually(() => harness.spans()[0]);
    goOn.open();
    const span = await harness.tool('server');
    expect(stagesOf(span)).toEqual([
      'server.received',
      'server.handler_started',
      'server.effect_requested',
      'server.cancel_received',
      'server.effect_confirmed',
      'server.handler_returned',
      'server.result_dropped',
    ]);
    const returned = span.events.find((event) => event.name === 'waybill.server.handler_returned');
    expect(returned?.attributes).toMatchObject({ aborted: true });
    expect(span.attributes).toMatchObject({
      'waybill.reply.state': 'dropped',
      'waybill.outcome': 'TOOL_SUCCESS',
      'waybill.outcome_source': 'local',
    });
    expect(span.status.code).toBe(SpanStatusCode.UNSET);
    await close();
  });
});

it.each([
  ['no JSON', '{nope', 400],
  ['no accepted type', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}', 406],
])('a request that HTTP refused (%s) is no MCP span', async (_title, body, status) => {
  const running = await listen(async (request, response) => {
    const server = new v1Mcp.McpServer({ name: 's', version: '1' });
    server.registerTool('t', {}, async () => ({ content: [] }));
    const transport = new StreamableHTTPServerTransport({});
    await server.connect(transport);
    await transport.handleRequest(request, response);
  });
  const accept = status === 406 ? 'text/plain' : 'application/json, text/event-stream';
  const response = await fetch(running.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept },
    body,
  });
  expect(response.status).toBe(status);
  await response.text();
  expect(harness.spans()).toEqual([]);
  await running.close();
});
