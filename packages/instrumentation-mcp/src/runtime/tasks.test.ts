import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import * as v1Mcp from '@modelcontextprotocol/sdk/server/mcp.js';
import * as v2Client from '@modelcontextprotocol/client';
import { SpanKind } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { withOperation } from '@waybill/api';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { type Harness, stagesOf, startHarness } from '../../test-support/harness.js';
import { rawPeer } from '../../test-support/http.js';

let harness: Harness;
beforeAll(() => {
  harness = startHarness([v1Client, v1Mcp, v2Client]);
});
afterEach(() => harness.reset());
afterAll(() => harness.stop());

/** The client spans of the call and of its task, in the order in which they were sent. */
const legs = (): ReadableSpan[] =>
  harness
    .spans()
    .filter(
      (span) =>
        span.kind === SpanKind.CLIENT &&
        /^tools\/call|^tasks\//.test(String(span.attributes['mcp.method.name'])),
    )
    .toSorted(
      (a, b) => Number(a.attributes['waybill.call.number']) - Number(b.attributes['waybill.call.number']),
    );

/** Every leg after the first continues the one before it, under the operation of the first. */
function expectOneChain(chain: readonly ReadableSpan[], operationId: string): void {
  const [first] = chain;
  expect(first?.attributes).not.toHaveProperty('waybill.call.continues');
  const ids = chain.map((span) => span.attributes['waybill.call.id']);
  expect(new Set(ids).size).toBe(chain.length);
  expect(chain.slice(1).map((span) => span.attributes['waybill.call.continues'])).toEqual(ids.slice(0, -1));
  for (const span of chain) {
    expect(span.attributes).toMatchObject({
      'waybill.operation.id': operationId,
      'waybill.call.attempt': 1,
      'waybill.retry.origin': 'none',
      'gen_ai.tool.name': 'slow',
    });
  }
  expect(chain.slice(1).flatMap((span) => span.links.map((link) => link.attributes))).toEqual(
    chain.slice(1).map(() => ({ 'waybill.link.kind': 'previous_leg' })),
  );
}

it('SDK 1.x: a call as a task is one operation: the call, its polls, and the fetching of its result', async () => {
  const taskStore = new InMemoryTaskStore();
  const server = new v1Mcp.McpServer(
    { name: 's', version: '1' },
    { capabilities: { tasks: { requests: { tools: { call: {} } } } }, taskStore },
  );
  server.experimental.tasks.registerToolTask(
    'slow',
    { execution: { taskSupport: 'required' } },
    {
      createTask: async (extra) => {
        const task = await extra.taskStore.createTask({ ttl: 60_000, pollInterval: 20 });
        setTimeout(() => {
          void extra.taskStore.storeTaskResult(task.taskId, 'completed', {
            content: [{ type: 'text', text: 'done' }],
          });
        }, 30);
        return { task };
      },
      getTask: (extra) => extra.taskStore.getTask(extra.taskId),
      getTaskResult: async (extra) => (await extra.taskStore.getTaskResult(extra.taskId)) as never,
    },
  );
  const client = new v1Client.Client({ name: 'c', version: '1' });
  const [a, b] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(b), client.connect(a)]);
  await client.listTools();
  const seen: string[] = [];
  await withOperation('op-1', async () => {
    for await (const message of client.experimental.tasks.callToolStream({ name: 'slow' })) {
      seen.push(message.type);
    }
  });
  expect(seen.at(-1)).toBe('result');
  const chain = legs();
  const methods = chain.map((span) => String(span.attributes['mcp.method.name']));
  expect(methods[0]).toBe('tools/call');
  expect(methods.slice(1, -1).every((method) => method === 'tasks/get')).toBe(true);
  expect(methods.length).toBeGreaterThan(2);
  expect(methods.at(-1)).toBe('tasks/result');
  expectOneChain(chain, 'op-1');
  expect(chain[0]?.attributes['waybill.outcome']).toBe('TASK_PENDING');
  expect(chain.at(-1)?.attributes['waybill.outcome']).toBe('TOOL_SUCCESS');
  expect(stagesOf(chain.at(-1) as ReadableSpan)).toEqual(['client.sent', 'client.result_received']);
  await client.close();
});

it('SDK 2.x: a task that the application polls itself is one operation', async () => {
  let polls = 0;
  const task = {
    taskId: 'task-1',
    ttl: null,
    createdAt: '2026-01-01T00:00:00Z',
    lastUpdatedAt: '2026-01-01T00:00:00Z',
  };
  const peer = await rawPeer((rpc, response) => {
    const results: Record<string, unknown> = {
      'tools/call': { task: { ...task, status: 'working' } },
      'tasks/get': { ...task, status: ++polls < 2 ? 'working' : 'completed' },
      'tasks/result': { content: [] },
    };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id: rpc.id, result: results[rpc.method] }));
  });
  const client = new v2Client.Client({ name: 'c', version: '1' });
  await client.connect(new v2Client.StreamableHTTPClientTransport(peer.url));
  const schema = z.looseObject({});
  const send = (method: string, params: object): Promise<unknown> =>
    client.request({ method, params } as never, schema);
  await withOperation('op-2', () => send('tools/call', { name: 'slow', arguments: {} }));
  // Outside of the scope, as a job that comes back later: the task is what joins them.
  await send('tasks/get', { taskId: 'task-1' });
  await send('tasks/get', { taskId: 'task-1' });
  await send('tasks/result', { taskId: 'task-1' });
  await send('tasks/get', { taskId: 'of another client' });
  const all = legs();
  const [stranger] = all.filter((span) => !('waybill.call.id' in span.attributes));
  expect(stranger?.name).toBe('tasks/get');
  const chain = all.filter((span) => 'waybill.call.id' in span.attributes);
  expect(chain.map((span) => span.attributes['mcp.method.name'])).toEqual([
    'tools/call',
    'tasks/get',
    'tasks/get',
    'tasks/result',
  ]);
  expectOneChain(chain, 'op-2');
  expect(chain.map((span) => span.attributes['waybill.outcome'])).toEqual([
    'TASK_PENDING',
    undefined,
    undefined,
    'TOOL_SUCCESS',
  ]);
  const sent = peer.seen
    .filter(({ method }) => /^tools\/call|^tasks\//.test(method))
    .map(({ params }) => (params?.['_meta'] as Record<string, unknown> | undefined)?.['io.waybill/callId']);
  expect(sent.slice(0, 4)).toEqual(chain.map((span) => span.attributes['waybill.call.id']));
  await client.close();
  await peer.close();
});
