import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import * as v1Mcp from '@modelcontextprotocol/sdk/server/mcp.js';
import { type Span, SpanKind, context, propagation, trace } from '@opentelemetry/api';
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import { operationMeta, recordStage, withOperation, withRun } from '@waybill/api';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Harness, stagesOf, startHarness } from '../../test-support/harness.js';
import type { McpInstrumentationConfig, ToolCallInfo } from '../types.js';

let harness: Harness;
let client: v1Client.Client;
let server: v1Mcp.McpServer;
beforeAll(() => {
  harness = startHarness([v1Client, v1Mcp]);
});
beforeEach(async () => {
  server = new v1Mcp.McpServer({ name: 'shop', version: '1' });
  const shape = { inputSchema: { id: z.number().optional(), note: z.string().optional() } };
  const done = async (): Promise<{ content: [] }> => {
    recordStage('server.effect_requested');
    await Promise.resolve();
    recordStage('server.effect_confirmed', { version: 1 });
    return { content: [] };
  };
  server.registerTool('buy', { ...shape, annotations: { destructiveHint: true } }, done);
  server.registerTool('look', { ...shape, annotations: { readOnlyHint: true } }, async () => ({
    content: [],
  }));
  server.registerTool('plain', shape, async () => ({ content: [] }));
  client = new v1Client.Client({ name: 'c', version: '1' });
  const [a, b] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(b), client.connect(a)]);
  harness.reset();
});
afterEach(() => client.close());
afterAll(() => harness.stop());

const call = (
  name: string,
  values: Record<string, unknown> = {},
  meta?: Record<string, unknown>,
): Promise<unknown> =>
  client.callTool({ name, arguments: values, ...(meta === undefined ? {} : { _meta: meta }) });
const clientAttributes = async (config: McpInstrumentationConfig, ...args: Parameters<typeof call>) => {
  harness.config = config;
  await call(...args);
  return (await harness.tool('client')).attributes;
};

describe('stages', () => {
  it('leave as log records with the ids where logs are asked for', async () => {
    harness.config = { stageSignal: 'logs' };
    await call('buy');
    const span = await harness.tool('client');
    expect(stagesOf(span)).toEqual([]);
    expect(harness.logs.map((record) => record.eventName)).toEqual([
      'waybill.client.sent',
      'waybill.server.received',
      'waybill.server.handler_started',
      'waybill.server.effect_requested',
      'waybill.server.effect_confirmed',
      'waybill.server.handler_returned',
      'waybill.client.result_received',
      'waybill.server.result_sent',
    ]);
    const [sent] = harness.logs;
    expect(sent?.attributes).toMatchObject({
      'waybill.call.id': span.attributes['waybill.call.id'],
      'waybill.operation.id': span.attributes['waybill.operation.id'],
      'waybill.run.id': span.attributes['waybill.run.id'],
      'waybill.stage.seq': 1,
    });
    expect(sent?.context && trace.getSpanContext(sent.context)?.spanId).toBe(span.spanContext().spanId);
  });

  it('leave both ways where both are asked for', async () => {
    harness.config = { stageSignal: 'both' };
    await call('plain');
    expect(stagesOf(await harness.tool('client'))).toEqual(['client.sent', 'client.result_received']);
    expect(harness.logs.length).toBeGreaterThan(4);
  });

  it('are in the journal before the call goes on, for calls that may have an effect only', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'journal-'));
    const path = join(folder, 'stages.jsonl');
    const lines = (): {
      eventName: string;
      traceId: string;
      attributes: { key: string; value: unknown }[];
    }[] =>
      readFileSync(path, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).resourceLogs[0].scopeLogs[0].logRecords[0]);
    harness.config = { stageJournal: path, effectKinds: { look: 'read' } };
    const pending = call('buy');
    expect(lines().map((record) => record.eventName)).toContain('waybill.client.sent');
    await pending;
    const span = await harness.tool('client');
    expect(lines()).toHaveLength(8);
    expect(lines().every((record) => record.traceId === span.spanContext().traceId)).toBe(true);
    expect(lines()[0]?.attributes).toContainEqual({ key: 'waybill.stage.seq', value: { intValue: '1' } });
    // A line may be all that is left of a call: it says of which.
    for (const { attributes } of lines()) {
      for (const [key, value] of [
        ['mcp.method.name', { stringValue: 'tools/call' }],
        ['gen_ai.tool.name', { stringValue: 'buy' }],
        ['waybill.call.attempt', { intValue: '1' }],
        ['jsonrpc.request.id', { stringValue: span.attributes['jsonrpc.request.id'] }],
      ] as const) {
        expect(attributes).toContainEqual({ key, value });
      }
    }
    await call('look');
    expect(lines()).toHaveLength(8);
    rmSync(folder, { recursive: true });
  });

  it('do without a journal that cannot be written', async () => {
    harness.config = { stageJournal: '/nonexistent/folder/stages.jsonl' };
    expect(await call('buy')).toEqual({ content: [] });
    expect(harness.warnings.map((warning) => warning.code)).toEqual(['WAYBILL_HOOK_FAILED']);
  });
});

describe('ids', () => {
  it('in _meta win over scopes, resolvers and rules', async () => {
    const config = { resolveIds: () => ({ operationId: 'from-resolver' }) };
    const attributes = await withRun('r', () =>
      withOperation('scope', () =>
        clientAttributes(config, 'plain', {}, operationMeta({ operationId: 'meta', runId: 'meta-run' })),
      ),
    );
    expect(attributes).toMatchObject({
      'waybill.operation.id': 'meta',
      'waybill.operation.source': 'caller',
      'waybill.run.id': 'meta-run',
      'waybill.run.source': 'caller',
    });
  });

  it('come from a resolver where nobody named them, and a resolver that fails is passed over', async () => {
    const failing = (): never => {
      throw new Error('no');
    };
    const seen: ToolCallInfo[] = [];
    const attributes = await clientAttributes(
      {
        resolveIds: [
          failing,
          (info) => {
            seen.push(info);
            return info.side === 'client' ? { operationId: 'llm-call-1', runId: 'conversation' } : undefined;
          },
        ],
      },
      'plain',
      { id: 7 },
    );
    expect(attributes).toMatchObject({
      'waybill.operation.id': 'llm-call-1',
      'waybill.operation.source': 'framework',
      'waybill.run.id': 'conversation',
      'waybill.run.source': 'framework',
    });
    expect(seen[0]).toMatchObject({
      tool: 'plain',
      arguments: { id: 7 },
      serverName: 'shop',
      method: 'tools/call',
    });
  });

  it.each<[string, McpInstrumentationConfig, Record<string, unknown>, RegExp, string]>([
    [
      'a plain rule',
      { operations: { plain: { args: ['id'], plain: true } } },
      { id: 4 },
      /^plain:id=4$/,
      'argument',
    ],
    [
      'a keyed rule',
      { operations: { 'shop/pl*': { args: ['/id'] } }, digestKey: 'k' },
      { id: 4 },
      /^plain:[\w-]{22}$/,
      'argument',
    ],
    [
      'a rule whose member is missing',
      { operations: { plain: { args: ['id'] } } },
      { note: 'x' },
      /^[\da-f-]{36}$/,
      'generated',
    ],
    [
      'a function',
      { operations: { '*': ({ arguments: values }) => `note-${String(values?.['note'])}` } },
      { note: 'x' },
      /^note-x$/,
      'argument',
    ],
  ])('follow %s', async (_title, config, values, pattern, source) => {
    const attributes = await clientAttributes(config, 'plain', values);
    expect(attributes['waybill.operation.id']).toMatch(pattern);
    expect(attributes['waybill.operation.source']).toBe(source);
  });

  it('are the same for the same arguments in any order, and different for others', async () => {
    harness.config = { operations: { plain: { args: ['/'] } }, digestKey: 'k' };
    await call('plain', { id: 1, note: 'a' });
    await call('plain', { note: 'a', id: 1 });
    await call('plain', { note: 'b', id: 1 });
    const ids = [0, 1, 2].map(
      async (index) => (await harness.tool('client', index)).attributes['waybill.operation.id'],
    );
    const [first, second, third] = await Promise.all(ids);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });

  it('from a peer are dropped when they are no ids, or when the server does not accept any', async () => {
    await call('plain', {}, { 'io.waybill/operationId': 'x'.repeat(201) });
    expect((await harness.tool('client')).attributes['waybill.operation.source']).toBe('generated');
    harness.reset();
    harness.config = { acceptRemoteIds: false };
    await call('plain', {}, operationMeta({ operationId: 'guessed' }));
    const span = await harness.tool('server');
    expect(span.attributes['waybill.operation.id']).not.toBe('guessed');
    expect(span.attributes['waybill.call.id']).not.toBe(
      (await harness.tool('client')).attributes['waybill.call.id'],
    );
  });

  it.each<[string, McpInstrumentationConfig, Record<string, unknown> | undefined, string]>([
    ['made up by the client', {}, undefined, 'generated'],
    ['taken from arguments', { operations: { plain: { args: ['id'] } } }, undefined, 'argument'],
    [
      'taken from a framework',
      { resolveIds: ({ side }) => (side === 'client' ? { operationId: 'f' } : undefined) },
      undefined,
      'framework',
    ],
    ['named by the caller', {}, { 'io.waybill/operationId': 'mine' }, 'caller'],
    [
      'passed on with their source',
      {},
      { 'io.waybill/operationId': 'x', 'io.waybill/operationSource': 'derived' },
      'derived',
    ],
    [
      'of a source that only the serving side may name',
      {},
      { 'io.waybill/operationId': 'x', 'io.waybill/operationSource': 'server' },
      'caller',
    ],
    [
      'of a source that is none',
      {},
      { 'io.waybill/operationId': 'x', 'io.waybill/operationSource': 'proven' },
      'caller',
    ],
  ])('%s have the same source on both sides', async (_title, config, meta, source) => {
    const seen: unknown[] = [];
    const requestHook = (_span: Span, info: ToolCallInfo): void => {
      if (info.side === 'server') seen.push(info.meta?.['io.waybill/operationSource']);
    };
    const attributes = await clientAttributes({ ...config, requestHook }, 'plain', { id: 4 }, meta);
    expect(attributes['waybill.operation.source']).toBe(source);
    const server = await harness.tool('server');
    expect(server.attributes['waybill.operation.source']).toBe(source);
    expect(server.attributes['waybill.operation.id']).toBe(attributes['waybill.operation.id']);
    expect(seen).toEqual([source === 'caller' ? undefined : source]);
  });

  it('do not travel when that is forbidden; the trace context still does', async () => {
    const seen: unknown[] = [];
    harness.config = {
      propagateIds: 'none',
      requestHook: (_span, info) => {
        if (info.side === 'server') seen.push(info.meta);
      },
    };
    await call('plain');
    expect(Object.keys(seen[0] as object)).toEqual(['traceparent']);
    const attributes = (await harness.tool('server')).attributes;
    expect(attributes['waybill.call.id']).not.toBe(
      (await harness.tool('client')).attributes['waybill.call.id'],
    );
  });
});

describe('baggage', () => {
  it('carries the ids where that is asked for, beside what the application put there', async () => {
    propagation.disable();
    propagation.setGlobalPropagator(
      new CompositePropagator({ propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()] }),
    );
    const seen: unknown[] = [];
    harness.config = {
      propagateIds: 'meta+baggage',
      requestHook: (_span, info) => {
        if (info.side === 'server') seen.push(info.meta?.['baggage']);
      },
    };
    const own = propagation.setBaggage(
      context.active(),
      propagation.createBaggage({ tenant: { value: 'a' } }),
    );
    await context.with(own, () => call('plain', {}, operationMeta({ operationId: 'op', runId: 'run' })));
    expect(seen).toEqual(['tenant=a,waybill.operation.id=op,waybill.run.id=run']);
    harness.config = { ...harness.config, propagateIds: 'meta' };
    await call('plain');
    expect(seen[1]).toBeUndefined();
  });
});

describe('effect kinds', () => {
  it('are the own registration on the server, and raised but never lowered by hints on the client', async () => {
    await client.listTools();
    for (const [index, tool] of ['buy', 'look', 'plain'].entries()) {
      await call(tool);
      const caller = await harness.tool('client', index);
      const callee = await harness.tool('server', index);
      expect([
        tool,
        caller.attributes['waybill.effect.kind'],
        callee.attributes['waybill.effect.kind'],
      ]).toEqual(
        {
          buy: ['buy', 'destructive', 'destructive'],
          look: ['look', 'unknown', 'read'],
          plain: ['plain', 'unknown', 'unknown'],
        }[tool],
      );
    }
    harness.reset();
    expect((await clientAttributes({ trustToolAnnotations: true }, 'look'))['waybill.effect.kind']).toBe(
      'read',
    );
    harness.reset();
    expect((await clientAttributes({ effectKinds: { buy: 'read' } }, 'buy'))['waybill.effect.kind']).toBe(
      'destructive',
    );
  });
});

describe('hooks and filters', () => {
  it('let a filter leave a call alone on that side', async () => {
    harness.config = { ignoreCall: (info) => info.tool === 'plain' && info.side === 'client' };
    await call('plain');
    await harness.tool('server');
    expect(harness.spans().filter((span) => span.kind === SpanKind.CLIENT)).toEqual([]);
  });

  it('gives request and response hooks the span, and survives those that throw', async () => {
    harness.config = {
      requestHook: (span, info) => {
        span.setAttribute('own.side', info.side);
        throw new Error('hook');
      },
      responseHook: (span, info) => {
        span.setAttribute('own.outcome', `${info.outcome} ${String(info.reason)}`);
        throw new Error('hook');
      },
    };
    expect(await call('plain')).toEqual({ content: [] });
    for (const side of ['client', 'server'] as const) {
      expect((await harness.tool(side)).attributes).toMatchObject({
        'own.side': side,
        'own.outcome': 'TOOL_SUCCESS undefined',
      });
    }
  });

  it('keeps arguments and results at home unless asked', async () => {
    await call('plain', { note: 'secret' });
    expect(
      JSON.stringify(harness.spans().map((span) => [span.attributes, span.events, span.status])),
    ).not.toContain('secret');
    harness.reset();
    const attributes = await clientAttributes({ captureContent: true }, 'plain', { note: 'secret' });
    expect(attributes['gen_ai.tool.call.arguments']).toBe('{"note":"secret"}');
    expect(attributes['gen_ai.tool.call.result']).toBe('{"content":[]}');
  });

  it('shows tools/call alone where only that is asked for, and plain MCP spans for other methods', async () => {
    await client.listTools();
    const listing = harness.spans().filter((span) => span.name === 'tools/list');
    expect(listing.map((span) => span.kind).toSorted((a, b) => a - b)).toEqual([
      SpanKind.SERVER,
      SpanKind.CLIENT,
    ]);
    expect(
      listing.flatMap((span) => Object.keys(span.attributes)).filter((key) => key.startsWith('waybill.')),
    ).toEqual([]);
    harness.reset();
    harness.config = { methods: 'tools' };
    await client.listTools();
    expect(harness.spans()).toEqual([]);
  });
});

describe('the span of another instrumentation', () => {
  const inForeignSpan = async (method: string): Promise<Span> => {
    const span = trace
      .getTracer('other')
      .startSpan(`${method} plain`, { kind: SpanKind.CLIENT, attributes: { 'mcp.method.name': method } });
    await context.with(trace.setSpan(context.active(), span), () => call('plain'));
    span.end();
    return span;
  };
  const clientSpans = () => harness.spans().filter((span) => span.kind === SpanKind.CLIENT);

  it('takes our attributes and stages where that is asked for, and no second span is made', async () => {
    harness.config = { spans: 'enrich' };
    const span = await inForeignSpan('tools/call');
    const [only] = clientSpans();
    expect(clientSpans()).toHaveLength(1);
    expect(only?.spanContext().spanId).toBe(span.spanContext().spanId);
    expect(only?.attributes).toMatchObject({ 'waybill.outcome': 'TOOL_SUCCESS', 'waybill.call.attempt': 1 });
    expect(only && stagesOf(only)).toEqual(['client.sent', 'client.result_received']);
    expect((await harness.tool('server')).parentSpanContext?.spanId).toBe(span.spanContext().spanId);
  });

  it.each([
    ['it is of another request', { spans: 'enrich' }, 'tools/list'],
    ['nobody asked', {}, 'tools/call'],
  ] as const)('is left alone where %s', async (_title, config, method) => {
    harness.config = config;
    await inForeignSpan(method);
    expect(clientSpans()).toHaveLength(2);
  });
});
