import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ATTR_CALL_ID, ATTR_OPERATION_ID, ATTR_OUTCOME, ATTR_RUN_ID } from '@waybill/core';
import { build } from 'vite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fixture, fixtureUrl, pairOf, runNode, startCollector } from './harness.js';
import type { Collector } from './harness.js';

const BY_NODE_SDK = ['--import', fixtureUrl('otel.mjs')];
const BY_REGISTER = [
  '--import',
  import.meta.resolve('@waybill/instrumentation-mcp/register'),
  '--import',
  fixtureUrl('sdk-only.mjs'),
];
const BY_REQUIRE = ['--require', fixture('otel.cjs')];

const PROGRAMS = ['v1-memory', 'v1-http', 'v2-memory', 'v2-http'] as const;
const WAYS = [
  { way: 'NodeSDK in --import', args: BY_NODE_SDK, endings: ['.mjs', '.cjs'] },
  { way: '--import register', args: BY_REGISTER, endings: ['.mjs', '.cjs'] },
  { way: 'NodeSDK in --require', args: BY_REQUIRE, endings: ['.cjs'] },
] as const;
const CASES = WAYS.flatMap(({ way, args, endings }) =>
  PROGRAMS.flatMap((program) => endings.map((ending) => ({ way, args, program: `${program}${ending}` }))),
);

let collector: Collector;
let folder: string;

beforeEach(async () => {
  collector = await startCollector();
  folder = mkdtempSync(join(tmpdir(), 'waybill-loading-'));
});
afterEach(async () => {
  await collector.close();
  rmSync(folder, { recursive: true, force: true });
});

function environment(): Record<string, string> {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'none',
    OTEL_NODE_RESOURCE_DETECTORS: 'none',
    TEST_PATCH_REPORT: join(folder, 'report.json'),
  };
}

function expectOneCall(): void {
  const { client, server } = pairOf(collector.spans, 'greet');
  expect(server).toMatchObject({ traceId: client.traceId, parentSpanId: client.spanId });
  for (const id of [ATTR_RUN_ID, ATTR_OPERATION_ID, ATTR_CALL_ID]) {
    expect(client.attributes[id], id).toEqual(expect.any(String));
    expect(server.attributes[id], id).toBe(client.attributes[id]);
  }
  expect(client.attributes[ATTR_OUTCOME]).toBe('TOOL_SUCCESS');
}

describe.each(CASES)('$program, registered by $way', ({ args, program }) => {
  it('gives one client and one server span in one trace with the same ids', async () => {
    const run = await runNode([...args, fixture(program)], { env: environment() });
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(run.stdout)).toEqual({ content: [{ type: 'text', text: 'hello ada' }] });
    expectOneCall();
  });
});

describe.each(['v1', 'v2'])('a %s client that starts its server over stdio', (version) => {
  it.each([
    { way: 'NodeSDK', options: `--import ${fixtureUrl('otel.mjs')}` },
    {
      way: 'register',
      options: `--import ${import.meta.resolve('@waybill/instrumentation-mcp/register')} --import ${fixtureUrl('sdk-only.mjs')}`,
    },
  ])('is one trace with it, both registered by $way in NODE_OPTIONS', async ({ options }) => {
    const run = await runNode([fixture(`${version}-stdio.mjs`), fixture(`${version}-stdio-server.mjs`)], {
      env: { ...environment(), NODE_OPTIONS: options },
    });
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expectOneCall();
  });
});

it('reports what it patched, with version and format', async () => {
  await runNode([...BY_REGISTER, fixture('v2-memory.mjs')], { env: environment() });
  const report: unknown = JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8'));
  expect(report).toEqual({
    patched: [
      { module: '@modelcontextprotocol/client', version: '2.4.0', format: 'esm', missing: [] },
      { module: '@modelcontextprotocol/server', version: '2.4.0', format: 'esm', missing: [] },
    ],
  });
});

it('patches CommonJS modules that were loaded before it', async () => {
  const run = await runNode(['--require', fixture('load-v1.cjs'), ...BY_REQUIRE, fixture('v1-memory.cjs')], {
    env: environment(),
  });
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expectOneCall();
});

it('patches ES modules that were loaded before it', async () => {
  const run = await runNode(
    ['--import', fixtureUrl('load-v1.mjs'), ...BY_NODE_SDK, fixture('v1-memory.mjs')],
    {
      env: environment(),
    },
  );
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expectOneCall();
});

it('patches in time when the program itself imports register first', async () => {
  const run = await runNode([fixture('self-registered.mjs')], { env: environment() });
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expectOneCall();
});

it('records each call once when register and NodeSDK both bring an instrumentation', async () => {
  const run = await runNode([...BY_REGISTER, ...BY_NODE_SDK, fixture('v1-memory.mjs')], {
    env: environment(),
  });
  expect(run.code).toBe(0);
  expectOneCall();
});

it('sees a bundled and minified SDK that the program hands over', async () => {
  // Below node_modules, so that the packages left outside the bundle are found from there.
  const outDir = mkdtempSync(fileURLToPath(new URL('../../node_modules/.waybill-bundle-', import.meta.url)));
  try {
    await build({
      configFile: false,
      logLevel: 'silent',
      ssr: { noExternal: true, external: ['@waybill/instrumentation-mcp'] },
      build: { ssr: fixture('given.mjs'), outDir, emptyOutDir: false, minify: true },
    });
    const run = await runNode([...BY_NODE_SDK, join(outDir, 'given.js')], { env: environment() });
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expectOneCall();
  } finally {
    rmSync(outDir, { recursive: true, force: true });
  }
});

it('records nothing while disabled, and again once enabled', async () => {
  const run = await runNode([fixture('switch.mjs')], { env: environment() });
  expect(run).toMatchObject({ code: 0, stderr: '' });
  const tools = collector.spans.filter(({ kind }) => kind === 'client').map(({ name }) => name);
  expect(tools.filter((name) => name.startsWith('tools/call'))).toEqual([
    'tools/call first',
    'tools/call third',
  ]);
});

it('obeys the module that WAYBILL_CONFIG names', async () => {
  await runNode([...BY_REGISTER, fixture('v1-memory.mjs')], {
    env: { ...environment(), WAYBILL_CONFIG: fixture('config.mjs') },
  });
  expect(pairOf(collector.spans, 'greet').client.attributes['app.hook']).toBe('tools/call greet');
});
