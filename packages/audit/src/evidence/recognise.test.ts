import { describe, expect, test } from 'vitest';
import type { LogRecord, Span } from '../model.js';
import { legOf } from './legs.js';
import { callGroup } from './fixtures.test-support.js';
import { rowOfLog, rowOfSpan } from './recognise.js';
import type { SpanRow } from './rows.js';
import { missingSeq, stagesOf } from './side.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = 'a000000000000001';
const resource = { attributes: {}, serviceName: 'agent' };
const scope = { name: '@waybill/instrumentation-mcp', version: '0.1.0' };

function span(over: Partial<Span>): Span {
  return {
    traceId: TRACE,
    spanId: SPAN,
    parentSpanId: '',
    traceState: '',
    name: 'tools/call buy',
    kind: 3,
    startTimeUnixNano: 1_000n,
    endTimeUnixNano: 9_000n,
    attributes: { 'mcp.method.name': 'tools/call', 'waybill.call.id': 'c-1' },
    events: [],
    links: [],
    status: { code: 0, message: '' },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
    flags: undefined,
    resource,
    scope,
    at: { source: 's1', line: 1 },
    lossy: [],
    ...over,
  };
}
const event = (stage: string, seq: number, time: bigint, attributes = {}): Span['events'][number] => ({
  name: `waybill.${stage}`,
  timeUnixNano: time,
  attributes: { 'waybill.stage.seq': seq, ...attributes },
});
const log = (stage: string, seq: number, time: bigint, attributes = {}): LogRecord => ({
  eventName: `waybill.${stage}`,
  timeUnixNano: time,
  observedTimeUnixNano: time,
  traceId: TRACE,
  spanId: SPAN,
  attributes: { 'waybill.call.id': 'c-1', 'waybill.stage.seq': seq, ...attributes },
  body: null,
  resource,
  scope,
  at: { source: 's2', line: seq },
});
const rows = (...all: readonly (SpanRow | undefined)[]): readonly SpanRow[] =>
  all.filter((row) => row !== undefined);
const named = (all: readonly SpanRow[]): readonly string[] => stagesOf(all).map((stage) => stage.name);

const client = span({ events: [event('client.sent', 1, 1_100n), event('client.timeout', 2, 8_000n)] });
const late = span({
  spanId: 'a000000000000002',
  parentSpanId: SPAN,
  name: 'waybill.late_result',
  kind: 1,
  attributes: { 'waybill.call.id': 'c-1', 'waybill.flags': ['late_result'] },
  events: [event('client.late_result', 3, 20_000n, { 'waybill.outcome': 'TOOL_SUCCESS' })],
});

test('the answer to tasks/result is the result of the tool that was called as a task', () => {
  const attributes = { 'mcp.method.name': 'tasks/result', 'gen_ai.tool.name': 'buy' };
  const named = { ...attributes, 'waybill.call.id': 'c-2', 'waybill.call.continues': 'c-1' };
  expect(rowOfSpan(span({ name: 'tasks/result', attributes: named }))).toMatchObject({
    role: 'client',
    tool: 'buy',
    callId: 'c-2',
  });
  expect(rowOfSpan(span({ name: 'tasks/result', attributes }))).toBeUndefined();
  const poll = { ...named, 'mcp.method.name': 'tasks/get' };
  expect(rowOfSpan(span({ name: 'tasks/get', attributes: poll }))).toBeUndefined();
});

describe('stages of one call', () => {
  test('told by a span, by logs and by a journal, each at its own time, are told once', () => {
    const all = rows(
      rowOfSpan(client),
      rowOfLog(log('client.sent', 1, 1_234n)),
      rowOfLog(log('client.timeout', 2, 8_765n)),
    );
    expect(named(all)).toEqual(['client.sent', 'client.timeout']);
    expect(missingSeq(all)).toEqual([]);
  });

  test('that stand twice in one record are two', () => {
    const twice = span({ events: [event('client.sent', 1, 1_100n), event('client.sent', 2, 1_100n)] });
    expect(named(rows(rowOfSpan(twice)))).toEqual(['client.sent', 'client.sent']);
  });
});

describe('a late result', () => {
  test('on a span of its own is a stage of the client, with the next number', () => {
    const all = rows(rowOfSpan(client), rowOfSpan(late));
    expect(all.map((row) => row.role)).toEqual(['client', 'client']);
    expect(named(all)).toEqual(['client.sent', 'client.timeout', 'client.late_result']);
    expect(missingSeq(all)).toEqual([]);
    const leg = legOf(callGroup(all, []), new Set());
    expect(leg).toMatchObject({ client: 'timeout', server: 'none', deliveries: [], open: false });
  });

  test('in a journal is not what the caller was told', () => {
    const all = rows(
      rowOfLog(log('client.sent', 1, 1_100n)),
      rowOfLog(log('client.timeout', 2, 8_000n)),
      rowOfLog(log('client.late_result', 3, 20_000n, { 'waybill.outcome': 'TOOL_SUCCESS' })),
    );
    const leg = legOf(callGroup(all, []), new Set());
    expect(leg.told?.outcome).toBe('TIMEOUT');
    expect(leg.client).toBe('timeout');
  });
});
