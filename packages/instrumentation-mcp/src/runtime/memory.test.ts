import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport as V1Memory } from '@modelcontextprotocol/sdk/inMemory.js';
import * as v1Mcp from '@modelcontextprotocol/sdk/server/mcp.js';
import * as v2Client from '@modelcontextprotocol/client';
import * as v2Server from '@modelcontextprotocol/server';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { currentOperation, recordStage, withOperation, withRun } from '@waybill/api';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Harness, eventually, outcomeOf, stagesOf, startHarness } from '../../test-support/harness.js';

type Handler = (args: { readonly text: string }, extra: unknown) => Promise<object>;
interface Pair {
  call(text: string, options?: object, meta?: Record<string, unknown>): Promise<unknown>;
  call2(tool: string, text: string, options?: object): Promise<unknown>;
  listTools(): Promise<unknown>;
  close(): Promise<void>;
}

/** One client and one server in memory, with the tool `echo` in front of `handler`, and `other` beside it. */
async function v1Pair(handler: Handler): Promise<Pair> {
  const server = new v1Mcp.McpServer({ name: 'mem', version: '1' });
  const shape = { inputSchema: { text: z.string() } };
  server.registerTool(
    'echo',
    { ...shape, annotations: { readOnlyHint: true } },
    async (args, extra) => (await handler(args, extra)) as never,
  );
  server.registerTool('other', shape, async (args, extra) => (await handler(args, extra)) as never);
  const client = new v1Client.Client({ name: 'c', version: '1' });
  const [a, b] = V1Memory.createLinkedPair();
  await Promise.all([server.connect(b), client.connect(a)]);
  return {
    call: (text, options, meta) =>
      client.callTool(
        { name: 'echo', arguments: { text }, ...(meta && { _meta: meta }) },
        undefined,
        options,
      ),
    call2: (name, text, options) => client.callTool({ name, arguments: { text } }, undefined, options),
    listTools: () => client.listTools(),
    close: () => client.close(),
  };
}

async function v2Pair(handler: Handler): Promise<Pair> {
  const server = new v2Server.McpServer({ name: 'mem', version: '1' });
  const shape = { inputSchema: z.object({ text: z.string() }) };
  server.registerTool(
    'echo',
    { ...shape, annotations: { readOnlyHint: true } },
    async (args, extra) => (await handler(args, extra)) as never,
  );
  server.registerTool('other', shape, async (args, extra) => (await handler(args, extra)) as never);
  const client = new v2Client.Client({ name: 'c', version: '1' });
  const [a, b] = v2Client.InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(b as never), client.connect(a)]);
  return {
    call: (text, options, meta) =>
      client.callTool({ name: 'echo', arguments: { text }, ...(meta && { _meta: meta }) }, options),
    call2: (name, text, options) => client.callTool({ name, arguments: { text } }, options),
    listTools: () => client.listTools(),
    close: () => client.close(),
  };
}

let harness: Harness;
beforeAll(() => {
  harness = startHarness([v1Client, v1Mcp, v2Client, v2Server]);
});
afterEach(() => harness.reset());
afterAll(() => harness.stop());

const ok = async ({ text }: { text: string }): Promise<object> => ({ content: [{ type: 'text', text }] });

describe.each([
  ['SDK 1.x', v1Pair],
  ['SDK 2.x', v2Pair],
] as const)('%s in memory', (name, open) => {
  it('gives one CLIENT and one SERVER span in one trace, joined by the call id', async () => {
    const pair = await open(ok);
    await pair.call('hi');
    const client = await harness.tool('client');
    const server = await harness.tool('server');
    expect(client.name).toBe('tools/call echo');
    expect(client.kind).toBe(SpanKind.CLIENT);
    expect(server.kind).toBe(SpanKind.SERVER);
    expect(server.spanContext().traceId).toBe(client.spanContext().traceId);
    expect(server.parentSpanContext?.spanId).toBe(client.spanContext().spanId);
    expect(server.links).toEqual([]);
    for (const key of ['waybill.call.id', 'waybill.operation.id', 'waybill.run.id', 'jsonrpc.request.id']) {
      expect(client.attributes[key], key).toBe(server.attributes[key]);
      expect(client.attributes[key], key).toBeTypeOf('string');
    }
    expect(client.attributes).toMatchObject({
      'gen_ai.tool.name': 'echo',
      'gen_ai.operation.name': 'execute_tool',
      'waybill.run.id': client.spanContext().traceId,
      'waybill.run.source': 'trace',
      'waybill.operation.source': 'generated',
      'waybill.call.attempt': 1,
      'waybill.retry.origin': 'none',
      'waybill.effect.kind': 'unknown',
      'waybill.outcome': 'TOOL_SUCCESS',
      'waybill.outcome_layer': 'application',
      'waybill.outcome_source': 'wire',
    });
    expect(server.attributes).toMatchObject({
      'waybill.run.source': 'trace',
      'waybill.operation.source': 'generated',
      'waybill.effect.kind': 'read',
      'waybill.reply.state': 'handed_over',
      'waybill.outcome': 'TOOL_SUCCESS',
    });
    expect(client.status.code).toBe(SpanStatusCode.UNSET);
    expect(stagesOf(client)).toEqual(['client.sent', 'client.result_received']);
    expect(stagesOf(server)).toEqual([
      'server.received',
      'server.handler_started',
      'server.handler_returned',
      'server.result_sent',
    ]);
    expect(client.attributes['waybill.stages']).toEqual(stagesOf(client));
    expect(server.events.map((event) => event.attributes?.['waybill.stage.seq'])).toEqual([1, 2, 3, 4]);
    await pair.close();
  });

  it('gives the caller the result as the server made it', async () => {
    const seen: unknown[] = [];
    const pair = await open(async (args, extra) => {
      seen.push(extra);
      return { content: [{ type: 'text', text: args.text }], _meta: { 'x/y': 1 } };
    });
    const meta = Object.freeze({ 'a/b': 'c' });
    const plain = await open(ok);
    expect(await pair.call('hi', undefined, meta)).toEqual({
      content: [{ type: 'text', text: 'hi' }],
      _meta: { 'x/y': 1 },
    });
    expect(await plain.call('hi')).toEqual({ content: [{ type: 'text', text: 'hi' }] });
    await pair.close();
    await plain.close();
  });

  it('tells a timeout and says that the cancellation went out', async () => {
    const pair = await open(() => new Promise((resolve) => setTimeout(() => resolve({ content: [] }), 80)));
    await expect(pair.call2('other', 'x', { timeout: 20 })).rejects.toThrow(/timed out/i);
    const client = await harness.tool('client');
    const server = await harness.tool('server');
    expect(outcomeOf(client)).toEqual({
      'waybill.outcome': 'TIMEOUT',
      'waybill.outcome_layer': 'client',
      'waybill.outcome_source': 'local',
      'error.type': 'timeout',
    });
    expect(stagesOf(client)).toEqual(['client.sent', 'client.timeout', 'client.cancel_sent']);
    expect(stagesOf(server)).toEqual(
      open === v1Pair && client.attributes['jsonrpc.request.id'] === '0'
        ? ['server.received', 'server.handler_started', 'server.handler_returned', 'server.result_sent']
        : [
            'server.received',
            'server.handler_started',
            'server.cancel_received',
            'server.handler_returned',
            'server.result_dropped',
          ],
    );
    expect(server.attributes['waybill.reply.state']).toBe('dropped');
    expect(server.status.code).toBe(SpanStatusCode.UNSET);
    await pair.close();
  });

  it("tells a caller's abort from a timeout, although the SDK gives both one code", async () => {
    const pair = await open(() => new Promise((resolve) => setTimeout(() => resolve({ content: [] }), 60)));
    const abort = new AbortController();
    const call = pair.call2('other', 'x', { signal: abort.signal });
    setTimeout(() => abort.abort('stop'), 15);
    await expect(call).rejects.toThrow();
    const client = await harness.tool('client');
    expect(outcomeOf(client)['waybill.outcome']).toBe('CANCELLED');
    expect(client.attributes['error.type']).toBeUndefined();
    expect(client.status.code).toBe(SpanStatusCode.UNSET);
    expect(stagesOf(client)).toEqual(['client.sent', 'client.cancelled', 'client.cancel_sent']);
    await harness.tool('server');
    await pair.close();
  });

  it('marks isError as TOOL_ERROR on both sides', async () => {
    const pair = await open(async () => ({ content: [{ type: 'text', text: 'no' }], isError: true }));
    await pair.call('hi');
    for (const side of ['client', 'server'] as const) {
      const span = await harness.tool(side);
      expect(outcomeOf(span)).toMatchObject({ 'waybill.outcome': 'TOOL_ERROR', 'error.type': 'tool_error' });
      expect(span.status.code).toBe(SpanStatusCode.ERROR);
    }
    await pair.close();
  });

  it('lets handlers see their operation and record effect stages', async () => {
    let seen: ReturnType<typeof currentOperation>;
    const pair = await open(async (args) => {
      seen = currentOperation();
      recordStage('server.effect_requested', { target: 't' });
      await Promise.resolve();
      recordStage('server.effect_confirmed', { version: 3, 'waybill.receipt.id': 'r1' });
      return { content: [{ type: 'text', text: args.text }] };
    });
    await withRun('run-1', () => withOperation(`op-1 ${name}`, () => pair.call2('other', 'x')));
    const server = await harness.tool('server');
    expect(seen).toMatchObject({
      operationId: `op-1 ${name}`,
      runId: 'run-1',
      side: 'server',
      tool: 'other',
      attempt: 1,
    });
    expect(seen?.callId).toBe(server.attributes['waybill.call.id']);
    expect(stagesOf(server)).toEqual([
      'server.received',
      'server.handler_started',
      'server.effect_requested',
      'server.effect_confirmed',
      'server.handler_returned',
      'server.result_sent',
    ]);
    expect(server.attributes['waybill.receipt.id']).toBe('r1');
    expect(server.attributes['waybill.operation.source']).toBe('caller');
    await pair.close();
  });

  it('counts the same call in one operation as a retry and gives another call a derived id', async () => {
    const pair = await open(ok);
    await withOperation(`op-2 ${name}`, async () => {
      await pair.call('a');
      await pair.call('a');
      await pair.call('b');
    });
    const spans = [
      await harness.tool('client', 0),
      await harness.tool('client', 1),
      await harness.tool('client', 2),
    ];
    expect(spans.map((span) => span.attributes['waybill.call.attempt'])).toEqual([1, 2, 1]);
    expect(spans.map((span) => span.attributes['waybill.operation.source'])).toEqual([
      'caller',
      'caller',
      'derived',
    ]);
    expect(spans[1]?.attributes['waybill.retry.origin']).toBe('application');
    expect(spans[1]?.links.map((link) => link.attributes?.['waybill.link.kind'])).toEqual(['retry_of']);
    expect(spans[2]?.attributes['waybill.operation.parent.id']).toBe(`op-2 ${name}`);
    expect(harness.warnings.map((warning) => warning.code)).toEqual(['WAYBILL_OPERATION_SCOPE']);
    await pair.close();
  });

  it('keeps unhandled rejections of the application', async () => {
    const pair = await open(() => new Promise((resolve) => setTimeout(() => resolve({ content: [] }), 60)));
    const seen: unknown[] = [];
    const before = process.listeners('unhandledRejection');
    process.removeAllListeners('unhandledRejection');
    process.on('unhandledRejection', (error) => seen.push(error));
    void pair.call2('other', 'x', { timeout: 10 });
    await eventually(() => seen[0]);
    process.removeAllListeners('unhandledRejection');
    for (const listener of before) process.on('unhandledRejection', listener);
    expect(seen).toHaveLength(1);
    await pair.close();
  });

  it('falls straight through when it is switched off', async () => {
    harness.enabled = false;
    const pair = await open(ok);
    expect(await pair.call('hi')).toEqual({ content: [{ type: 'text', text: 'hi' }] });
    expect(harness.spans()).toEqual([]);
    await pair.close();
  });
});
