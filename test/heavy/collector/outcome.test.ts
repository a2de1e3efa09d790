import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ATTR_OUTCOME, ATTR_OUTCOME_LAYER, ATTR_OUTCOME_SOURCE, isOutcome, layerOf } from '@waybill/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Attributes,
  type SpanInput,
  attributeOf,
  post,
  span,
  spanId,
  spansOfLines,
  traces,
} from './support/otlp.js';
import { type Running, program, startCollector, until } from './support/programs.js';

const path = program('collector');
const call: Attributes = { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'x' };
const python = 'mcp-python-sdk';
const csharp = 'Experimental.ModelContextProtocol';

interface Row {
  readonly emitter: string;
  readonly scope: string;
  readonly span: SpanInput;
  readonly outcome: string | undefined;
}

const rows: readonly Row[] = [
  {
    emitter: 'a client whose error.type is an HTTP status',
    scope: 'any',
    span: { kind: 'client', attributes: { ...call, 'error.type': '503' } },
    outcome: 'HTTP_ERROR',
  },
  {
    emitter: 'an HTTP status with an RPC code in its body',
    scope: 'any',
    span: {
      kind: 'client',
      attributes: { ...call, 'error.type': '400', 'rpc.response.status_code': '-32000' },
    },
    outcome: 'HTTP_ERROR',
  },
  {
    emitter: 'a JSON-RPC code that looks like an HTTP status',
    scope: 'any',
    span: { kind: 'client', attributes: { ...call, 'error.type': '404', 'rpc.response.status_code': '404' } },
    outcome: 'JSONRPC_ERROR',
  },
  {
    emitter: 'a JSON-RPC error of the server',
    scope: python,
    span: { kind: 'server', attributes: { ...call, 'rpc.response.status_code': '-32602' } },
    outcome: 'JSONRPC_ERROR',
  },
  {
    emitter: 'tool_error',
    scope: csharp,
    span: { kind: 'client', attributes: { ...call, 'error.type': 'tool_error' }, status: { code: 2 } },
    outcome: 'TOOL_ERROR',
  },
  {
    emitter: 'isError as an attribute',
    scope: '@sentry/node',
    span: { kind: 'server', attributes: { ...call, 'mcp.tool.result.is_error': true } },
    outcome: 'TOOL_ERROR',
  },
  {
    emitter: 'input_required as an attribute',
    scope: 'autotel-mcp-instrumentation',
    span: { kind: 'server', attributes: { ...call, 'mcp.input_required': true }, status: { code: 1 } },
    outcome: 'INPUT_REQUIRED',
  },
  ...[python, csharp].map((scope) => ({
    emitter: `${scope} server under a version with results only`,
    scope,
    span: { kind: 'server' as const, attributes: { ...call, 'mcp.protocol.version': '2025-06-18' } },
    outcome: 'TOOL_SUCCESS',
  })),
  ...['2025-11-25', '2026-07-28'].map((version) => ({
    emitter: `a server span under ${version}, where the result may be a handle`,
    scope: python,
    span: { kind: 'server' as const, attributes: { ...call, 'mcp.protocol.version': version } },
    outcome: undefined,
  })),
  {
    emitter: 'a server span without a version',
    scope: python,
    span: { kind: 'server', attributes: call },
    outcome: undefined,
  },
  {
    emitter: 'an exception class',
    scope: python,
    span: {
      kind: 'server',
      attributes: { ...call, 'error.type': 'ValueError', 'mcp.protocol.version': '2025-06-18' },
      status: { code: 2 },
    },
    outcome: undefined,
  },
  {
    emitter: 'the Python client, which ends UNSET on errors as well',
    scope: python,
    span: {
      kind: 'client',
      name: 'MCP send tools/call x',
      attributes: { 'mcp.method.name': 'tools/call', 'mcp.protocol.version': '2025-06-18' },
    },
    outcome: undefined,
  },
  {
    emitter: 'the Python client with a TimeoutError',
    scope: python,
    span: {
      kind: 'client',
      name: 'MCP send tools/call x',
      attributes: { 'mcp.method.name': 'tools/call' },
      events: [{ name: 'exception', attributes: { 'exception.type': 'TimeoutError' } }],
      status: { code: 2 },
    },
    outcome: 'TIMEOUT',
  },
  ...['@traceloop/instrumentation-mcp', '@shinzolabs/instrumentation-mcp', 'mcp-otel', 'unknown'].map(
    (scope) => ({
      emitter: `${scope} with status OK`,
      scope,
      span: {
        kind: 'client' as const,
        attributes: { ...call, 'traceloop.span.kind': 'tool', 'mcp.protocol.version': '2025-06-18' },
        status: { code: 1 as const },
      },
      outcome: undefined,
    }),
  ),
  {
    emitter: 'a span of another method',
    scope: csharp,
    span: {
      kind: 'server',
      attributes: { 'mcp.method.name': 'tools/list', 'mcp.protocol.version': '2025-06-18' },
    },
    outcome: undefined,
  },
];

describe.skipIf(path === undefined)('the outcome of foreign spans', () => {
  let collector: Running;
  const ids = rows.map(() => spanId());
  const own = spanId();
  const traceloop = spanId();

  beforeAll(async () => {
    if (path === undefined) return;
    collector = await startCollector(path, { config: 'collector.yaml' });
    for (const [index, row] of rows.entries()) {
      const id = ids[index];
      if (id === undefined) throw new Error('one id for each row');
      expect(
        await post(
          collector.ports.http,
          'traces',
          traces({ scope: row.scope }, [span({ ...row.span, spanId: id })]),
        ),
      ).toBe(200);
    }
    const wire = {
      ...call,
      [ATTR_OUTCOME]: 'STREAM_INCOMPLETE',
      [ATTR_OUTCOME_SOURCE]: 'wire',
      'error.type': 'tool_error',
    };
    await post(collector.ports.http, 'traces', traces({}, [span({ spanId: own, attributes: wire })]));
    await post(
      collector.ports.http,
      'traces',
      traces({ scope: '@traceloop/instrumentation-mcp' }, [
        span({
          spanId: traceloop,
          name: 'y.tool',
          attributes: { 'traceloop.span.kind': 'tool', 'traceloop.entity.name': 'y' },
        }),
      ]),
    );
  });
  afterAll(async () => {
    if (path === undefined) return;
    await collector.stop();
    collector.remove();
  });

  const exported = (id: string) =>
    until(`span ${id} in the file`, () => {
      const file = join(collector.data, 'traces.jsonl');
      return [...spansOfLines(readFileSync(file, 'utf8'))].find((one) => one.spanId === id);
    });

  it.each(rows.map((row, index) => ({ ...row, id: ids[index] ?? '' })))(
    '$emitter: $outcome',
    async ({ id, outcome }) => {
      const got = await exported(id);
      expect(attributeOf(got, ATTR_OUTCOME)).toBe(outcome);
      expect(attributeOf(got, ATTR_OUTCOME_SOURCE)).toBe(outcome === undefined ? undefined : 'derived');
      expect(attributeOf(got, ATTR_OUTCOME_LAYER)).toBe(isOutcome(outcome) ? layerOf(outcome) : undefined);
    },
  );

  it('leaves an outcome alone that its emitter wrote', async () => {
    const got = await exported(own);
    expect(attributeOf(got, ATTR_OUTCOME)).toBe('STREAM_INCOMPLETE');
    expect(attributeOf(got, ATTR_OUTCOME_SOURCE)).toBe('wire');
  });

  it('gives Traceloop spans the names of the conventions', async () => {
    expect((await exported(traceloop)).name).toBe('tools/call y');
  });

  it('finds the tool in the name of a Python client span', async () => {
    const index = rows.findIndex(({ span: { name } }) => name?.startsWith('MCP send'));
    const got = await exported(ids[index] ?? '');
    expect(attributeOf(got, 'gen_ai.tool.name')).toBe('x');
  });
});
