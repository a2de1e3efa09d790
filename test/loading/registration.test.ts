import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ATTR_CALL_ID, ATTR_OPERATION_ID, ATTR_OUTCOME, ATTR_RUN_ID } from '@waybill/core';
import { build } from 'vite';
import { describe, expect, it } from 'vitest';
import { fixture, fixtureUrl, observe, pairOf } from './harness.js';
import type { ObservedRun } from './harness.js';

const REGISTER = import.meta.resolve('@waybill/instrumentation-mcp/register');
const BY_NODE_SDK = ['--import', fixtureUrl('otel.mjs')];
const BY_REGISTER = ['--import', REGISTER, '--import', fixtureUrl('sdk-only.mjs')];
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

function expectOneCall({ run, spans }: ObservedRun): void {
  expect(run).toMatchObject({ code: 0, stderr: '' });
  const { client, server } = pairOf(spans, 'greet');
  expect(server).toMatchObject({ traceId: client.traceId, parentSpanId: client.spanId });
  for (const id of [ATTR_RUN_ID, ATTR_OPERATION_ID, ATTR_CALL_ID]) {
    expect(client.attributes[id], id).toEqual(expect.any(String));
    expect(server.attributes[id], id).toBe(client.attributes[id]);
  }
  expect(client.attributes[ATTR_OUTCOME]).toBe('TOOL_SUCCESS');
}

// Concurrent: each case is a process of its own with a collector of its own.
it.concurrent.each(CASES)(
  '$program, registered by $way: one client and one server span in one trace, with the same ids',
  async ({ args, program }) => {
    const observed = await observe([...args, fixture(program)]);
    expectOneCall(observed);
    expect(JSON.parse(observed.run.stdout)).toEqual({ content: [{ type: 'text', text: 'hello ada' }] });
  },
);

describe.each(['v1', 'v2'])('a %s client that starts its server over stdio', (version) => {
  it.each([
    { way: 'NodeSDK', options: BY_NODE_SDK.join(' ') },
    { way: 'register', options: BY_REGISTER.join(' ') },
  ])('is one trace with it, both registered by $way in NODE_OPTIONS', async ({ options }) => {
    const args = [fixture(`${version}-stdio.mjs`), fixture(`${version}-stdio-server.mjs`)];
    expectOneCall(await observe(args, { env: { NODE_OPTIONS: options } }));
  });
});

it('reports what it patched, with version and format', async () => {
  const { report } = await observe([...BY_REGISTER, fixture('v2-memory.mjs')]);
  expect(report).toEqual({
    patched: [
      { module: '@modelcontextprotocol/client', version: '2.4.0', format: 'esm', missing: [] },
      { module: '@modelcontextprotocol/server', version: '2.4.0', format: 'esm', missing: [] },
    ],
  });
});

it.each([
  {
    format: 'CommonJS',
    args: ['--require', fixture('load-v1.cjs'), ...BY_REQUIRE, fixture('v1-memory.cjs')],
  },
  { format: 'ES', args: ['--import', fixtureUrl('load-v1.mjs'), ...BY_NODE_SDK, fixture('v1-memory.mjs')] },
])('patches $format modules that were loaded before it', async ({ args }) => {
  expectOneCall(await observe(args));
});

it('patches in time when the program itself imports register first', async () => {
  expectOneCall(await observe([fixture('self-registered.mjs')]));
});

it('records each call once when register and NodeSDK both bring an instrumentation', async () => {
  expectOneCall(await observe(['--import', REGISTER, ...BY_NODE_SDK, fixture('v1-memory.mjs')]));
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
    expectOneCall(await observe([...BY_NODE_SDK, join(outDir, 'given.js')]));
  } finally {
    rmSync(outDir, { recursive: true, force: true });
  }
});

it('records nothing while disabled, and again once enabled', async () => {
  const { run, spans } = await observe([fixture('switch.mjs')]);
  expect(run).toMatchObject({ code: 0, stderr: '' });
  const calls = spans.filter(({ kind, name }) => kind === 'client' && name.startsWith('tools/call'));
  expect(calls.map(({ name }) => name)).toEqual(['tools/call first', 'tools/call third']);
});

it('obeys the module that WAYBILL_CONFIG names', async () => {
  const { spans } = await observe([...BY_REGISTER, fixture('v1-memory.mjs')], {
    env: { WAYBILL_CONFIG: fixture('config.mjs') },
  });
  expect(pairOf(spans, 'greet').client.attributes['app.hook']).toBe('tools/call greet');
});
