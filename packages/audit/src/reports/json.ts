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
import { namedParts, placeName } from '../places.js';
import type { EvidenceRef, Gap } from '../rule.js';
import { jsonText } from './text.js';

/** Relative to the package, like every reference of the project to itself. */
export const REPORT_SCHEMA = '@waybill/audit/schemas/report-1.json';

/** A value that `JSON.stringify` writes as it is; bigint has become string. */
export type JsonValue =
  string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue | undefined };

/** A piece of evidence by its name; a record without an id of its own by its place. */
export function jsonEvidence(at: EvidenceRef): JsonValue {
  const { source, line, offset, traceId, spanId, event, receiptId } = namedParts(at);
  return { source, line, offset, traceId, spanId, event, receiptId };
}

function jsonGap(gap: Gap): JsonValue {
  return { kind: gap.kind, at: jsonEvidence(gap.at), note: gap.note };
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
    at: finding.at.map(jsonEvidence),
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
    yield `${count === 0 ? '' : ','}\n    ${jsonText(toJson(item))}`;
    count += 1;
  }
  yield count === 0 ? ']' : '\n  ]';
}

/** Text that is written later, held as bytes: some twenty of them an operation. */
class Held {
  readonly #pieces: Buffer[] = [];
  #last = '';
  #count = 0;

  add(places: readonly string[]): void {
    this.#last += `${this.#count === 0 ? '' : ','}\n      ${jsonText(places)}`;
    this.#count += 1;
    if (this.#last.length > 64 * 1024) this.#close();
  }

  *list(name: string): Generator<string> {
    this.#close();
    yield `\n    ${JSON.stringify(name)}: [`;
    for (const piece of this.#pieces) yield piece.toString('utf8');
    yield this.#count === 0 ? ']' : '\n    ]';
  }

  #close(): void {
    this.#pieces.push(Buffer.from(this.#last, 'utf8'));
    this.#last = '';
  }
}

/** The places where evidence was read, in the order of what refers to it: the only part, beside `inputs`, that names them. */
function* places(report: AuditReport, operations: Held): Generator<string> {
  const of = (items: Iterable<{ readonly at: readonly EvidenceRef[] }>): Held => {
    const held = new Held();
    for (const { at } of items) held.add(at.map(placeName));
    return held;
  };
  yield ',\n  "places": {';
  yield* of(report.coverage.gaps.map(({ at }) => ({ at: [at] }))).list('gaps');
  yield ',';
  yield* operations.list('operations');
  yield ',';
  yield* of(report.findings).list('findings');
  yield ',';
  yield* of(report.suppressed).list('suppressed');
  yield '\n  }';
}

/**
 * The report in pieces: the head indented, then one operation and one finding a line, so that a large report is never
 * one string in memory, and two reports can be compared line by line. Everything about where the evidence was read
 * stands in `inputs` and `places`; the rest is the same bytes for the same evidence in another format or file.
 */
export function* renderJson(report: AuditReport): Generator<string> {
  yield jsonText(jsonHead(report), 2).slice(0, -2);
  const held = new Held();
  yield* list('operations', report.operations, (operation) => {
    held.add(operation.places);
    return jsonOperation(operation);
  });
  yield* list('findings', report.findings, jsonFinding);
  yield* list('suppressed', report.suppressed, jsonSuppressed);
  yield* places(report, held);
  yield '\n}\n';
}
