/**
 * The interface of a rule, the auditor's own and anybody else's. A rule sees operations, calls and facts; it never
 * knows about files, formats or reports.
 */
import type {
  Action,
  Assurance,
  EffectKind,
  EffectState,
  EvidenceState,
  EvidenceValue,
  Layer,
  OutcomeSource,
  Verdict,
} from '@waybill/core';

export type Level = 'error' | 'warning' | 'info' | 'off';

/** Where a fact was read. Stable over re-runs: file and line (or byte), or trace and span. */
export interface EvidenceRef {
  /** Id of the input: `s1`, `receipts`, `targets`, … */
  readonly source: string;
  /** From 1. */
  readonly line?: number;
  /** Byte offset, for binary inputs. */
  readonly offset?: number;
  readonly traceId?: string;
  readonly spanId?: string;
  readonly event?: string;
  readonly receiptId?: string;
}

/** Something that is known to be missing, and therefore proves nothing by its absence. */
export interface Gap {
  readonly kind:
    | 'dropped_events'
    | 'stage_hole'
    | 'call_hole'
    | 'span_missing'
    | 'unsampled'
    | 'truncated_input'
    | 'partial_answer'
    | 'collector_loss'
    | 'foreign_emitter'
    | 'degraded';
  readonly at: EvidenceRef;
  readonly note: string;
}

/** `absent` is only ever answered when the record is provably complete; a lost record answers `unrecorded`. */
export type Fact<T> =
  | { readonly state: 'seen'; readonly value: T; readonly at: EvidenceRef }
  | { readonly state: 'absent'; readonly proof: EvidenceRef }
  | { readonly state: 'unrecorded'; readonly gaps: readonly Gap[] };

/** How the two sides of a call were joined, strongest first. */
export type JoinBasis = 'call_id' | 'parent_span' | 'rpc_id_in_trace' | 'tool_and_time';

export interface StageFact {
  readonly timeUnixNano: bigint;
  readonly seq: number | undefined;
  /** How often the stage was seen on this side; undefined means once. */
  readonly count?: number;
}

/** A stage that was recorded, one entry per occurrence, in the order of `seq` (then of time). */
export interface SeenStage {
  /** Bare name, for instance `server.effect_requested`. */
  readonly name: string;
  /** 0n when only `waybill.stages` names the stage: its event was dropped. */
  readonly timeUnixNano: bigint;
  readonly seq: number | undefined;
  readonly at: EvidenceRef;
}

/** Where the span of a side hangs in its trace. */
export interface SpanContextFact {
  readonly traceId: string;
  /**
   * `root`: it has no parent; `client_span`: the CLIENT span of this call; `known`: some other span of the input;
   * `lost`: a parent id that no span of the input has.
   */
  readonly parent: 'root' | 'client_span' | 'known' | 'lost';
}

export interface SideOutcome {
  readonly outcome: string;
  readonly layer: Layer;
  readonly reason: string | undefined;
  readonly source: OutcomeSource;
}

/** One side of one call: the union of what every instrumentation recorded of it. */
export interface Side {
  readonly service: string;
  readonly spans: readonly EvidenceRef[];
  readonly join: JoinBasis;
  /** Span status as exported; undefined where the record carries none. */
  readonly status?: 'unset' | 'ok' | 'error';
  /** The parent span, where it is in the evidence and had ended before this side began. */
  readonly parentEnded?: EvidenceRef;
  stage(name: string): Fact<StageFact>;
  outcome(): Fact<SideOutcome>;
  /** Kept are the attributes of the MCP, GenAI, HTTP, network, error and `waybill.` namespaces. */
  attribute(key: string): Fact<unknown>;
  /** Every recorded stage; `[]` for an emitter without stages. */
  stages?(): readonly SeenStage[];
  /** Sequence numbers that are missing below the highest one seen: lost stages of this side. */
  readonly missingSeq?: readonly number[];
  /** The record of this side is provably complete: only then does any of its facts answer `absent`. */
  readonly complete?: boolean;
  readonly context?: SpanContextFact | undefined;
  /** Scope name of the emitter that wrote the strongest span of this side. */
  readonly emitter?: string;
  readonly startTimeUnixNano?: bigint;
  readonly endTimeUnixNano?: bigint;
}

/** One JSON-RPC request. */
export interface Call {
  readonly callId: string;
  readonly tool: string | undefined;
  readonly effectKind: EffectKind;
  readonly startTimeUnixNano: bigint;
  readonly client: Side | undefined;
  readonly server: Side | undefined;
  readonly retryOrigin: string | undefined;
  /** Latest time known of the call; undefined when it has no end. */
  readonly endTimeUnixNano?: bigint;
  /** Call id of the leg that this one continues (an input round, a task poll): not a retry. */
  readonly continues?: string;
  /** Server records that cannot be one delivery of this request; more than one means that it arrived more than once. */
  readonly deliveries?: readonly EvidenceRef[];
  /** Attempt of the operation as the client numbered it, from 1. */
  readonly attempt?: number;
  /** Call flags of the client span, for instance `late_result`. */
  readonly flags?: readonly string[];
  /** The tool is known to use `effect()`: some call of it in the evidence has effect stages. */
  readonly usesEffect?: boolean;
}

export interface Receipt {
  readonly receiptId: string;
  readonly outcome: 'applied' | 'refused' | 'failed';
  readonly verification: 'valid' | 'unsigned' | 'invalid';
  readonly level: 'plain' | 'appended' | 'sealed';
  readonly at: EvidenceRef;
  /** False when it names no target id or no version, and so cannot be held against the target. */
  readonly bound?: boolean;
  /** Call that the receipt says it is of. */
  readonly callId?: string;
  readonly operationId?: string;
  /** Id of the target. */
  readonly object?: string;
  readonly version?: string;
  /** The writer read the target again after the commit. */
  readonly readBack?: boolean;
  /** Why it is `invalid`, in a few words. */
  readonly problem?: string;
}

/** What an authoritative read of the target says about one operation. */
export interface TargetRead {
  readonly object: string;
  /** The state, or its hash where the reader gives none. */
  readonly state: string | undefined;
  readonly version: string | undefined;
  readonly fenced: boolean;
  /** The value of the decision table's input `target`. */
  readonly relation: EvidenceValue<'target'>;
  readonly at: EvidenceRef;
}

/** What the check of a ledger against its own proofs and checkpoints found. */
export interface LedgerProblem {
  readonly problem: string;
  readonly at: EvidenceRef;
}

/** One intention with everything known of it. */
export interface Operation {
  /** `operation.id`, else `call:<call id>`, else `span:<trace>:<span>`. */
  readonly key: string;
  readonly operationId: string | undefined;
  readonly idSource: string | undefined;
  readonly runId: string | undefined;
  readonly calls: readonly Call[];
  readonly receipts: readonly Receipt[];
  readonly owesReceipt: 'yes' | 'no' | 'undeclared';
  readonly gaps: readonly Gap[];
  readonly verdict: {
    readonly verdict: Verdict;
    /** Id of the row of the decision table. */
    readonly rule: string;
    readonly action: Action;
    readonly flags: readonly string[];
    /** Reason of that row, for instance `receipt_says_done_target_says_no`. */
    readonly reason?: string;
  };
  /** How many effects are proven, and how many are possible (null: no limit is known). */
  readonly effects?: { readonly atLeast: number; readonly atMost: number | null };
  readonly ledgerProblems?: readonly LedgerProblem[];
  readonly tool?: string;
  readonly effectKind?: EffectKind;
  /** What the caller was told, `OUTCOME` or `OUTCOME/reason`; undefined when no client side says. */
  readonly told?: string;
  readonly effect?: EffectState;
  readonly evidence?: EvidenceState;
  readonly assurance?: Assurance;
  /** The latest read of the target. */
  readonly target?: TargetRead;
}

export interface Run {
  readonly runId: string;
  operations(): Iterable<Operation>;
}

export interface RuleMeta<O> {
  readonly id: string;
  readonly defaultLevel: Level;
  readonly description: string;
  readonly url?: string;
  /** Message id to text; `{name}` is filled from the data of the finding. */
  readonly messages: Readonly<Record<string, string>>;
  /** Evidence without which the rule is listed as "not evaluated", never silently passed. */
  readonly needs?: readonly ('client' | 'server' | 'receipts' | 'ledger' | 'target')[];
  /** Cheap filter, tested before anything is read again. */
  readonly on?: {
    readonly outcomes?: readonly string[];
    readonly verdicts?: readonly string[];
    readonly minCalls?: number;
    readonly effectKinds?: readonly string[];
    /** Runs are visited only where a side of some call carries this attribute. Left out: every run. */
    readonly runAttribute?: string;
  };
  readonly defaultOptions: O;
  readonly optionsSchema?: object;
}

export interface Report {
  /** Operation that the finding is of. Default: the one being visited; in `run` and `end` none. */
  readonly operation?: Operation;
  readonly messageId: string;
  readonly data?: Readonly<Record<string, string | number>>;
  readonly at: readonly EvidenceRef[];
  readonly call?: Call;
  /** Default `proven`. */
  readonly certainty?: 'proven' | 'suspected';
  /** Lowers (never raises) the level of this one finding. */
  readonly level?: 'info';
}

export interface RuleContext<O> {
  readonly options: O;
  readonly asOfUnixNano: bigint;
  readonly graceNano: bigint;
  report(finding: Report): void;
  /**
   * Call it in a visit that changes what `end` will say. Built-in rules are not asked about an operation that is like
   * one that they neither reported nor kept anything of; with any other rule every operation is visited.
   */
  keep(): void;
}

export interface RuleVisitor {
  operation?(operation: Operation): void;
  call?(call: Call, operation: Operation): void;
  run?(run: Run): void;
  /** After the last visit: for findings that speak of a tool or of the whole input, once. */
  end?(): void;
}

export interface Rule<O = undefined> {
  readonly meta: RuleMeta<O>;
  create(context: RuleContext<O>): RuleVisitor;
}

/** Gives a rule its type; the whole interface is data and one function. */
export function defineRule<O = undefined>(rule: Rule<O>): Rule<O> {
  return rule;
}

export interface RulePlugin {
  readonly name: string;
  readonly rules: Readonly<Record<string, Rule<unknown>>>;
}

export interface Suppression {
  readonly rule: string;
  readonly operation?: string;
  readonly tool?: string;
  readonly reason: string;
  /** ISO date; after it the suppression no longer holds and says so. */
  readonly until: string;
}

export interface AuditConfig {
  readonly plugins?: readonly RulePlugin[];
  readonly rules?: Readonly<Record<string, Level | readonly [Level, unknown]>>;
  readonly receipts?: { readonly required?: readonly string[] };
  readonly suppress?: readonly Suppression[];
}
