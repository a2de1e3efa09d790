import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ATTR_CALL_ID } from '@waybill/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  cleanEnvironment,
  exportTo,
  fixtureUrl,
  pairOf,
  runNode,
  startCollector,
} from '../loading/harness.js';
import type { Collector } from '../loading/harness.js';

const require = createRequire(import.meta.url);
const FILESYSTEM = mainOf('@modelcontextprotocol/server-filesystem');
const EVERYTHING = mainOf('@modelcontextprotocol/server-everything');
const CALL = fileURLToPath(new URL('./fixtures/call.mjs', import.meta.url));
const PIN_LOOPBACK = new URL('./fixtures/pin-loopback.mjs', import.meta.url).href;
const REGISTER = `--import ${import.meta.resolve('@waybill/instrumentation-mcp/register')} --import ${fixtureUrl('sdk-only.mjs')}`;
const SHIPPED_OTEL = fileURLToPath(new URL('../../examples/todo/otel.mjs', import.meta.url));

let collector: Collector;
let folder: string;

beforeEach(async () => {
  collector = await startCollector();
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'waybill-programs-')));
});
afterEach(async () => {
  await collector.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The file behind a package's only command: the servers export nothing. */
function mainOf(name: string): string {
  for (const base of require.resolve.paths(name) ?? []) {
    const file = join(base, name, 'dist/index.js');
    if (existsSync(file)) return file;
  }
  throw new Error(`${name} is not installed`);
}

function expectOneTrace(tool: string): void {
  const { client, server } = pairOf(collector.spans, tool);
  expect(server).toMatchObject({ traceId: client.traceId, parentSpanId: client.spanId });
  expect(server.attributes[ATTR_CALL_ID]).toBe(client.attributes[ATTR_CALL_ID]);
}

describe('unmodified servers over stdio are in one trace with their client', () => {
  it('server-filesystem reads a file', async () => {
    writeFileSync(join(folder, 'note.txt'), 'kept');
    const call = {
      command: process.execPath,
      args: [FILESYSTEM, folder],
      tool: 'read_text_file',
      arguments: { path: join(folder, 'note.txt') },
    };
    const run = await runNode([CALL, JSON.stringify(call)], {
      env: { ...exportTo(collector), NODE_OPTIONS: REGISTER },
    });
    expect(run.code).toBe(0);
    expect(run.stdout).toContain('kept');
    expectOneTrace('read_text_file');
  });

  it('server-everything echoes', async () => {
    const call = {
      command: process.execPath,
      args: [EVERYTHING],
      tool: 'echo',
      arguments: { message: 'hi' },
    };
    const run = await runNode([CALL, JSON.stringify(call)], {
      env: { ...exportTo(collector), NODE_OPTIONS: REGISTER },
    });
    expect(run.code).toBe(0);
    expect(run.stdout).toContain('Echo: hi');
    expectOneTrace('echo');
  });
});

it('unmodified server-everything over Streamable HTTP is in one trace with its client', async () => {
  const portFile = join(folder, 'port');
  const server = spawn(process.execPath, [EVERYTHING, 'streamableHttp'], {
    env: {
      ...cleanEnvironment(),
      ...exportTo(collector),
      NODE_OPTIONS: `${REGISTER} --import ${PIN_LOOPBACK}`,
      TEST_PORT_FILE: portFile,
    },
    stdio: 'ignore',
  });
  try {
    const port = await portFrom(portFile, server);
    const call = { url: `http://127.0.0.1:${port}/mcp`, tool: 'echo', arguments: { message: 'hi' } };
    const run = await runNode([CALL, JSON.stringify(call)], {
      env: { ...exportTo(collector), NODE_OPTIONS: REGISTER },
    });
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(run.stdout).toContain('Echo: hi');
    const gone = once(server, 'exit');
    server.kill('SIGTERM');
    await gone;
    expectOneTrace('echo');
  } finally {
    server.kill('SIGKILL');
  }
});

it('with the shipped otel.mjs stdout of a stdio server stays JSON-RPC under OTEL_LOG_LEVEL=debug', async () => {
  const server = spawn(process.execPath, ['--import', pathToFileURL(SHIPPED_OTEL).href, FILESYSTEM, folder], {
    env: { ...cleanEnvironment(), ...exportTo(collector), OTEL_LOG_LEVEL: 'debug' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  server.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  server.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  try {
    const send = (message: object): void => {
      server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    };
    const clientInfo = { name: 'raw', version: '1' };
    send({
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo },
    });
    send({ method: 'notifications/initialized' });
    send({ id: 2, method: 'tools/call', params: { name: 'list_allowed_directories', arguments: {} } });
    await until(
      () => stdout.includes('"id":2'),
      () => `no answer; stderr: ${stderr}`,
    );
    const closed = once(server, 'close');
    server.stdin.end();
    await closed;
    const messages = stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line): unknown => JSON.parse(line));
    expect(messages.every((message) => isJsonRpc(message))).toBe(true);
    expect(stderr).toContain('@opentelemetry');
    expect(collector.spans.map(({ name }) => name)).toContain('tools/call list_allowed_directories');
  } finally {
    server.kill('SIGKILL');
  }
});

function isJsonRpc(message: unknown): boolean {
  return typeof message === 'object' && message !== null && 'jsonrpc' in message && message.jsonrpc === '2.0';
}

async function portFrom(file: string, server: ChildProcess): Promise<number> {
  await until(
    () => existsSync(file) && readFileSync(file, 'utf8') !== '',
    () => `the server did not listen (exit code ${server.exitCode})`,
  );
  return Number(readFileSync(file, 'utf8'));
}

async function until(condition: () => boolean, explain: () => string): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(explain());
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
