import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import * as v1Server from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Harness, startHarness } from '../../test-support/harness.js';

/** A transport of which the other end is the test. */
class Loose {
  onmessage: ((message: unknown) => void) | undefined;
  onclose: (() => void) | undefined;
  readonly sent: { readonly id: number }[] = [];
  async send(message: never): Promise<void> {
    this.sent.push(message);
    await Promise.resolve();
  }
  async close(): Promise<void> {
    this.onclose?.();
    await Promise.resolve();
  }
}

let harness: Harness;
beforeAll(() => {
  harness = startHarness([]);
});
afterEach(() => harness.reset());
afterAll(() => harness.stop());
const instrumented = (role: 'client' | 'server'): Loose => {
  const transport = new Loose();
  harness.runtime.table.instrumentTransport(transport, role);
  return transport;
};
const set = (
  transport: Loose,
  handlers: { readonly onclose?: () => unknown; readonly onmessage?: (message: unknown) => unknown },
): void => {
  Object.assign(transport, handlers);
};
const request = (id: number): never =>
  ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'x', arguments: {} } }) as never;
const response = (id: number): unknown => ({ jsonrpc: '2.0', id, result: { content: [] } });

describe('handlers of an instrumented transport', () => {
  it('that call the one before them are each called once', async () => {
    const transport = instrumented('client');
    const calls: string[] = [];
    set(transport, {
      onclose: () => calls.push('close 1'),
      onmessage: () => calls.push('message 1'),
    });
    const { onclose, onmessage } = transport;
    set(transport, {
      onclose: () => {
        onclose?.();
        calls.push('close 2');
      },
      onmessage: (message) => {
        onmessage?.(message);
        calls.push('message 2');
      },
    });
    await transport.send(request(1));
    transport.onmessage?.(response(1));
    await transport.close();
    expect(calls).toEqual(['message 1', 'message 2', 'close 1', 'close 2']);
    expect((await harness.tool('client')).attributes['waybill.flags']).toBeUndefined();
    expect(harness.spans().map(({ name }) => name)).toEqual(['tools/call x']);
  });

  it('are undefined until they are set', () => {
    const transport = instrumented('client');
    expect([transport.onmessage, 'onmessage' in transport]).toEqual([undefined, true]);
  });

  it('are those of an SDK whose classes are not patched', async () => {
    const [a, b] = InMemoryTransport.createLinkedPair();
    harness.runtime.table.instrumentTransport(a, 'client');
    harness.runtime.table.instrumentTransport(b, 'server');
    const server = new v1Server.Server({ name: 's', version: '1' }, { capabilities: { tools: {} } });
    server.setRequestHandler(CallToolRequestSchema, () => ({ content: [] }));
    const client = new v1Client.Client({ name: 'c', version: '1' });
    await Promise.all([server.connect(b), client.connect(a)]);
    expect(await client.callTool({ name: 'x' })).toEqual({ content: [] });
    await client.close();
    expect((await harness.tool('client')).attributes['waybill.outcome']).toBe('TOOL_SUCCESS');
    expect((await harness.tool('server')).attributes['waybill.outcome']).toBe('TOOL_SUCCESS');
    expect(harness.warnings).toEqual([]);
  });
});

describe('requests that are never answered', () => {
  it('are a bounded number of open spans at a client', { timeout: 60_000 }, async () => {
    const transport = instrumented('client');
    set(transport, { onmessage: () => undefined });
    for (let id = 1; id <= 5000; id++) await transport.send(request(id));
    expect(harness.spans()).toHaveLength(5000 - 4096);
    const [first] = harness.spans();
    expect(first?.attributes).toMatchObject({
      'jsonrpc.request.id': '1',
      'waybill.instrumentation.degraded': ['instrumentTransport.forgotten'],
    });
    expect(first?.attributes['waybill.outcome']).toBeUndefined();
  });

  it(
    'are a bounded number of open spans at a server, and end with the connection',
    { timeout: 60_000 },
    async () => {
      const transport = instrumented('server');
      set(transport, { onmessage: () => undefined });
      for (let id = 1; id <= 5000; id++) transport.onmessage?.(request(id));
      expect(harness.spans()).toHaveLength(5000 - 4096);
      set(transport, { onclose: () => undefined });
      await transport.close();
      expect(harness.spans()).toHaveLength(5000);
      expect(harness.spans().at(-1)?.attributes['waybill.reply.state']).toBe('dropped');
    },
  );
});
