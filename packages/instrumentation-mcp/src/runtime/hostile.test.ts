import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import * as v1Server from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema, type CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { propagation, trace } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { operationMeta, recordStage } from '@waybill/api';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Harness, stagesOf, startHarness } from '../../test-support/harness.js';
import type { McpInstrumentationConfig } from '../types.js';

let harness: Harness;
let client: v1Client.Client;
let server: v1Server.Server;
let near: InMemoryTransport;
let far: InMemoryTransport;
let handle: () => unknown;
const onWire: Record<string, unknown>[] = [];
const rejections: unknown[] = [];
const onRejection = (reason: unknown): void => void rejections.push(reason);

beforeAll(() => {
  harness = startHarness([v1Client, v1Server]);
  process.on('unhandledRejection', onRejection);
});
beforeEach(async () => {
  handle = () => ({ content: [] });
  server = new v1Server.Server({ name: 's', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(CallToolRequestSchema, () => handle() as CallToolResult);
  client = new v1Client.Client({ name: 'c', version: '1' });
  [near, far] = InMemoryTransport.createLinkedPair();
  // What a pipe or a socket would carry: the text of the message.
  for (const transport of [near, far]) {
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      const wire = JSON.parse(JSON.stringify(message)) as typeof message;
      onWire.push(wire);
      return send(wire, options);
    };
  }
  await Promise.all([server.connect(far), client.connect(near)]);
  harness.reset();
  onWire.length = 0;
  rejections.length = 0;
});
afterEach(async () => {
  await client.close();
  propagation.disable();
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
});
afterAll(async () => {
  process.off('unhandledRejection', onRejection);
  await harness.stop();
});
/** A thenable as query builders are: its work begins in `then`, which returns nothing. */
const lazy = (): unknown => {
  const members = new Map([
    [
      'then',
      (resolve: (value: unknown) => void): void => {
        resolve({ content: [{ type: 'text', text: 'from a thenable' }] });
      },
    ],
  ]);
  return Object.fromEntries(members);
};
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 10));

describe("the application's objects", () => {
  it('a result that writes itself reaches the wire as it writes itself', async () => {
    class Written {
      readonly #text = 'as it wants';
      toJSON(): object {
        return { content: [{ type: 'text', text: this.#text }] };
      }
    }
    server.removeRequestHandler('tools/call'); // it would parse the result into another object
    server.fallbackRequestHandler = async () => new Written() as never;
    expect(await client.callTool({ name: 'x' })).toEqual({
      content: [{ type: 'text', text: 'as it wants' }],
    });
  });

  it('parameters that write themselves reach the wire as they write themselves', async () => {
    class Call {
      readonly #tool = 'hidden';
      readonly name = 'shown';
      toJSON(): object {
        return { name: this.#tool, arguments: { a: 1 } };
      }
    }
    await client.callTool(new Call());
    expect(onWire[0]?.['params']).toEqual({ name: 'hidden', arguments: { a: 1 } });
    expect((await harness.tool('client')).attributes['waybill.outcome']).toBe('TOOL_SUCCESS');
  });

  it('frozen parameters with inherited members arrive whole', async () => {
    class Call {
      get name(): string {
        return 'inherited';
      }
      readonly arguments = { a: 1 };
    }
    const params = Object.freeze(new Call());
    await client.callTool(params).catch(() => undefined);
    const bare = JSON.parse(JSON.stringify(params)) as object;
    expect(onWire[0]?.['params']).toMatchObject(bare);
  });

  it('a fallback handler that gives a thenable answers with what it resolves to', async () => {
    const plain = new v1Server.Server({ name: 's', version: '1' });
    plain.fallbackRequestHandler = () => lazy() as never;
    const other = new v1Client.Client({ name: 'c', version: '1' });
    const [a, b] = InMemoryTransport.createLinkedPair();
    await Promise.all([plain.connect(b), other.connect(a)]);
    expect(await other.callTool({ name: 'x' })).toEqual({
      content: [{ type: 'text', text: 'from a thenable' }],
    });
    await other.close();
  });

  it('a transport without a prototype is used and seen', async () => {
    const [a, b] = InMemoryTransport.createLinkedPair();
    const bare = Object.assign(Object.create(null) as typeof a, {
      start: async () => a.start(),
      send: async (message: never) => a.send(message),
      close: async () => a.close(),
    });
    Object.assign(a, { onmessage: (message: never) => bare.onmessage?.(message) });
    const other = new v1Client.Client({ name: 'c', version: '1' });
    const peer = new v1Server.Server({ name: 's', version: '1' }, { capabilities: { tools: {} } });
    peer.setRequestHandler(CallToolRequestSchema, () => ({ content: [] }));
    await Promise.all([peer.connect(b), other.connect(bare)]);
    harness.reset();
    await other.callTool({ name: 'x' });
    expect((await harness.tool('client')).attributes['waybill.outcome']).toBe('TOOL_SUCCESS');
    expect(harness.warnings).toEqual([]);
  });

  it('two requests of one id in flight are each told their own reply', async () => {
    const waiting: (() => void)[] = [];
    handle = () =>
      new Promise((resolve) => {
        waiting.push(() => resolve({ content: [] }));
      });
    const request = (tool: string): Promise<void> =>
      near.send({ jsonrpc: '2.0', id: 77, method: 'tools/call', params: { name: tool } });
    await request('first');
    await settle();
    await request('second');
    await settle();
    for (const answer of waiting) answer();
    await settle();
    const spans = [await harness.tool('server', 0), await harness.tool('server', 1)];
    expect(spans.map((span) => span.name).toSorted()).toEqual(['tools/call first', 'tools/call second']);
    for (const span of spans) expect(span.attributes['waybill.reply.state']).toBe('handed_over');
  });

  it('the methods that are put over those of a transport keep name and length', () => {
    expect([near.send.name, near.send.length]).toEqual(['', 2]);
  });
});

describe('hooks of the user', () => {
  const rejecting = async (): Promise<never> => {
    await Promise.resolve();
    throw new Error('of a hook');
  };
  const failing = (() => rejecting()) as () => never;
  const asynchronous: [string, McpInstrumentationConfig][] = [
    ['requestHook', { requestHook: failing }],
    ['responseHook', { responseHook: failing }],
    ['ignoreCall', { ignoreCall: failing }],
    ['resolveIds', { resolveIds: failing }],
    ['acceptRemoteIds', { acceptRemoteIds: failing }],
    ['operations', { operations: { '*': failing } }],
  ];
  it.each(asynchronous)('%s that rejects does not end the process', async (_name, config) => {
    harness.config = config;
    expect(await client.callTool({ name: 'x' })).toEqual({ content: [] });
    await settle();
    expect(rejections).toEqual([]);
    expect(harness.warnings.map(({ code }) => code)).toContain('WAYBILL_HOOK_FAILED');
  });

  it('a hook that writes on what it is told changes nothing of the call', async () => {
    const overwrite = (info: object): void => {
      for (const key of Object.keys(info)) (info as Record<string, unknown>)[key] = 'overwritten';
    };
    harness.config = {
      ignoreCall: (info) => {
        overwrite(info);
        return false;
      },
      resolveIds: (info) => {
        overwrite(info);
        return undefined;
      },
      requestHook: (_span, info) => overwrite(info),
    };
    await client.callTool({ name: 'x', arguments: { a: 1 } });
    expect((await harness.tool('client')).name).toBe('tools/call x');
    expect((await harness.tool('client')).attributes).toMatchObject({
      'gen_ai.tool.name': 'x',
      'waybill.outcome': 'TOOL_SUCCESS',
    });
    expect(onWire[0]).toMatchObject({ params: { arguments: { a: 1 } } });
  });
});

describe('a damaged OpenTelemetry', () => {
  it('a propagator that throws costs the context and not the span', async () => {
    propagation.disable();
    propagation.setGlobalPropagator({
      inject: () => {
        throw new Error('of a propagator');
      },
      extract: (ctx) => ctx,
      fields: () => [],
    });
    await client.callTool({ name: 'x' });
    expect((await harness.tool('client')).attributes['waybill.outcome']).toBe('TOOL_SUCCESS');
  });
});

describe('a tracer of an older API', () => {
  it('whose spans take no links still has a span for each attempt', async () => {
    const prototype = Object.getPrototypeOf(trace.getTracer('t').startSpan('probe')) as { addLink?: unknown };
    const { addLink } = prototype;
    delete prototype.addLink;
    try {
      for (const attempt of [1, 2]) {
        await client.callTool({ name: 'x', _meta: operationMeta({ operationId: 'op' }) });
        expect((await harness.tool('client', attempt - 1)).attributes['waybill.call.attempt']).toBe(attempt);
      }
      expect(harness.warnings).toEqual([]);
    } finally {
      prototype.addLink = addLink;
    }
  });
});

describe('stages of a handler', () => {
  it('with details that are no facts are recorded without them', async () => {
    handle = () => {
      recordStage('server.effect_requested', { big: 1n, nested: { a: 1 }, ok: 1 } as never);
      recordStage('server.effect_confirmed', {
        get broken(): string {
          throw new Error('of a getter');
        },
      });
      return { content: [] };
    };
    await client.callTool({ name: 'x' });
    const span = await harness.tool('server');
    expect(stagesOf(span)).toEqual([
      'server.received',
      'server.handler_started',
      'server.effect_requested',
      'server.effect_confirmed',
      'server.handler_returned',
      'server.result_sent',
    ]);
    expect(span.events[2]?.attributes).toEqual({ ok: 1, 'waybill.stage.seq': 3 });
  });

  it('that do not exist are not recorded', async () => {
    handle = () => {
      recordStage('client.sent' as never);
      recordStage('__proto__' as never);
      return { content: [] };
    };
    await client.callTool({ name: 'x' });
    expect(stagesOf(await harness.tool('server'))).toEqual([
      'server.received',
      'server.handler_started',
      'server.handler_returned',
      'server.result_sent',
    ]);
  });
});
