/**
 * The JSON report: the report model with its keys in one fixed order and 64-bit integers as decimal strings. Its shape
 * is published as `schemas/report-1.json`; a change that a reader could notice changes `schemaVersion`.
 */
import type {
  AuditReport,
  Finding,
  ReportCall,
  ReportClientSide,
  ReportDamage,
  ReportInput,
  ReportOperation,
  ReportServerSide,
  SuppressedFinding,
} from '../report.js';
import type { EvidenceRef, Gap } from '../rule.js';

/** Relative to the package, like every reference of the project to itself. */
export const REPORT_SCHEMA = '@waybill/audit/schemas/report-1.json';

/** A value that `JSON.stringify` writes as it is; bigint has become string. */
export type JsonValue =
  string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue | undefined };

export function jsonPlace(at: EvidenceRef): JsonValue {
  return {
    source: at.source,
    line: at.line,
    offset: at.offset,
    traceId: at.traceId,
    spanId: at.spanId,
    event: at.event,
    receiptId: at.receiptId,
  };
}

function jsonGap(gap: Gap): JsonValue {
  return { kind: gap.kind, at: jsonPlace(gap.at), note: gap.note };
}

function jsonDamage(damage: ReportDamage): JsonValue {
  return { line: damage.line, offset: damage.offset, reason: damage.reason, remedy: damage.remedy };
}

export function jsonInput(input: ReportInput): JsonValue {
  return {
    id: input.id,
    path: input.path,
    format: input.format,
    bytes: input.bytes,
    spans: input.spans,
    logs: input.logs,
    mcpSpans: input.mcpSpans,
    records: input.records,
    damaged: input.damaged.map(jsonDamage),
  };
}

function jsonSide(side: ReportClientSide | null): { readonly [key: string]: JsonValue } | null {
  return side === null
    ? null
    : {
        service: side.service,
        traceId: side.traceId,
        spanId: side.spanId,
        startUnixNano: side.startUnixNano.toString(),
        endUnixNano: side.endUnixNano.toString(),
        outcome: side.outcome,
        reason: side.reason,
        source: side.source,
        stages: side.stages.map((stage) => ({
          name: stage.name,
          timeUnixNano: stage.timeUnixNano.toString(),
        })),
      };
}

function jsonServer(side: ReportServerSide | null): JsonValue {
  return side === null ? null : { ...jsonSide(side), replyState: side.replyState };
}

function jsonCall(call: ReportCall): JsonValue {
  return {
    callId: call.callId,
    attempt: call.attempt,
    join: call.join,
    flags: call.flags,
    client: jsonSide(call.client),
    server: jsonServer(call.server),
  };
}

export function jsonOperation(operation: ReportOperation): { readonly [key: string]: JsonValue } {
  return {
    key: operation.key,
    operationId: operation.operationId,
    idSource: operation.idSource,
    runId: operation.runId,
    tool: operation.tool,
    effectKind: operation.effectKind,
    verdict: operation.verdict,
    rule: operation.rule,
    reason: operation.reason,
    action: operation.action,
    flags: operation.flags,
    told: operation.told,
    effect: operation.effect,
    evidenceState: operation.evidenceState,
    assurance: operation.assurance,
    effects: { atLeast: operation.effects.atLeast, atMost: operation.effects.atMost },
    owesReceipt: operation.owesReceipt,
    calls: operation.calls.map(jsonCall),
    receipts: operation.receipts.map((receipt) => ({
      receiptId: receipt.receiptId,
      outcome: receipt.outcome,
      level: receipt.level,
      verification: receipt.verification,
      object: receipt.object,
      version: receipt.version,
    })),
    target:
      operation.target === null
        ? null
        : {
            object: operation.target.object,
            state: operation.target.state,
            version: operation.target.version,
            fenced: operation.target.fenced,
            relation: operation.target.relation,
          },
    evidence: operation.evidence,
  };
}

export function jsonFinding(finding: Finding): { readonly [key: string]: JsonValue } {
  return {
    rule: finding.rule,
    level: finding.level,
    certainty: finding.certainty,
    operation: finding.operation,
    callId: finding.callId,
    tool: finding.tool,
    at: finding.at.map(jsonPlace),
    message: finding.message,
    messageId: finding.messageId,
    fingerprint: finding.fingerprint,
  };
}

export function jsonSuppressed(finding: SuppressedFinding): { readonly [key: string]: JsonValue } {
  return {
    ...jsonFinding(finding),
    suppression: { reason: finding.suppression.reason, until: finding.suppression.until },
  };
}

function sortedCounts(counts: Readonly<Partial<Record<string, number>>>): JsonValue {
  return Object.fromEntries(Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Everything but the lists that grow with the input. */
export function jsonHead(report: AuditReport): { readonly [key: string]: JsonValue } {
  return {
    $schema: REPORT_SCHEMA,
    schemaVersion: report.schemaVersion,
    tool: { name: report.tool.name, version: report.tool.version },
    asOf: { unixNano: report.asOf.unixNano.toString(), source: report.asOf.source },
    graceMs: report.graceMs,
    inputs: report.inputs.map(jsonInput),
    coverage: {
      operations: report.coverage.operations,
      calls: report.coverage.calls,
      withClient: report.coverage.withClient,
      withServer: report.coverage.withServer,
      withReceipt: report.coverage.withReceipt,
      receiptsDeclared: report.coverage.receiptsDeclared,
      gaps: report.coverage.gaps.map(jsonGap),
      notEvaluated: report.coverage.notEvaluated.map((entry) => ({
        rule: entry.rule,
        because: entry.because,
      })),
      notes: report.coverage.notes,
    },
    summary: {
      verdicts: sortedCounts(report.summary.verdicts),
      findings: {
        error: report.summary.findings.error,
        warning: report.summary.findings.warning,
        info: report.summary.findings.info,
      },
      suppressed: report.summary.suppressed,
    },
  };
}

function* list<T>(name: string, items: Iterable<T>, toJson: (item: T) => JsonValue): Generator<string> {
  yield `,\n  ${JSON.stringify(name)}: [`;
  let count = 0;
  for (const item of items) {
    yield `${count === 0 ? '' : ','}\n    ${JSON.stringify(toJson(item))}`;
    count += 1;
  }
  yield count === 0 ? ']' : '\n  ]';
}

/**
 * The report in pieces: the head indented, then one operation and one finding a line, so that a large report is never
 * one string in memory, and two reports can be compared line by line.
 */
export function* renderJson(report: AuditReport): Generator<string> {
  yield JSON.stringify(jsonHead(report), null, 2).slice(0, -2);
  yield* list('operations', report.operations, jsonOperation);
  yield* list('findings', report.findings, jsonFinding);
  yield* list('suppressed', report.suppressed, jsonSuppressed);
  yield '\n}\n';
}
