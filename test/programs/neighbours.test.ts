import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ATTR_CALL_ID, META_RUN_ID, META_TRACEPARENT } from '@waybill/core';
import { describe, expect, it } from 'vitest';
import { pairOf } from '../loading/harness.js';
import { install } from './install.js';
import { observe, ours } from './support.js';

/** `params._meta` as the handler of the tool found it: printed once per call. */
function metaSeen(stderr: string): Readonly<Record<string, unknown>> {
  const lines = stderr.split('\n').filter((line) => line.startsWith('META '));
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0]?.slice('META '.length) ?? '') as Record<string, unknown>;
}

/** The neighbour and the plugin around the same call: one trace, one traceparent, the result as without either. */
async function expectPeace(name: string, way: string): Promise<Awaited<ReturnType<typeof observe>>> {
  const cwd = join(import.meta.dirname, 'neighbours', name);
  const otel = await install(cwd);
  const plain = await observe({ cwd, args: ['program.mjs', 'alone'] }, []);
  const both = await observe({ cwd, args: ['program.mjs', way] }, [otel]);
  expect(both.run).toMatchObject({ code: 0, stdout: plain.run.stdout });
  const { client, server } = pairOf(ours(both.spans), 'greet');
  expect(server.attributes[ATTR_CALL_ID]).toBe(client.attributes[ATTR_CALL_ID]);
  const calls = both.spans.filter((span) => span.name.includes('greet'));
  expect(new Set(calls.map(({ traceId }) => traceId)).size).toBe(1);
  const [, trace, parent] = String(metaSeen(both.run.stderr)[META_TRACEPARENT]).split('-');
  expect(trace).toBe(calls[0]?.traceId);
  // Whoever wrote it first: the plugin keeps a traceparent of the active trace.
  expect(calls.map(({ spanId }) => spanId)).toContain(parent);
  expect(server.parentSpanId).toBe(parent);
  expect(plain.run.stdout).toContain('Hello');
  return both;
}

/** Runs with the neighbour's provider as the only one: `register` alone, no SDK of OpenTelemetry. */
async function runOnly(name: string): Promise<{ readonly stderr: string; readonly trace: string }> {
  const cwd = join(import.meta.dirname, 'neighbours', name);
  await install(cwd);
  const register = pathToFileURL(
    join(cwd, 'node_modules/@waybill/instrumentation-mcp/dist/esm/register.js'),
  ).href;
  const plain = await observe({ cwd, args: ['program.mjs', 'alone'] }, []);
  const { run } = await observe({ cwd, args: ['program.mjs', 'only'] }, [register]);
  expect(run).toMatchObject({ code: 0, stdout: plain.run.stdout });
  expect(run.stderr).not.toContain('WAYBILL_');
  const meta = metaSeen(run.stderr);
  const trace = String(meta[META_TRACEPARENT]).split('-')[1] ?? '';
  expect(meta[META_RUN_ID]).toBe(trace);
  return { stderr: run.stderr, trace };
}

/** The spans that Sentry would have sent, as the program prints them. */
function sentSpans(stderr: string): readonly { readonly trace: string; readonly name: string }[] {
  return stderr
    .split('\n')
    .filter((line) => line.startsWith('SENT '))
    .map((line) => JSON.parse(line.slice('SENT '.length)) as { trace: string; name: string });
}

describe('beside another instrumentation in one process: one trace, one traceparent, same result', () => {
  it('Sentry 10.78.0 with wrapMcpServerWithSentry, its OpenTelemetry set-up off', async () => {
    await expectPeace('sentry-10', 'beside');
  });

  it('Sentry 11.12.0 with wrapMcpServerWithSentry, its OpenTelemetry set-up off', async () => {
    const { run, spans } = await expectPeace('sentry', 'beside');
    // Sentry 11 makes its own spans without OpenTelemetry, in a trace of their own.
    const sent = sentSpans(run.stderr).filter(({ name }) => name === 'tools/call greet');
    expect(sent).toHaveLength(1);
    expect(spans.map(({ traceId }) => traceId)).not.toContain(sent[0]?.trace);
  });

  it.each(['sentry-10', 'sentry'])(
    '%s with its own OpenTelemetry set-up, which sends the spans',
    async (name) => {
      const { stderr, trace } = await runOnly(name);
      const calls = sentSpans(stderr).filter((span) => span.name === 'tools/call greet');
      expect(calls.map((span) => span.trace)).toEqual([trace, trace, trace]);
    },
  );

  it('dd-trace 5.132.0 as a tracer, spans exported by the SDK of OpenTelemetry', async () => {
    await expectPeace('dd-trace', 'beside');
  });

  it("dd-trace 5.132.0 as the provider of OpenTelemetry's API", async () => {
    expect((await runOnly('dd-trace')).trace).toMatch(/^[\da-f]{32}$/);
  });

  it('autotel-mcp-instrumentation 56.0.0 around client and server', async () => {
    const { spans } = await expectPeace('autotel', 'beside');
    expect(spans.length).toBeGreaterThan(ours(spans).length);
  });
});
