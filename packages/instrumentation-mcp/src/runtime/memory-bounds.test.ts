import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import * as v1Server from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { type Meter, createNoopMeter } from '@opentelemetry/api';
import { withOperation } from '@waybill/api';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Harness, startHarness } from '../../test-support/harness.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

let harness: Harness;
let client: v1Client.Client;
let near: InMemoryTransport;
let far: InMemoryTransport;
let meters = 0;
let instruments = 0;
const noop = createNoopMeter();
/** A provider that gives a new meter each time, as one that does not cache may. */
const freshMeter = (): Meter => {
  meters += 1;
  return new Proxy(noop, {
    get: (target, key) => {
      if (String(key).startsWith('create')) instruments += 1;
      return Reflect.get(target, key) as unknown;
    },
  });
};
beforeAll(() => {
  harness = startHarness([v1Client, v1Server], {}, freshMeter);
});
beforeEach(async () => {
  const server = new v1Server.Server({ name: 's', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(CallToolRequestSchema, () => ({ content: [] }));
  client = new v1Client.Client({ name: 'c', version: '1' });
  [near, far] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(far), client.connect(near)]);
  harness.reset();
});
afterEach(() => client.close());
afterAll(() => harness.stop());

describe('a call that is over', () => {
  it('leaves its arguments, options and results to the collector of garbage', async () => {
    const held: WeakRef<object>[] = [];
    await withOperation('op-1', async () => {
      const values = { text: 'x'.repeat(1000) };
      const options = { signal: new AbortController().signal };
      const result = await client.callTool({ name: 'x', arguments: values }, undefined, options);
      held.push(new WeakRef(values), new WeakRef(options), new WeakRef(result));
    });
    await turn();
    harness.reset();
    collect();
    await turn();
    collect();
    expect(held.map((reference) => reference.deref() === undefined)).toEqual([true, true, true]);
  });
});

describe('a peer', () => {
  it(
    'that gives up on handlers which never return leaves a bounded number of open spans',
    { timeout: 60_000 },
    async () => {
      const hanging = new v1Server.Server({ name: 's', version: '1' }, { capabilities: { tools: {} } });
      hanging.setRequestHandler(CallToolRequestSchema, () => new Promise(() => undefined));
      const [a, b] = InMemoryTransport.createLinkedPair();
      await hanging.connect(b);
      for (let id = 1; id <= 4100; id++) {
        await a.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'x' } });
        await a.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
      }
      expect(harness.spans()).toHaveLength(4);
      expect(harness.spans()[0]?.attributes).toMatchObject({
        'waybill.reply.state': 'unknown',
        'waybill.instrumentation.degraded': ['Protocol.forgotten'],
      });
      await hanging.close();
    },
  );

  it('that answers a settled call again and again is told three times', async () => {
    await client.callTool({ name: 'x' });
    for (let count = 0; count < 100; count++) {
      await far.send({ jsonrpc: '2.0', id: 1, result: { content: [] } });
    }
    const late = harness.spans().filter(({ name }) => name === 'waybill.late_result');
    expect(late).toHaveLength(3);
    expect(late.map((span) => span.events[0]?.attributes?.['waybill.stage.seq'])).toEqual([3, 4, 5]);
  });

  it('cannot make names, ids and versions of a span as long as it likes', async () => {
    const long = 'y'.repeat(100_000);
    await near.send({
      jsonrpc: '2.0',
      id: long,
      method: 'tools/call',
      params: { name: long, _meta: { 'io.modelcontextprotocol/protocolVersion': long } },
    });
    await near.send({ jsonrpc: '2.0', id: 'a', method: long, params: { uri: long } });
    await turn();
    for (const span of harness.spans()) {
      expect(span.name.length).toBeLessThan(300);
      for (const value of Object.values(span.attributes)) {
        expect(typeof value === 'string' ? value.length : 0).toBeLessThan(1100);
      }
    }
    expect(harness.spans().length).toBeGreaterThan(1);
  });
});

it('a meter provider that gives a new meter each time is asked for instruments once', async () => {
  for (let count = 0; count < 10; count++) await client.callTool({ name: 'x' });
  expect(instruments).toBeLessThan(15);
  expect(meters).toBeGreaterThan(0);
});
