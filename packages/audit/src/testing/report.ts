/** Reports by hand, for tests of what prints them. */
import type { Verdict } from '@waybill/core';
import {
  REPORT_SCHEMA_VERSION,
  type AuditReport,
  type Finding,
  type ReportCall,
  type ReportOperation,
} from '../report.js';
import { atMs } from './builder.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';

/** One call that both sides saw succeed. */
export function buildReportCall(input: Partial<ReportCall> = {}): ReportCall {
  const side = { traceId: TRACE, outcome: 'TOOL_SUCCESS', reason: null, source: 'wire' } as const;
  return {
    callId: 'c-1',
    attempt: 1,
    join: 'call_id',
    flags: [],
    client: {
      ...side,
      service: 'agent',
      spanId: 'a000000000000001',
      startUnixNano: atMs(0),
      endUnixNano: atMs(100),
      stages: [
        { name: 'client.sent', timeUnixNano: atMs(1) },
        { name: 'client.result_received', timeUnixNano: atMs(99) },
      ],
    },
    server: {
      ...side,
      service: 'todo',
      spanId: 'b000000000000001',
      startUnixNano: atMs(40),
      endUnixNano: atMs(62),
      replyState: 'flushed',
      stages: [
        { name: 'server.received', timeUnixNano: atMs(42) },
        { name: 'server.effect_requested', timeUnixNano: atMs(45) },
        { name: 'server.effect_confirmed', timeUnixNano: atMs(58) },
        { name: 'server.result_sent', timeUnixNano: atMs(60) },
      ],
    },
    ...input,
  };
}

/** One verified change with its receipt. */
export function buildReportOperation(input: Partial<ReportOperation> = {}): ReportOperation {
  return {
    key: 'row-42:done:v1',
    operationId: 'row-42:done:v1',
    idSource: 'caller',
    runId: 'run-1',
    tool: 'set_status',
    effectKind: 'write',
    verdict: 'verified_done',
    rule: 'D1',
    reason: 'target_and_receipt',
    action: 'none',
    flags: [],
    told: 'TOOL_SUCCESS',
    effect: 'applied',
    evidenceState: 'complete',
    assurance: 'unsigned',
    effects: { atLeast: 1, atMost: 1 },
    owesReceipt: 'yes',
    calls: [buildReportCall()],
    receipts: [
      {
        receiptId: 'r-1',
        outcome: 'applied',
        level: 'plain',
        verification: 'unsigned',
        object: 'row-42',
        version: '2',
      },
    ],
    target: null,
    evidence: [`span:${TRACE}:a000000000000001`, `span:${TRACE}:b000000000000001`, 'receipt:r-1'],
    places: ['s1:1', 's1:2', 'receipts:1'],
    ...input,
  };
}

/** One finding against the operation of `buildReportOperation`. */
export function buildFinding(input: Partial<Finding> = {}): Finding {
  return {
    rule: 'reply-lost',
    level: 'warning',
    certainty: 'proven',
    operation: 'row-42:done:v1',
    callId: 'c-1',
    tool: 'set_status',
    at: [{ source: 's1', line: 1, traceId: TRACE, spanId: 'a000000000000001' }],
    message: 'set_status: no response reached the caller (TIMEOUT); the change was made',
    messageId: 'lost',
    fingerprint: 'reply-lost:row-42:done:v1:1',
    ...input,
  };
}

/** A report of these operations and findings, its summary counted from them. */
export function buildReport(
  operations: readonly ReportOperation[] = [buildReportOperation()],
  findings: readonly Finding[] = [],
  input: Partial<AuditReport> = {},
): AuditReport {
  const verdicts: Partial<Record<Verdict, number>> = {};
  for (const { verdict } of operations) verdicts[verdict] = (verdicts[verdict] ?? 0) + 1;
  const level = (wanted: Finding['level']): number =>
    findings.filter((finding) => finding.level === wanted).length;
  const calls = operations.flatMap((operation) => operation.calls);
  return {
    schemaVersion: REPORT_SCHEMA_VERSION,
    tool: { name: 'waybill', version: '0.1.0' },
    asOf: { unixNano: atMs(100), source: 'latest_evidence' },
    graceMs: 0,
    inputs: [
      {
        id: 's1',
        path: 'traces.jsonl',
        format: 'otlp-jsonl',
        bytes: 4096,
        spans: calls.length * 2,
        logs: 0,
        mcpSpans: calls.length * 2,
        records: 0,
        damaged: [],
      },
    ],
    coverage: {
      operations: operations.length,
      calls: calls.length,
      withClient: calls.filter((call) => call.client !== null).length,
      withServer: calls.filter((call) => call.server !== null).length,
      withReceipt: operations.filter((operation) => operation.receipts.length > 0).length,
      receiptsDeclared: 'all-writes',
      gaps: [],
      notEvaluated: [],
      notes: [],
    },
    summary: {
      verdicts,
      findings: { error: level('error'), warning: level('warning'), info: level('info') },
      suppressed: 0,
    },
    operations,
    findings,
    suppressed: [],
    ...input,
  };
}
