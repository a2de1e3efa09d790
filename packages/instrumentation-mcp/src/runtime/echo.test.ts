import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import * as v1Server from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { recordStage } from '@waybill/api';
import { ATTR_RECEIPT_ID, ATTR_RECEIPT_STATE } from '@waybill/core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type Harness, startHarness } from '../../test-support/harness.js';

let harness: Harness;
beforeAll(() => {
  harness = startHarness([v1Client, v1Server]);
});
afterEach(() => harness.reset());
afterAll(() => harness.stop());

/** A client and a server in memory, and what the server put on the wire. */
async function pair(receipt: string | undefined): Promise<{
  readonly client: v1Client.Client;
  readonly wire: JSONRPCMessage[];
}> {
  const server = new v1Server.Server({ name: 's', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(CallToolRequestSchema, async () => {
    if (receipt !== undefined) {
      recordStage('receipt.enqueued', { [ATTR_RECEIPT_ID]: receipt, [ATTR_RECEIPT_STATE]: 'pending' });
    }
    return { content: [], _meta: { own: 1 } };
  });
  const [a, b] = InMemoryTransport.createLinkedPair();
  const wire: JSONRPCMessage[] = [];
  const send = b.send.bind(b);
  b.send = async (message, options) => {
    wire.push(message);
    await send(message, options);
  };
  const client = new v1Client.Client({ name: 'c', version: '1' });
  await Promise.all([server.connect(b), client.connect(a)]);
  return { client, wire };
}

const metaOf = (message: JSONRPCMessage | undefined): unknown =>
  message !== undefined && 'result' in message ? message.result['_meta'] : undefined;

it('the receipt of a call stands beside its call id on the wire, and not in what the caller gets', async () => {
  const { client, wire } = await pair('r-1');
  expect(await client.callTool({ name: 't' })).toEqual({ content: [], _meta: { own: 1 } });
  const caller = await harness.tool('client');
  expect(metaOf(wire.at(-1))).toEqual({
    own: 1,
    'io.waybill/callId': caller.attributes['waybill.call.id'],
    'io.waybill/receipt': 'r-1',
  });
  expect(caller.attributes['waybill.receipt.id']).toBe('r-1');
  expect((await harness.tool('server')).attributes['waybill.receipt.id']).toBe('r-1');
  await client.close();
});

it('a call that wrote no receipt names none', async () => {
  const { client, wire } = await pair(undefined);
  await client.callTool({ name: 't' });
  expect(metaOf(wire.at(-1))).not.toHaveProperty('io.waybill/receipt');
  expect((await harness.tool('client')).attributes).not.toHaveProperty('waybill.receipt.id');
  await client.close();
});

it('a request without our ids is answered without them', async () => {
  const { client, wire } = await pair('r-1');
  harness.config = { propagateIds: 'none' };
  await client.callTool({ name: 't' });
  expect(metaOf(wire.at(-1))).toEqual({ own: 1 });
  await client.close();
});

it.each([
  ['too long', 'x'.repeat(201)],
  ['no text', 7 as unknown as string],
])('a receipt id that is %s is taken out and not recorded', async (_title, receipt) => {
  const { client } = await pair(receipt);
  expect(await client.callTool({ name: 't' })).toEqual({ content: [], _meta: { own: 1 } });
  expect((await harness.tool('client')).attributes).not.toHaveProperty('waybill.receipt.id');
  await client.close();
});
