/** Rows by hand, for tests of what is made of them. */
import { stageOfEvent } from '@waybill/core';
import type { Stage } from '@waybill/core';
import type { CallGroup, OperationGroup } from './operations.js';
import type { SpanRow, StageRow } from './rows.js';

export function stageRow(name: Stage, seq: number, ms: number = seq): StageRow {
  return { name, timeUnixNano: BigInt(ms) * 1_000_000n, seq, at: { source: 's1', event: name } };
}

/** A span of our own emitter with dense stages, unless told otherwise. */
export function spanRow(
  role: SpanRow['role'],
  stages: readonly string[] = [],
  over: Partial<SpanRow> = {},
): SpanRow {
  const rows = stages.map((name, index) => {
    const stage = stageOfEvent(name);
    if (stage === undefined) throw new Error(`no stage is called ${name}`);
    return stageRow(stage, index + 1);
  });
  return {
    role,
    own: true,
    fromLogs: false,
    scope: '@waybill/instrumentation-mcp',
    service: role === 'server' ? 'todo' : 'agent',
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    spanId: role === 'server' ? 'b000000000000001' : 'a000000000000001',
    parentSpanId: role === 'server' ? 'a000000000000001' : '',
    startTimeUnixNano: 1n,
    endTimeUnixNano: 100_000_000n,
    status: 'unset',
    method: 'tools/call',
    tool: 'set_status',
    rpcId: '7',
    callId: 'c-1',
    operationId: 'op-1',
    attributes: {},
    stages: rows,
    seqs: rows.map((_, index) => index + 1),
    timedOut: false,
    droppedEvents: 0,
    unsampled: false,
    at: { source: 's1', line: 1 },
    contested: false,
    ...over,
  };
}

export function callGroup(
  client: readonly SpanRow[],
  server: readonly SpanRow[],
  over: Partial<CallGroup> = {},
): CallGroup {
  return {
    id: 'c-1',
    callId: 'c-1',
    client,
    server,
    join: 'call_id',
    tool: 'set_status',
    effectKind: 'write',
    startTimeUnixNano: 1n,
    endTimeUnixNano: 100_000_000n,
    ...over,
  };
}

export function operationGroup(
  calls: readonly CallGroup[],
  over: Partial<OperationGroup> = {},
): OperationGroup {
  return {
    key: 'op-1',
    operationId: 'op-1',
    idSource: 'caller',
    runId: 'run-1',
    calls,
    receipts: [],
    misbound: [],
    broken: [],
    targets: [],
    outbox: [],
    ...over,
  };
}
