import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import * as v1Mcp from '@modelcontextprotocol/sdk/server/mcp.js';
import { SpanKind } from '@opentelemetry/api';
import { currentOperation } from '@waybill/api';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Harness, outcomeOf, stagesOf, startHarness } from '../test-support/harness.js';
import { instrumentClient, instrumentServer, instrumentTransport } from './manual.js';

let harness: Harness;
beforeAll(() => {
  harness = startHarness([]);
});
afterEach(() => harness.reset());
afterAll(() => harness.stop());

/** A transport pair of nobody's SDK. */
function bareTransports(): [Bare, Bare] {
  const pair: [Bare, Bare] = [new Bare(), new Bare()];
  pair[0].other = pair[1];
  pair[1].other = pair[0];
  return pair;
}
class Bare {
  other: Bare | undefined;
  onmessage: ((message: never) => void) | undefined = undefined;
  onclose: (() => void) | undefined = undefined;
  async send(message: never): Promise<void> {
    await Promise.resolve();
    this.other?.onmessage?.(message);
  }
  async close(): Promise<void> {
    this.onclose?.();
    return Promise.resolve();
  }
}
interface Message {
  id?: number;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: unknown;
}

describe('a transport of a client and a server that are not the SDK', () => {
  it('shows both sides, keeps the messages as they are, and gives the handler its operation', async () => {
    const [a, b] = bareTransports();
    expect(instrumentTransport(instrumentTransport(a, 'client'), 'client')).toBe(a);
    instrumentTransport(b, 'server');
    let operation: ReturnType<typeof currentOperation>;
    const serve = (message: Message): void => {
      operation = currentOperation();
      void b.send({ jsonrpc: '2.0', id: message.id, result: { content: [] } } as never);
    };
    Object.assign(b, { onmessage: serve });
    const received = new Promise<Message>((resolve) => {
      Object.assign(a, { onmessage: resolve });
    });
    await a.send({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 't', arguments: {} },
    } as never);
    expect(await received).toEqual({ jsonrpc: '2.0', id: 1, result: { content: [] } });
    const client = await harness.tool('client');
    const server = await harness.tool('server');
    expect(server.parentSpanContext?.spanId).toBe(client.spanContext().spanId);
    expect(operation?.callId).toBe(client.attributes['waybill.call.id']);
    expect(outcomeOf(client)['waybill.outcome']).toBe('TOOL_SUCCESS');
    expect(stagesOf(client)).toEqual(['client.sent', 'client.result_received']);
    expect(stagesOf(server)).toEqual(['server.received', 'server.result_sent']);
  });

  it.each<[string, (a: Bare, b: Bare) => unknown, string]>([
    [
      'an error',
      (_a, b) => b.send({ jsonrpc: '2.0', id: 1, error: { code: 7, message: 'm' } } as never),
      'JSONRPC_ERROR',
    ],
    ['a closed connection', (a) => a.close(), 'TRANSPORT_ERROR'],
    [
      'a cancellation',
      (a) => a.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } } as never),
      'CANCELLED',
    ],
  ])('tells %s', async (_title, act, outcome) => {
    const [a, b] = bareTransports();
    instrumentTransport(a, 'client');
    Object.assign(a, { onmessage: () => undefined });
    await a.send({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 't', arguments: {} },
    } as never);
    await act(a, b);
    expect(outcomeOf(await harness.tool('client'))['waybill.outcome']).toBe(outcome);
  });
});

it('a client and a server of the SDK that no loader hook saw are patched when they are handed over', async () => {
  const server = instrumentServer(new v1Mcp.McpServer({ name: 's', version: '1' }));
  server.registerTool('t', {}, async () => ({ content: [] }));
  const client = instrumentClient(new v1Client.Client({ name: 'c', version: '1' }));
  const [a, b] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(b), client.connect(a)]);
  await client.callTool({ name: 't', arguments: {} });
  const kinds = [(await harness.tool('client')).kind, (await harness.tool('server')).kind];
  expect(kinds).toEqual([SpanKind.CLIENT, SpanKind.SERVER]);
  await client.close();
});
