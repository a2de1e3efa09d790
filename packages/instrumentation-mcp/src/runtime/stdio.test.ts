import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import * as v1Stdio from '@modelcontextprotocol/sdk/client/stdio.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import * as v1Mcp from '@modelcontextprotocol/sdk/server/mcp.js';
import * as v1Buffer from '@modelcontextprotocol/sdk/shared/stdio.js';
import * as v2Client from '@modelcontextprotocol/client';
import * as v2Stdio from '@modelcontextprotocol/client/stdio';
import { context, trace } from '@opentelemetry/api';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Harness, outcomeOf, stagesOf, startHarness } from '../../test-support/harness.js';

const peer = fileURLToPath(new URL('../../test-support/stdio-peer.mjs', import.meta.url));
const parameters = (mode: string): { command: string; args: string[]; stderr: 'ignore' } => ({
  command: process.execPath,
  args: [peer, mode],
  stderr: 'ignore',
});

let harness: Harness;
beforeAll(() => {
  harness = startHarness([v1Client, v1Stdio, v1Buffer, v1Mcp, v2Client, v2Stdio]);
});
afterEach(() => harness.reset());
afterAll(() => harness.stop());

interface TestClient {
  call(timeout: number): Promise<unknown>;
  close(): Promise<void>;
}
async function connectV1(mode: string): Promise<TestClient> {
  const client = new v1Client.Client({ name: 'c', version: '1' });
  await client.connect(new v1Stdio.StdioClientTransport(parameters(mode)));
  return {
    call: (timeout) => client.callTool({ name: 't', arguments: {} }, undefined, { timeout }),
    close: () => client.close(),
  };
}
async function connectV2(mode: string): Promise<TestClient> {
  const client = new v2Client.Client({ name: 'c', version: '1' });
  await client.connect(new v2Stdio.StdioClientTransport(parameters(mode)));
  return {
    call: (timeout) => client.callTool({ name: 't', arguments: {} }, { timeout }),
    close: () => client.close(),
  };
}

const cases: readonly [string, string, Record<string, unknown>, readonly string[]][] = [
  ['a clean reply', 'ok', { 'waybill.outcome': 'TOOL_SUCCESS' }, ['client.sent', 'client.result_received']],
  [
    'a line that is no JSON before the reply',
    'noise',
    { 'waybill.outcome': 'TOOL_SUCCESS' },
    ['client.sent', 'client.result_received'],
  ],
  [
    'a reply line that breaks off when the server dies',
    'half',
    { 'waybill.outcome': 'STREAM_INCOMPLETE', 'waybill.outcome_reason': 'partial_line' },
    ['client.sent', 'client.failed'],
  ],
  [
    'a server that dies without a word',
    'die',
    { 'waybill.outcome': 'TRANSPORT_ERROR', 'waybill.outcome_reason': 'closed' },
    ['client.sent', 'client.failed'],
  ],
  [
    'a reply with a wrong id',
    'wrong-id',
    { 'waybill.outcome': 'INVALID_ENVELOPE', 'waybill.outcome_reason': 'id_mismatch' },
    ['client.sent', 'client.timeout', 'client.cancel_sent'],
  ],
  [
    'a server that stays silent',
    'silent',
    { 'waybill.outcome': 'TIMEOUT' },
    ['client.sent', 'client.timeout', 'client.cancel_sent'],
  ],
];

describe.each([
  ['SDK 1.x', connectV1],
  ['SDK 2.x', connectV2],
] as const)('the stdio client of %s', (_name, connect) => {
  it.each(cases)('reads %s', async (_title, mode, expected, stages) => {
    const client = await connect(mode);
    await client.call(mode === 'ok' || mode === 'noise' ? 5000 : 200).catch(() => undefined);
    const span = await harness.tool('client');
    expect(outcomeOf(span)).toMatchObject(expected);
    expect(stagesOf(span)).toEqual(stages);
    expect(span.attributes['network.transport']).toBe('pipe');
    expect(span.attributes['waybill.stream.kind']).toBe('line');
    await client.close();
  });
});

it('SDK 2.x asks for the version of its server in a process of its own: the call is recorded once, on the other', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'waybill-stdio-'));
  const processes = join(folder, 'processes');
  const client = new v2Client.Client({ name: 'c', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  const { args, ...others } = parameters('ok');
  await client.connect(new v2Stdio.StdioClientTransport({ ...others, args: [...args, processes] }));
  await client.callTool({ name: 't', arguments: {} });
  const span = await harness.tool('client');
  expect(readFileSync(processes, 'utf8').trim().split('\n')).toHaveLength(2);
  expect(stagesOf(span)).toEqual(['client.sent', 'client.result_received']);
  expect(outcomeOf(span)).toMatchObject({ 'waybill.outcome': 'TOOL_SUCCESS' });
  const calls = harness.spans().filter(({ name }) => name === 'tools/call t');
  expect(calls).toHaveLength(1);
  await client.close();
  rmSync(folder, { recursive: true });
});

it('does not take the span that was active when the pipe was opened for the parent of a request', async () => {
  const input = new PassThrough();
  const output = new PassThrough();
  const server = new v1Mcp.McpServer({ name: 's', version: '1' });
  server.registerTool('t', {}, async () => ({ content: [] }));
  const startup = trace.getTracer('test').startSpan('startup');
  await context.with(trace.setSpan(context.active(), startup), () =>
    server.connect(new StdioServerTransport(input, output)),
  );
  startup.end();
  input.write(
    `${JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'tools/call', params: { name: 't', arguments: {} } })}\n`,
  );
  const span = await harness.tool('server');
  expect(span.parentSpanContext).toBeUndefined();
  expect(span.attributes['network.transport']).toBe('pipe');
  expect(span.attributes['waybill.reply.state']).toBe('handed_over');
  await server.close();
});
