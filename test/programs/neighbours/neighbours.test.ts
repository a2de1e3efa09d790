import { join } from 'node:path';
import { ATTR_CALL_ID, META_TRACEPARENT } from '@waybill/core';
import { describe, expect, it } from 'vitest';
import { pairOf } from '../../loading/harness.js';
import { install } from '../install.js';
import { observe, ours } from '../support.js';

/** `params._meta` as the handler of the tool found it: printed once per call. */
function metaSeen(stderr: string): Readonly<Record<string, unknown>> {
  const lines = stderr.split('\n').filter((line) => line.startsWith('META '));
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0]?.slice('META '.length) ?? '') as Record<string, unknown>;
}

/** The neighbour and the plugin around the same call: one trace, one traceparent, the result as without either. */
async function expectPeace(name: string, way: string): Promise<Awaited<ReturnType<typeof observe>>> {
  const cwd = join(import.meta.dirname, name);
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

describe('beside another instrumentation in one process: one trace, one traceparent, same result', () => {
  it('Sentry 11.12.0 with wrapMcpServerWithSentry, its OpenTelemetry set-up off', async () => {
    await expectPeace('sentry', 'beside');
  });

  it('dd-trace 5.132.0, OpenTelemetry exported by its own SDK', async () => {
    await expectPeace('dd-trace', 'beside');
  });

  it('autotel-mcp-instrumentation 56.0.0 around client and server', async () => {
    const { spans } = await expectPeace('autotel', 'beside');
    expect(spans.length).toBeGreaterThan(ours(spans).length);
  });
});
