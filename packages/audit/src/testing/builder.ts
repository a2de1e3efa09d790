/** Operations by hand, for tests of one rule. What is left out is a plain, complete call that succeeded. */
import { isOutcome, layerOf, type Action, type OutcomeSource, type Stage, type Verdict } from '@waybill/core';
import type {
  Call,
  EvidenceRef,
  Fact,
  Operation,
  Receipt,
  Run,
  Side,
  SideOutcome,
  StageFact,
} from '../rule.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const START = 1_790_000_000_000_000_000n;

/** Milliseconds after a fixed start, as nanoseconds since the epoch. */
export function atMs(milliseconds: number): bigint {
  return START + BigInt(Math.round(milliseconds * 1e6));
}

export interface SideInput {
  /**
   * Stages with their time in milliseconds after the start, in the order of their numbers. A pair
   * `[time, count]` is a stage that was seen more than once.
   */
  readonly stages?: Readonly<Partial<Record<Stage, number | readonly [time: number, count: number]>>>;
  /** Default true: what is not among the stages is `absent`. False: it is `unrecorded`. */
  readonly complete?: boolean;
  readonly outcome?: string;
  readonly reason?: string;
  readonly source?: OutcomeSource;
  readonly attributes?: Readonly<Record<string, unknown>>;
  readonly traceId?: string;
  readonly spanId?: string;
  readonly extra?: Partial<Side>;
}

/** A side whose facts answer as the auditor's do: seen, absent only when complete, else unrecorded. */
export function buildSide(side: 'client' | 'server', input: SideInput = {}): Side {
  const at: EvidenceRef = {
    source: 's1',
    line: side === 'client' ? 1 : 2,
    traceId: input.traceId ?? TRACE,
    spanId: input.spanId ?? (side === 'client' ? 'a000000000000001' : 'b000000000000001'),
  };
  const missing = (): Fact<never> =>
    input.complete === false
      ? { state: 'unrecorded', gaps: [{ kind: 'dropped_events', at, note: 'events were dropped' }] }
      : { state: 'absent', proof: at };
  const stages = new Map<string, Fact<StageFact>>();
  for (const [index, [name, value]] of Object.entries(input.stages ?? {}).entries()) {
    const [time, count] = typeof value === 'number' ? [value, undefined] : value;
    const fact = { timeUnixNano: atMs(time), seq: index + 1, ...(count === undefined ? {} : { count }) };
    stages.set(name, { state: 'seen', value: fact, at: { ...at, event: name } });
  }
  const outcome = (): Fact<SideOutcome> =>
    isOutcome(input.outcome)
      ? {
          state: 'seen',
          value: {
            outcome: input.outcome,
            layer: layerOf(input.outcome),
            reason: input.reason,
            source: input.source ?? 'wire',
          },
          at,
        }
      : missing();
  return {
    service: side === 'client' ? 'agent' : 'todo',
    spans: [at],
    join: 'call_id',
    complete: input.complete ?? true,
    stage: (name) => stages.get(name) ?? missing(),
    outcome,
    attribute: (key) =>
      input.attributes && Object.hasOwn(input.attributes, key)
        ? { state: 'seen', value: input.attributes[key], at }
        : missing(),
    ...input.extra,
  };
}

export type CallInput = Partial<Omit<Call, 'client' | 'server'>> & {
  readonly client?: SideInput | null;
  readonly server?: SideInput | null;
};

/** A call of `set_status` that both sides saw succeed; `null` for a side that left no record. */
export function buildCall(input: CallInput = {}): Call {
  const { client, server, ...rest } = input;
  return {
    callId: 'c-1',
    tool: 'set_status',
    effectKind: 'write',
    startTimeUnixNano: atMs(0),
    endTimeUnixNano: atMs(100),
    retryOrigin: undefined,
    client:
      client === null
        ? undefined
        : buildSide('client', {
            outcome: 'TOOL_SUCCESS',
            stages: { 'client.sent': 1, 'client.result_received': 99 },
            ...client,
          }),
    server:
      server === null
        ? undefined
        : buildSide('server', {
            outcome: 'TOOL_SUCCESS',
            stages: {
              'server.received': 42,
              'server.effect_requested': 45,
              'server.effect_confirmed': 58,
              'server.result_sent': 60,
            },
            ...server,
          }),
    ...rest,
  };
}

/** A receipt of the writing service that read its target back. */
export function buildReceipt(input: Partial<Receipt> = {}): Receipt {
  return {
    receiptId: 'r-1',
    outcome: 'applied',
    verification: 'unsigned',
    level: 'plain',
    at: { source: 'receipts', line: 1, receiptId: input.receiptId ?? 'r-1' },
    bound: true,
    ...input,
  };
}

export type OperationInput = Partial<Omit<Operation, 'verdict'>> & {
  readonly verdict?: Verdict;
  readonly row?: string;
  readonly reason?: string;
  readonly action?: Action;
  readonly flags?: readonly string[];
};

/** One operation with one clean call and its receipt, unless told otherwise. */
export function buildOperation(input: OperationInput = {}): Operation {
  const { verdict, row, reason, action, flags, ...rest } = input;
  return {
    key: 'row-42:done:v1',
    operationId: 'row-42:done:v1',
    idSource: 'caller',
    runId: 'run-1',
    calls: [buildCall()],
    receipts: [buildReceipt()],
    owesReceipt: 'yes',
    gaps: [],
    verdict: {
      verdict: verdict ?? 'verified_done',
      rule: row ?? 'D1',
      action: action ?? 'none',
      flags: flags ?? [],
      ...(reason === undefined ? {} : { reason }),
    },
    ...rest,
  };
}

export function buildRun(operations: readonly Operation[], runId = 'run-1'): Run {
  return { runId, operations: () => operations };
}
