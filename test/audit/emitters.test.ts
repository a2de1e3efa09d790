/** Spans of other instrumentations: one of each, made after what their code writes; nothing here is copied from them. */
import { audit } from '@waybill/audit';
import type { AuditReport } from '@waybill/audit';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CALL, EMITTER_ROWS, SITUATIONS, emittedIn } from './emitters.js';
import type { Emitted, EmitterRow } from './emitters.js';
import { asSource } from './inputs.js';

function spanOf(emitted: Emitted, index: number): unknown {
  const value = (each: string | number | boolean): unknown =>
    typeof each === 'string'
      ? { stringValue: each }
      : typeof each === 'number'
        ? { intValue: each }
        : { boolValue: each };
  const span = {
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    spanId: `a00000000000000${index + 1}`,
    parentSpanId: emitted.child === true ? 'a000000000000001' : '',
    name: emitted.name,
    kind: emitted.kind,
    startTimeUnixNano: String(1_790_000_000_000_000_000n + BigInt(index)),
    endTimeUnixNano: String(1_790_000_000_100_000_000n - BigInt(index)),
    attributes: Object.entries(emitted.attributes).map(([key, each]) => ({ key, value: value(each) })),
    events:
      emitted.exception === undefined
        ? []
        : [
            {
              name: 'exception',
              timeUnixNano: '1790000000090000000',
              attributes: [{ key: 'exception.type', value: { stringValue: emitted.exception } }],
            },
          ],
    status: emitted.error === true ? { code: 2, message: 'secret text' } : {},
  };
  return { resource: { attributes: [] }, scopeSpans: [{ scope: { name: emitted.scope }, spans: [span] }] };
}

function auditOf(...emitted: readonly Emitted[]): Promise<AuditReport> {
  return audit({ traces: [asSource(JSON.stringify({ resourceSpans: emitted.map(spanOf) }))] });
}

/** Emitter, what it wrote, and the outcome that can be derived on the client and the server side. */
const TABLE: readonly (readonly [
  title: string,
  spans: readonly Emitted[],
  client: string | null,
  server: string | null,
])[] = [
  [
    'Python SDK: the client span ends before the reply is looked at; the server span has the outcome',
    [
      {
        scope: 'mcp-python-sdk',
        name: 'MCP send tools/call get_weather',
        kind: 3,
        attributes: { 'mcp.method.name': 'tools/call', 'jsonrpc.request.id': '4' },
      },
      {
        scope: 'mcp-python-sdk',
        name: 'tools/call get_weather',
        kind: 2,
        attributes: { ...CALL, 'jsonrpc.request.id': '4', 'error.type': 'tool_error' },
        error: true,
        child: true,
      },
    ],
    null,
    'TOOL_ERROR',
  ],
  [
    'Python SDK: a timeout is an exception event',
    [
      {
        scope: 'mcp-python-sdk',
        name: 'MCP send tools/call get_weather',
        kind: 3,
        attributes: { 'mcp.method.name': 'tools/call' },
        error: true,
        exception: 'TimeoutError',
      },
    ],
    'TIMEOUT',
    null,
  ],
  [
    'C# SDK: a JSON-RPC error',
    [
      {
        scope: 'Experimental.ModelContextProtocol',
        name: 'tools/call get_weather',
        kind: 3,
        attributes: { ...CALL, 'error.type': '-32602', 'rpc.response.status_code': '-32602' },
        error: true,
      },
    ],
    'JSONRPC_ERROR',
    null,
  ],
  [
    'C# SDK: a tool error on both sides',
    [
      {
        scope: 'Experimental.ModelContextProtocol',
        name: 'tools/call get_weather',
        kind: 3,
        attributes: { ...CALL, 'error.type': 'tool_error' },
        error: true,
      },
      {
        scope: 'Experimental.ModelContextProtocol',
        name: 'tools/call get_weather',
        kind: 2,
        attributes: { ...CALL, 'error.type': 'tool_error' },
        error: true,
        child: true,
      },
    ],
    'TOOL_ERROR',
    'TOOL_ERROR',
  ],
  [
    'Traceloop: a success',
    [
      {
        scope: '@traceloop/instrumentation-mcp',
        name: 'get_weather.tool',
        kind: 3,
        attributes: { 'traceloop.span.kind': 'tool', 'traceloop.entity.name': 'get_weather' },
      },
    ],
    'TOOL_SUCCESS',
    null,
  ],
  [
    'Traceloop: an error is not told apart',
    [
      {
        scope: '@traceloop/instrumentation-mcp',
        name: 'get_weather.tool',
        kind: 3,
        attributes: { 'traceloop.span.kind': 'tool', 'traceloop.entity.name': 'get_weather' },
        error: true,
      },
    ],
    null,
    null,
  ],
  [
    'Sentry: a server span of its own attributes',
    [
      {
        scope: '@sentry/node',
        name: 'tools/call get_weather',
        kind: 2,
        attributes: {
          'mcp.method.name': 'tools/call',
          'mcp.tool.name': 'get_weather',
          'mcp.request.id': '4',
          'mcp.tool.result.is_error': true,
        },
      },
    ],
    null,
    'TOOL_ERROR',
  ],
  [
    'dd-trace: an error of the server',
    [{ scope: 'dd-trace', name: 'tools/call get_weather', kind: 2, attributes: CALL, error: true }],
    null,
    'TOOL_ERROR',
  ],
  [
    'autotel: input required',
    [
      {
        scope: 'autotel-mcp',
        name: 'tools/call get_weather',
        kind: 3,
        attributes: { ...CALL, 'mcp.input_required': true },
      },
    ],
    'INPUT_REQUIRED',
    null,
  ],
  [
    'agentgateway: its span ends with the start of the response and says nothing of the outcome',
    [{ scope: 'agentgateway', name: 'tools/call get_weather', kind: 3, attributes: CALL }],
    null,
    null,
  ],
  [
    'any emitter of the conventions: an HTTP status',
    [
      {
        scope: 'somebody',
        name: 'tools/call get_weather',
        kind: 3,
        attributes: { ...CALL, 'error.type': '503' },
        error: true,
      },
    ],
    'HTTP_ERROR',
    null,
  ],
];

describe('outcomes of other instrumentations', () => {
  test.each(TABLE)('%s', async (_, spans, client, server) => {
    const report = await auditOf(...spans);
    expect(report.operations.length).toBe(1);
    const call = report.operations.at(0)?.calls[0];
    expect({ client: call?.client?.outcome ?? null, server: call?.server?.outcome ?? null }).toEqual({
      client,
      server,
    });
    for (const side of [call?.client, call?.server]) {
      if (side?.outcome !== null && side !== null && side !== undefined) expect(side.source).toBe('derived');
    }
  });

  test('what the Python server answered is what the client was told', async () => {
    const [, spans] = TABLE[0] ?? [];
    const report = await auditOf(...(spans ?? []));
    expect(report.operations.at(0)).toMatchObject({ told: 'TOOL_ERROR', tool: 'get_weather' });
    expect(report.operations.at(0)?.calls[0]?.join).toBe('parent_span');
  });

  test('no stage of another emitter is missing, and no text of its status is told', async () => {
    for (const [, spans] of TABLE) {
      const report = await auditOf(...spans);
      expect(report.findings.filter((finding) => finding.rule === 'missing-stage')).toEqual([]);
      const text = JSON.stringify(report, (_, value: unknown) =>
        typeof value === 'bigint' ? String(value) : value,
      );
      expect(text).not.toContain('secret');
    }
  });

  test('the same JSON-RPC id and tool in one trace join weakly, with one candidate', async () => {
    const [client, server] = [3, 2].map((kind): Emitted => ({
      scope: 'somebody',
      name: 'tools/call get_weather',
      kind: kind === 3 ? 3 : 2,
      attributes: { ...CALL, 'jsonrpc.request.id': '4' },
    }));
    if (client === undefined || server === undefined) throw new Error('two spans');
    const joined = await auditOf(client, server);
    expect(joined.operations.map((each) => each.flags)).toEqual([['weak_join']]);
    const ambiguous = await auditOf(client, server, server);
    expect(ambiguous.operations.length).toBe(3);
  });
});

// --- the table of docs/audit-inputs.md

/** Outcome that is derived from what was written; `-` where none is, and nothing where there is no such span. */
async function cellsOf(row: EmitterRow): Promise<readonly string[]> {
  const cells: string[] = [];
  for (const situation of SITUATIONS) {
    const emitted = emittedIn(row, situation);
    if (emitted === undefined) {
      cells.push('');
      continue;
    }
    const report = await auditOf(emitted);
    const side = report.operations.at(0)?.calls[0]?.[row.side];
    if (side === undefined || side === null) throw new Error(`${row.emitter}: no span was recognised`);
    if (side.outcome !== null && side.source !== 'derived') throw new Error(`${row.emitter}: not marked`);
    cells.push(side.outcome ?? '-');
  }
  return cells;
}

test('the page shows what can be derived of each emitter in each situation', async () => {
  const page = readFileSync(new URL('../../docs/audit-inputs.md', import.meta.url), 'utf8');
  const shown = page
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim().replaceAll('`', '')),
    );
  const wanted = [['emitter', 'side', ...SITUATIONS]];
  for (const row of EMITTER_ROWS) wanted.push([row.emitter, row.side, ...(await cellsOf(row))]);
  const from = shown.findIndex(([first]) => first === 'emitter');
  expect(shown.slice(from).filter((cells) => !cells.every((cell) => /^-{3,}$/.test(cell)))).toEqual(wanted);
});

test('seven emitters and the conventions themselves have rows, and every situation is in some row', () => {
  expect(new Set(EMITTER_ROWS.map(({ emitter }) => emitter)).size).toBe(8);
  for (const situation of SITUATIONS) {
    expect(EMITTER_ROWS.some((row) => emittedIn(row, situation) !== undefined)).toBe(true);
  }
});
