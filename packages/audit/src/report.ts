/**
 * The report as data. `reports/` renders it; the JSON report is this object with 64-bit integers as strings.
 * Everything in it is ordered, and nothing in it depends on the order of the inputs' lines or on the clock.
 */
import type {
  Action,
  Assurance,
  EffectKind,
  EffectState,
  EvidenceState,
  OutcomeSource,
  Verdict,
} from '@waybill/core';
import type { EvidenceRef, Gap, JoinBasis, Level } from './rule.js';

export const REPORT_SCHEMA_VERSION = '1.0';

export interface ReportDamage {
  readonly line?: number;
  /** Byte offset, for binary inputs. */
  readonly offset?: number;
  readonly reason: string;
  readonly remedy: string;
}

export interface ReportInput {
  /** `s1`, `s2`, … for traces in the order given, else `receipts`, `targets`, `outbox`, `loss` (then `receipts2`, …). */
  readonly id: string;
  readonly path: string;
  readonly format: string;
  readonly bytes: number;
  readonly spans: number;
  readonly logs: number;
  /** Spans of MCP requests and of tool calls, duplicates included. */
  readonly mcpSpans: number;
  /** Receipts, target reads, outbox rows or loss records. */
  readonly records: number;
  readonly damaged: readonly ReportDamage[];
}

/** A rule that could not be evaluated for want of evidence; never silently passed. */
export interface NotEvaluated {
  readonly rule: string;
  readonly because: string;
}

export interface ReportCoverage {
  readonly operations: number;
  readonly calls: number;
  readonly withClient: number;
  readonly withServer: number;
  readonly withReceipt: number;
  /** `all-writes`: a receipts input was given; `configured`: by tool; `none`: only where the server shows `effect()`. */
  readonly receiptsDeclared: 'all-writes' | 'configured' | 'none';
  readonly gaps: readonly Gap[];
  readonly notEvaluated: readonly NotEvaluated[];
  /** Sentences for a reader: `no MCP boundary spans: …`, a suppression that has run out, … */
  readonly notes: readonly string[];
}

export interface ReportClientSide {
  readonly traceId: string;
  readonly spanId: string;
  readonly outcome: string | null;
  readonly reason: string | null;
  readonly source: OutcomeSource | null;
  readonly stages: readonly ReportStage[];
  readonly startUnixNano: bigint;
  readonly endUnixNano: bigint;
  readonly service: string;
}

export interface ReportServerSide extends ReportClientSide {
  readonly replyState: string | null;
}

export interface ReportStage {
  readonly name: string;
  readonly timeUnixNano: bigint;
}

export interface ReportCall {
  readonly callId: string;
  /** Number of the call in the operation, from 1, by start time. */
  readonly attempt: number;
  /** How the two sides were joined; null when there is one side only. */
  readonly join: JoinBasis | null;
  readonly flags: readonly string[];
  readonly client: ReportClientSide | null;
  readonly server: ReportServerSide | null;
}

export interface ReportReceipt {
  readonly receiptId: string;
  readonly outcome: 'applied' | 'refused' | 'failed';
  readonly level: 'plain' | 'appended' | 'sealed';
  readonly verification: 'valid' | 'unsigned' | 'invalid';
  readonly object: string | null;
  readonly version: string | null;
}

export interface ReportTarget {
  readonly object: string;
  readonly state: string | null;
  readonly version: string | null;
  readonly fenced: boolean;
  readonly relation: string;
}

export interface ReportOperation {
  readonly key: string;
  readonly operationId: string | null;
  readonly idSource: string | null;
  readonly runId: string | null;
  readonly tool: string | null;
  readonly effectKind: EffectKind;
  readonly verdict: Verdict;
  /** Id of the row of the decision table. */
  readonly rule: string;
  readonly reason: string;
  readonly action: Action;
  readonly flags: readonly string[];
  /** `OUTCOME` or `OUTCOME/reason`; null when no client side was recorded. */
  readonly told: string | null;
  readonly effect: EffectState;
  readonly evidenceState: EvidenceState;
  readonly assurance: Assurance;
  readonly effects: { readonly atLeast: number; readonly atMost: number };
  readonly owesReceipt: 'yes' | 'no' | 'undeclared';
  readonly calls: readonly ReportCall[];
  readonly receipts: readonly ReportReceipt[];
  readonly target: ReportTarget | null;
  /**
   * Names of everything that was used: `span:<trace id>:<span id>` call by call, client before server, then
   * `receipt:<id>`; a record without an id of its own by its place. The same in every export of the same evidence.
   */
  readonly evidence: readonly string[];
  /** Where each entry of `evidence` was read, in its order: `s1:3`, `receipts:1`, in binary inputs `s1@4096`. */
  readonly places: readonly string[];
}

/**
 * The operations of a report by the start of their first call. An array is one; where there are many, they are made
 * as they are read, so prefer one pass over several.
 */
export interface ReportOperations extends Iterable<ReportOperation> {
  readonly length: number;
  at(place: number): ReportOperation | undefined;
  find(test: (operation: ReportOperation) => boolean): ReportOperation | undefined;
  filter(test: (operation: ReportOperation) => boolean): readonly ReportOperation[];
  map<T>(make: (operation: ReportOperation) => T): readonly T[];
  slice(from: number, to?: number): readonly ReportOperation[];
}

export interface Finding {
  readonly rule: string;
  readonly level: Exclude<Level, 'off'>;
  readonly certainty: 'proven' | 'suspected';
  /** Key of the operation; null for a finding about an input or a run. */
  readonly operation: string | null;
  readonly callId: string | null;
  readonly tool: string | null;
  readonly at: readonly EvidenceRef[];
  readonly message: string;
  readonly messageId: string;
  /** Rule, operation key and ordinal of the call: the same in the next run over other traces of the same operation. */
  readonly fingerprint: string;
}

export interface SuppressedFinding extends Finding {
  readonly suppression: { readonly reason: string; readonly until: string };
}

export interface AuditReport {
  readonly schemaVersion: typeof REPORT_SCHEMA_VERSION;
  readonly tool: { readonly name: 'waybill'; readonly version: string };
  readonly asOf: { readonly unixNano: bigint; readonly source: 'latest_evidence' | 'given' | 'none' };
  readonly graceMs: number;
  readonly inputs: readonly ReportInput[];
  readonly coverage: ReportCoverage;
  readonly summary: {
    readonly verdicts: Readonly<Partial<Record<Verdict, number>>>;
    readonly findings: { readonly error: number; readonly warning: number; readonly info: number };
    readonly suppressed: number;
  };
  readonly operations: ReportOperations;
  readonly findings: readonly Finding[];
  readonly suppressed: readonly SuppressedFinding[];
}
