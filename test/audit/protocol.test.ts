/**
 * docs/protocol.md: its golden messages are read by the plugin, by core and by the auditor as they say, its example
 * runs, and the two servers in other languages take part in a trace of an instrumented client.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer';
import { NodeSDK, tracing } from '@opentelemetry/sdk-node';
import { audit } from '@waybill/audit';
import type { AuditReport } from '@waybill/audit';
import {
  META_BAGGAGE,
  META_CALL_ID,
  META_OPERATION_ID,
  META_OPERATION_SOURCE,
  META_PREFIX,
  META_RECEIPT,
  META_RUN_ID,
  META_TRACEPARENT,
  META_TRACESTATE,
  parseReceipt,
  readCall,
  stageOfEvent,
} from '@waybill/core';
import { McpInstrumentation, instrumentClient, instrumentServer } from '@waybill/instrumentation-mcp';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { asRecords, asSource } from './inputs.js';

const docs = fileURLToPath(new URL('../../docs/', import.meta.url));
const root = fileURLToPath(new URL('../../', import.meta.url));
const page = readFileSync(`${docs}protocol.md`, 'utf8');

interface Golden {
  readonly id: string;
  readonly is: 'json-rpc' | 'otlp-traces' | 'otlp-logs' | 'receipt';
  readonly from: 'client' | 'server';
  readonly title: string;
  readonly message: Message;
  readonly expect: Readonly<Record<string, unknown>>;
}
interface Message {
  readonly jsonrpc: '2.0';
  readonly id?: string | number;
  readonly params?: { readonly _meta?: Readonly<Record<string, unknown>> };
  readonly result?: { readonly _meta?: Readonly<Record<string, unknown>> };
}

function metaOf(holder: object | undefined): Readonly<Record<string, unknown>> {
  const { _meta: meta } = (holder ?? {}) as NonNullable<Message['params']>;
  return meta ?? {};
}

const messages = JSON.parse(readFileSync(`${docs}protocol/messages.json`, 'utf8')) as readonly Golden[];
const requests = messages.filter((each) => each.is === 'json-rpc' && each.from === 'client');
const replies = messages.filter((each) => each.is === 'json-rpc' && each.from === 'server');

function golden(id: string): Golden {
  const found = messages.find((each) => each.id === id);
  if (found === undefined) throw new Error(`there is no golden message ${id}`);
  return found;
}

const exporter = new tracing.InMemorySpanExporter();
const sdk = new NodeSDK({
  autoDetectResources: false,
  serviceName: 'agent',
  spanProcessors: [new tracing.SimpleSpanProcessor(exporter)],
  instrumentations: [new McpInstrumentation()],
});
beforeAll(() => sdk.start());
beforeEach(() => exporter.reset());
afterAll(() => sdk.shutdown());

test('there are ten golden messages, each with its own id', () => {
  expect(new Set(messages.map(({ id }) => id)).size).toBe(10);
});

describe('the page', () => {
  test('names every key of `_meta`', () => {
    const keys = [
      META_RUN_ID,
      META_CALL_ID,
      META_OPERATION_ID,
      META_OPERATION_SOURCE,
      META_RECEIPT,
      META_TRACEPARENT,
      META_TRACESTATE,
      META_BAGGAGE,
    ];
    expect(keys.filter((key) => !page.includes(`\`${key}\``))).toEqual([]);
  });

  test('shows the golden receipt', () => {
    const shown = /```json\n([^]*?)```/.exec(page)?.[1] ?? '';
    expect(JSON.parse(shown)).toEqual(golden('receipt').message);
  });

  test('can be pasted: its example ends in what it shows', () => {
    const command = /```sh\n([^]*?)```/.exec(page)?.[1] ?? '';
    const said = /```text\n([^]*?)\n```/.exec(page)?.[1] ?? '?';
    const ended = spawnSync(
      'bash',
      ['-c', command.replace('npx waybill', 'node packages/cli/bin/waybill.js')],
      {
        cwd: root,
        encoding: 'utf8',
      },
    );
    expect(ended.stdout, ended.stderr).toContain(said);
  });
});

describe('core', () => {
  test.each(replies)('reads $id: $title', ({ message, expect: expected }) => {
    const reading = readCall({ id: message.id ?? 0, transport: 'memory', protocolVersion: '2025-11-25' });
    reading.message(message, 'memory');
    expect(reading.settle({ kind: 'resolved' }).outcome).toBe(expected['outcome']);
  });

  test('reads the receipt', () => {
    const { message, expect: expected } = golden('receipt');
    expect(parseReceipt(JSON.stringify(message))).toMatchObject({ kind: 'receipt', ...expected });
  });

  test.each(['server-span', 'stage-logs'])('knows every stage of %s', (id) => {
    const names = [...JSON.stringify(golden(id).message).matchAll(/"waybill\.server\.\w+"/g)].map(([name]) =>
      stageOfEvent(JSON.parse(name)),
    );
    expect(names).toEqual(golden(id).expect['stages']);
  });
});

/** A server with the plugin, asked in the very bytes of a golden request. */
async function serve(request: Message): Promise<Message> {
  const server = instrumentServer(new McpServer({ name: 'todo', version: '1' }));
  const input = { id: z.string(), status: z.string() };
  server.registerTool('set_status', { inputSchema: input }, ({ id, status }) => ({
    content: [{ type: 'text', text: `${id} is ${status}` }],
    isError: false,
  }));
  const [near, far] = InMemoryTransport.createLinkedPair();
  await server.connect(far);
  const answered = new Promise<Message>((resolve) => {
    Object.assign(near, { onmessage: resolve });
  });
  await near.start();
  await near.send(JSON.parse(JSON.stringify(request)));
  const reply = await answered;
  await new Promise((resolve) => setTimeout(resolve, 20));
  await server.close();
  return reply;
}

describe('the plugin on a server', () => {
  test.each(requests)('reads $id: $title', async ({ message, expect: expected }) => {
    const reply = await serve(message);
    const [span] = exporter.getFinishedSpans();
    const context = span?.parentSpanContext;
    expect(context === undefined ? null : `${context.traceId}:${context.spanId}`).toBe(expected['parent']);
    expect(metaOf(reply.result)[META_CALL_ID] ?? null).toBe(expected['echo']);
    expect(span?.attributes).toMatchObject({
      'waybill.operation.source': expected['operationSource'],
      ...(expected['callId'] === undefined ? {} : { 'waybill.call.id': expected['callId'] }),
      ...(expected['operationId'] === undefined ? {} : { 'waybill.operation.id': expected['operationId'] }),
      'waybill.run.id': expected['runId'] ?? span?.spanContext().traceId,
      'waybill.outcome': 'TOOL_SUCCESS',
    });
    const values = Object.values(span?.attributes ?? {});
    expect(values.filter((value) => typeof value === 'string' && value.length > 200)).toEqual([]);
  });

  test.each([
    ['request', 'result'],
    ['request-plain', 'result-plain'],
  ])('answers %s with the bytes of %s', async (asked, answered) => {
    expect(await serve(golden(asked).message)).toEqual(golden(answered).message);
  });
});

describe('the plugin on a client', () => {
  test('sends no other keys than the page names, and keeps the echo from its caller', async () => {
    const [near, far] = InMemoryTransport.createLinkedPair();
    let sent: Message | undefined;
    const answer = (message: Message & { readonly method?: string }): void => {
      const { id, method } = message;
      if (id === undefined) return;
      const capabilities = { protocolVersion: '2025-11-25', capabilities: { tools: {} } };
      if (method === 'tools/call') sent = message;
      const callId = metaOf(sent?.params)[META_CALL_ID];
      const result =
        method === 'initialize'
          ? { ...capabilities, serverInfo: { name: 's', version: '1' } }
          : { ...golden('result').message.result, _meta: { [META_CALL_ID]: callId, theirs: 1 } };
      void far.send({ jsonrpc: '2.0', id, result } as never);
    };
    Object.assign(far, { onmessage: answer });
    await far.start();
    const client = instrumentClient(new Client({ name: 'c', version: '1' }));
    await client.connect(near);
    const result = await client.callTool({ name: 'set_status', arguments: { id: '42', status: 'done' } });
    await client.close();
    const keys = Object.keys(metaOf(sent?.params));
    expect(keys).toContain(META_CALL_ID);
    expect(keys.filter((key) => !page.includes(`\`${key}\``))).toEqual([]);
    expect(metaOf(result)).toEqual({ theirs: 1 });
  });
});

describe('the auditor', () => {
  const lines = (id: string): string => `${JSON.stringify(golden(id).message)}\n`;
  const receipts = [asRecords('receipts.jsonl', [golden('receipt').message])];

  test.each<[claim: string, text: string]>([
    ['the span', lines('server-span')],
    ['the stage logs', lines('stage-logs')],
    ['both, which are the same stages', lines('server-span') + lines('stage-logs')],
  ])('judges %s with the receipt', async (_claim, text) => {
    const report = await audit({ traces: [asSource(text)], receipts });
    expect(report.operations.map(({ key, verdict, calls }) => [key, verdict, calls.length])).toEqual([
      ['task-42:done:v1', 'verified_done', 1],
    ]);
    const stages = report.operations.at(0)?.calls[0]?.server?.stages.map(({ name }) => name);
    expect(stages).toEqual(golden('server-span').expect['stages']);
    expect(loud(report)).toEqual([]);
  });

  test.each<[claim: string, renumber: boolean, rule: string]>([
    ['lost, where its number is missing', false, 'sequence-gap'],
    ['left out, where the numbers have no hole', true, 'missing-stage'],
  ])('calls a stage %s', async (_claim, renumber, rule) => {
    const text = JSON.stringify(golden('server-span').message).replace(
      /\{"timeUnixNano":"\d+","name":"waybill\.server\.effect_confirmed"[^]*?\]\},/,
      '',
    );
    expect(text).not.toContain('effect_confirmed');
    const numbered = renumber ? text.replace('"intValue":"4"', '"intValue":"3"') : text;
    const report = await audit({ traces: [asSource(numbered)], receipts });
    expect(loud(report)).toEqual([rule]);
  });
});

function loud(report: AuditReport): readonly string[] {
  return report.findings.filter((finding) => finding.level !== 'info').map((finding) => finding.rule);
}

const SERVERS = [
  { language: 'Python', command: 'python3', args: ['server.py'], probe: ['--version'] },
  { language: 'Go', command: 'go', args: ['run', 'server.go'], probe: ['version'] },
];
for (const { language, command, args, probe } of SERVERS) {
  const isThere = spawnSync(command, probe).status === 0;
  if (!isThere)
    process.stderr.write(`protocol.test.ts: no ${command} here, the server in ${language} is not run\n`);

  describe.runIf(isThere || process.env['CI'] === 'true')(`the server in ${language}`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'waybill-protocol-'));
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    test('takes part in the trace of an instrumented client, once however often it is asked', async () => {
      const spans = join(folder, 'spans.jsonl');
      const receipts = join(folder, 'receipts.jsonl');
      const client = instrumentClient(new Client({ name: 'agent', version: '1' }));
      await client.connect(
        new StdioClientTransport({
          command,
          args,
          cwd: `${docs}protocol`,
          env: { ...inherited(), SPANS: spans, RECEIPTS: receipts },
        }),
      );
      const params = { name: 'set_status', arguments: { id: '42', status: 'done' } };
      const named = { ...params, _meta: { [META_OPERATION_ID]: 'task-42:done:v1' } };
      const answers = [
        await client.callTool(named),
        await client.callTool(named),
        await client.callTool(params),
      ];
      await client.close();

      for (const answer of answers) {
        expect(answer.content).toEqual([{ type: 'text', text: '42 is done' }]);
        expect(Object.keys(metaOf(answer)).filter((key) => key.startsWith(META_PREFIX))).toEqual([]);
      }
      const calls = exporter.getFinishedSpans().filter((span) => span.name === 'tools/call set_status');
      const ours = new TextDecoder().decode(JsonTraceSerializer.serializeRequest(calls));
      const report = await audit({ traces: [asSource(`${ours}\n`), spans], receipts: [receipts] });

      const found = report.operations.map(({ operationId, verdict, calls: legs }) => ({
        named: operationId === 'task-42:done:v1',
        verdict,
        joins: legs.map(({ join: basis }) => basis),
        told: legs.map((leg) => leg.client?.outcome),
      }));
      expect(found).toEqual([
        {
          named: true,
          verdict: 'verified_done',
          joins: ['call_id', 'call_id'],
          told: ['TOOL_SUCCESS', 'TOOL_SUCCESS'],
        },
        { named: false, verdict: 'verified_done', joins: ['call_id'], told: ['TOOL_SUCCESS'] },
      ]);
      expect(loud(report)).toEqual([]);
      for (const operation of report.operations) {
        for (const { client: one, server } of operation.calls) expect(server?.traceId).toBe(one?.traceId);
      }
    });
  });
}

function inherited(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
