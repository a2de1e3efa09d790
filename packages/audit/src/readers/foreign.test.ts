import { describe, expect, it } from 'vitest';
import { bytesOf, collect } from './collect.test-support.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';

async function one(value: unknown): ReturnType<typeof collect> {
  return collect(bytesOf(JSON.stringify(value)));
}

describe('Jaeger API v1', () => {
  const answer = {
    data: [
      {
        traceID: '1',
        processes: { p1: { serviceName: 'agent', tags: [{ key: 'host', type: 'string', value: 'h' }] } },
        spans: [
          {
            traceID: '1',
            spanID: '2',
            operationName: 'tools/call x',
            references: [
              { refType: 'FOLLOWS_FROM', traceID: '9', spanID: '8' },
              { refType: 'CHILD_OF', traceID: '1', spanID: '7' },
              { refType: 'CHILD_OF', traceID: '1', spanID: '6' },
            ],
            startTime: 1790000000000001,
            duration: 5,
            tags: [
              { key: 'span.kind', type: 'string', value: 'client' },
              { key: 'error', type: 'bool', value: true },
              { key: 'otel.status_description', type: 'string', value: 'lost' },
              { key: 'otel.scope.name', type: 'string', value: 'sc' },
              { key: 'w3c.tracestate', type: 'string', value: 'a=b' },
              { key: 'call_id', type: 'string', value: 'c-1' },
              { key: 'int', type: 'int64', value: '9007199254740993' },
              { key: 'text', type: 'string', value: '9007199254740993' },
              { key: 'waybill.stages', type: 'string', value: '["client.sent","client.timeout"]' },
              { key: 'list', type: 'string', value: '["a"]' },
              { key: 'binary', type: 'binary', value: 'AQI=' },
            ],
            logs: [
              {
                timestamp: 1790000000000002,
                fields: [
                  { key: 'event', type: 'string', value: 'client.sent' },
                  { key: 'waybill.seq', type: 'int64', value: 1 },
                ],
              },
              { timestamp: 1790000000000003, fields: [{ key: 'message', type: 'string', value: 'old' }] },
            ],
            processID: 'p1',
            warnings: ['clock skew'],
          },
        ],
      },
    ],
    errors: [{ code: 500, msg: 'half' }],
  };

  it('becomes the one model, with what it cannot carry named', async () => {
    const { spans, gaps, damages } = await one(answer);
    expect(damages).toEqual([]);
    expect(spans[0]).toMatchObject({
      traceId: '1'.padStart(32, '0'),
      spanId: '2'.padStart(16, '0'),
      parentSpanId: '7'.padStart(16, '0'),
      traceState: 'a=b',
      kind: 3,
      status: { code: 2, message: 'lost' },
      startTimeUnixNano: 1790000000000001000n,
      endTimeUnixNano: 1790000000000006000n,
      scope: { name: 'sc' },
      resource: { serviceName: 'agent', attributes: { host: 'h' } },
    });
    expect(spans[0]?.attributes).toMatchObject({
      'waybill.call.id': 'c-1',
      int: 9007199254740993n,
      text: '9007199254740993',
      // Lists become text in Jaeger; those of the vocabulary are lists again.
      'waybill.stages': ['client.sent', 'client.timeout'],
      list: '["a"]',
      '@jaeger@warnings': ['clock skew'],
    });
    expect(spans[0]?.links.map(({ spanId }) => spanId)).toEqual([
      '8'.padStart(16, '0'),
      '6'.padStart(16, '0'),
    ]);
    expect(spans[0]?.events).toMatchObject([
      { name: 'client.sent', timeUnixNano: 1790000000000002000n, attributes: { 'waybill.stage.seq': 1 } },
      { name: 'old' },
    ]);
    expect(spans[0]?.lossy).toContain('nanoseconds');
    expect(gaps).toMatchObject([{ kind: 'partial_answer' }]);
  });

  it.each<[string, unknown]>([
    ['a trace that is no object', { data: [1, ...answer.data] }],
    [
      'a span that is no object',
      { data: [{ ...answer.data[0], spans: [null, ...(answer.data[0]?.spans ?? [])] }] },
    ],
    [
      'tags that are no list',
      { data: [{ ...answer.data[0], spans: [{ ...answer.data[0]?.spans[0], tags: 'x' }] }] },
    ],
    [
      'a start time that is text',
      { data: [{ ...answer.data[0], spans: [{ ...answer.data[0]?.spans[0], startTime: 'x' }] }] },
    ],
  ])('%s is damage, the rest is read', async (_name, value) => {
    const { spans, damages } = await one(value);
    expect(spans).toHaveLength(1);
    expect(damages.length).toBeGreaterThan(0);
  });
});

describe('Zipkin v2', () => {
  it('spans of an array of arrays become the one model', async () => {
    const { spans, summary } = await one([
      [
        {
          traceId: TRACE.slice(16),
          id: 'b7ad6b7169203331',
          parentId: '1',
          kind: 'SERVER',
          name: 'tools/call x',
          timestamp: 1790000000000001,
          duration: 7,
          localEndpoint: { serviceName: 'todo' },
          tags: {
            'waybill.call_id': 'c-1',
            'waybill.call.attempt': '2',
            'waybill.effect.replayed': 'true',
            'waybill.stages': 'a,b',
            'otel.status_code': 'ERROR',
            'otel.scope.name': 'sc',
            error: 'boom',
          },
          annotations: [
            { timestamp: 1790000000000002, value: 'server.received' },
            { timestamp: 1790000000000003, value: '"server.result_sent": {"waybill.seq":4}' },
          ],
        },
      ],
    ]);
    expect(summary).toMatchObject({ format: 'zipkin-json', damaged: [] });
    expect(spans[0]).toMatchObject({
      traceId: TRACE.slice(16).padStart(32, '0'),
      parentSpanId: '1'.padStart(16, '0'),
      kind: 2,
      status: { code: 2, message: 'boom' },
      endTimeUnixNano: 1790000000000008000n,
      attributes: {
        'waybill.call.id': 'c-1',
        'waybill.call.attempt': 2,
        'waybill.effect.replayed': true,
        'waybill.stages': ['a', 'b'],
      },
      resource: { serviceName: 'todo' },
      scope: { name: 'sc' },
    });
    expect(spans[0]?.events).toMatchObject([
      { name: 'server.received' },
      { name: 'server.result_sent', attributes: { 'waybill.stage.seq': 4 } },
    ]);
  });

  it('takes an annotation of Zipkin for a name and attributes only where it is both', async () => {
    const values = [
      ['plain', 'plain', {}],
      ['"a": {"k":1}', 'a', { k: 1 }],
      ['a : {"k":1}', 'a', { k: 1 }],
      ['a: b: {"k":1}', 'a: b', { k: 1 }],
      ['a {"k":1}', 'a {"k":1}', {}],
      ['a: {broken}', 'a: {broken}', {}],
      [': {"k":1}', ': {"k":1}', {}],
      // Spaces without end: quadratic in a pattern that has more than one run of them.
      [`a${' '.repeat(300_000)}x`, `a${' '.repeat(300_000)}x`, {}],
    ] as const;
    const { spans } = await one([
      {
        traceId: TRACE,
        id: 'b7ad6b7169203331',
        name: 'tools/call x',
        timestamp: 1,
        duration: 1,
        tags: { 'mcp.method.name': 'tools/call' },
        annotations: values.map(([value]) => ({ timestamp: 1, value })),
      },
    ]);
    expect(spans[0]?.events.map(({ name }) => name)).toEqual(values.map(([, name]) => name));
    expect(spans[0]?.events.map(({ attributes }) => attributes)).toMatchObject(
      values.map(([, , has]) => has),
    );
  });
});

describe('objects of the JavaScript SDK, printed', () => {
  const resource = { _rawAttributes: [['service.name', 'agent']] };
  const instrumentationScope = { name: 'sc', version: '1' };

  it('a span becomes the one model', async () => {
    const { spans, summary } = await collect(
      bytesOf(
        JSON.stringify(
          {
            _spanContext: { traceId: TRACE, spanId: 'b7ad6b7169203331', traceFlags: 1 },
            parentSpanContext: { traceId: TRACE, spanId: '00f067aa0ba902b7' },
            name: 'tools/call x',
            kind: 2,
            startTime: [1790000000, 5],
            endTime: [1790000001, 0],
            status: { code: 2, message: 'm' },
            attributes: { call_id: 'c-1', list: ['a'] },
            events: [{ name: 'client.sent', time: [1790000000, 6], attributes: { 'waybill.seq': 1 } }],
            links: [{ context: { traceId: TRACE, spanId: '00f067aa0ba902b7' }, attributes: {} }],
            resource,
            instrumentationScope,
          },
          null,
          2,
        ),
      ),
    );
    expect(summary).toMatchObject({ format: 'sdk-json', damaged: [] });
    expect(spans[0]).toMatchObject({
      traceId: TRACE,
      parentSpanId: '00f067aa0ba902b7',
      kind: 3,
      startTimeUnixNano: 1790000000000000005n,
      endTimeUnixNano: 1790000001000000000n,
      status: { code: 2, message: 'm' },
      attributes: { 'waybill.call.id': 'c-1', list: ['a'] },
      events: [{ timeUnixNano: 1790000000000000006n, attributes: { 'waybill.stage.seq': 1 } }],
      links: [{ spanId: '00f067aa0ba902b7' }],
      resource: { serviceName: 'agent' },
      scope: { name: 'sc', version: '1' },
    });
  });

  it('log records and metrics between them are no damage', async () => {
    const { logs, damages } = await collect(
      bytesOf(
        `${JSON.stringify({ hrTime: [1, 2], hrTimeObserved: [1, 3], _body: 'b', attributes: { 'event.name': 'e' }, resource })}\n` +
          JSON.stringify({ resource, scopeMetrics: [] }),
      ),
    );
    expect(damages).toEqual([]);
    expect(logs).toMatchObject([{ eventName: 'e', timeUnixNano: 1000000002n, body: 'b' }]);
  });
});

describe('answers of backends', () => {
  const trace = {
    resourceSpans: [{ scopeSpans: [{ spans: [{ traceId: TRACE, spanId: 'b7ad6b7169203331', name: 'n' }] }] }],
  };

  it.each<[string, unknown]>([
    ['Tempo v2, partial by name', { trace, status: 'PARTIAL', message: 'too large' }],
    ['Tempo v2, partial by number', { trace, status: 1 }],
  ])('%s is a gap', async (_name, value) => {
    const { spans, gaps } = await one(value);
    expect(spans).toHaveLength(1);
    expect(gaps).toMatchObject([{ kind: 'partial_answer' }]);
  });

  it.each<[string, unknown]>([
    ['Tempo v2, complete', { trace, status: 'COMPLETE' }],
    ['Jaeger v3', { result: trace }],
    ['one entry of resourceSpans', trace.resourceSpans[0]],
    ['one entry of scopeSpans', trace.resourceSpans[0]?.scopeSpans[0]],
  ])('%s is read', async (_name, value) => {
    const { spans, gaps, damages } = await one(value);
    expect({ spans: spans.length, gaps, damages }).toEqual({ spans: 1, gaps: [], damages: [] });
  });

  it('stage logs and metrics beside spans: logs are read, metrics are no damage', async () => {
    const { logs, damages } = await collect(
      bytesOf(
        [
          JSON.stringify({ resourceMetrics: [] }),
          JSON.stringify({
            resourceLogs: [
              {
                scopeLogs: [
                  {
                    logRecords: [
                      {
                        timeUnixNano: '5',
                        observedTimeUnixNano: '6',
                        traceId: TRACE,
                        spanId: 'b7ad6b7169203331',
                        attributes: [
                          { key: 'event.name', value: { stringValue: 'waybill.server.received' } },
                        ],
                        body: { stringValue: 'b' },
                      },
                    ],
                  },
                ],
              },
            ],
          }),
        ].join('\n'),
      ),
    );
    expect(damages).toEqual([]);
    expect(logs).toMatchObject([
      {
        eventName: 'waybill.server.received',
        timeUnixNano: 5n,
        observedTimeUnixNano: 6n,
        traceId: TRACE,
        body: 'b',
      },
    ]);
  });

  it('an export in UTF-16, as some shells write it, is read', async () => {
    const text = `\uFEFF${JSON.stringify(trace)}\r\n`;
    const { spans } = await collect(bytesOf(Buffer.from(text, 'utf16le')));
    expect(spans).toHaveLength(1);
  });
});
