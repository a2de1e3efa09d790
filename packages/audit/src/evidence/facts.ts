/** The operations, calls and receipts that rules see, built from rows and a judgement. */
import { ATTR_CALL_ATTEMPT, ATTR_RETRY_ORIGIN } from '@waybill/core';
import type { Call, EvidenceRef, Operation, Receipt, Side, SpanContextFact, TargetRead } from '../rule.js';
import type { Judgement } from './judge.js';
import type { Leg } from './legs.js';
import type { CallGroup, OperationGroup } from './operations.js';
import type { ReceiptRow } from './records.js';
import type { SpanRow } from './rows.js';
import { textOf } from './rows.js';
import { flagsOf, makeSide } from './side.js';
import type { SpanIndex } from './span-index.js';

export interface FactContext {
  /** Every span of the input, by id. */
  readonly spans: SpanIndex;
  readonly rowOf: ReadonlyMap<string, SpanRow>;
  /** Whether some call of the tool shows effect stages. */
  readonly usesEffect: (service: string, tool: string) => boolean;
  /** Told when somebody asks for an attribute whose value is not part of the shape of a row. */
  readonly asked: () => void;
  readonly owes: (group: OperationGroup, judgement: Judgement) => Operation['owesReceipt'];
}

export function toolKey(service: string, tool: string): string {
  return JSON.stringify([service, tool]);
}

export function makeOperation(group: OperationGroup, judgement: Judgement, context: FactContext): Operation {
  const { decision } = judgement;
  const tool = group.calls.find((call) => call.tool !== undefined)?.tool;
  const target = targetRead(judgement);
  return {
    key: group.key,
    operationId: group.operationId,
    idSource: group.idSource,
    runId: group.runId,
    calls: judgement.legs.map((leg) => makeCall(leg, context)),
    receipts: receiptsOf(group),
    owesReceipt: context.owes(group, judgement),
    gaps: judgement.gaps,
    verdict: {
      verdict: decision.verdict,
      rule: decision.row,
      action: decision.action,
      flags: judgement.flags,
      reason: decision.reason,
    },
    effects: judgement.effects,
    effectKind: kindOf(group, judgement),
    effect: judgement.effect,
    evidence: judgement.evidence,
    assurance: judgement.assurance,
    ...(tool === undefined ? {} : { tool }),
    ...(judgement.told === undefined ? {} : { told: judgement.told }),
    ...(target === undefined ? {} : { target }),
  };
}

export function kindOf(group: OperationGroup, judgement: Judgement): Call['effectKind'] {
  if (judgement.vector.kind === 'read') return 'read';
  const kinds = group.calls.map((call) => call.effectKind);
  return kinds.find((kind) => kind === 'destructive') ?? kinds.find((kind) => kind === 'write') ?? 'unknown';
}

function makeCall(leg: Leg, context: FactContext): Call {
  const { call } = leg;
  const rows = [...call.client, ...call.server];
  const attempt = Number(attributeOf(rows, ATTR_CALL_ATTEMPT) ?? Number.NaN);
  return {
    callId: call.callId ?? call.id,
    tool: call.tool,
    effectKind: call.effectKind,
    startTimeUnixNano: call.startTimeUnixNano,
    client: sideOf(leg, 'client', context),
    server: sideOf(leg, 'server', context),
    retryOrigin: attributeOf(call.client, ATTR_RETRY_ORIGIN),
    deliveries: leg.deliveries.map((row) => row.at),
    flags: flagsOf(call.client),
    usesEffect: context.usesEffect(call.server[0]?.service ?? '', call.tool ?? ''),
    ...(call.endTimeUnixNano > 0n && !leg.open ? { endTimeUnixNano: call.endTimeUnixNano } : {}),
    ...(leg.continues === undefined ? {} : { continues: leg.continues }),
    ...(Number.isSafeInteger(attempt) ? { attempt } : {}),
  };
}

function sideOf(leg: Leg, role: 'client' | 'server', context: FactContext): Side | undefined {
  const rows = leg.call[role];
  const [first] = rows;
  if (first === undefined) return undefined;
  const span = rows.find((row) => !row.fromLogs);
  const derived = role === 'client' && leg.told?.source === 'derived' ? leg.told : undefined;
  return makeSide(
    {
      role,
      rows,
      join: leg.call.join,
      context: span === undefined ? undefined : contextOf(span, leg.call, context),
      parentEnded: span === undefined ? undefined : parentEnded(span, context),
      asked: context.asked,
    },
    derived,
  );
}

function contextOf(span: SpanRow, call: CallGroup, context: FactContext): SpanContextFact {
  const { traceId, parentSpanId } = span;
  if (parentSpanId === '') return { traceId, parent: 'root' };
  if (call.client.some((row) => row.spanId === parentSpanId && row.traceId === traceId)) {
    return { traceId, parent: 'client_span' };
  }
  const known =
    context.rowOf.has(`${traceId}:${parentSpanId}`) || context.spans.get(parentSpanId) !== undefined;
  return { traceId, parent: known ? 'known' : 'lost' };
}

/** The parent had ended before the span began, by more than what a millisecond rounds away. */
function parentEnded(span: SpanRow, context: FactContext): EvidenceRef | undefined {
  if (span.parentSpanId === '') return undefined;
  const row = context.rowOf.get(`${span.traceId}:${span.parentSpanId}`);
  // Between the two sides of a call clocks differ; that is clock-order, not a reused context.
  if (row !== undefined) return undefined;
  const parent = context.spans.get(span.parentSpanId);
  if (parent === undefined || parent.endMs === 0) return undefined;
  if (parent.endMs + 1 >= Number(span.startTimeUnixNano) / 1e6) return undefined;
  return { source: parent.source, traceId: span.traceId, spanId: span.parentSpanId };
}

function receiptsOf(group: OperationGroup): readonly Receipt[] {
  const misbound = new Set(group.misbound);
  const rows = [...new Set([...group.receipts, ...group.misbound])];
  const receipts = rows.map((row) => receiptFact(row, misbound.has(row)));
  const broken = group.broken.map((row): Receipt => ({
    receiptId: `${row.at.source}:${row.at.line ?? 0}`,
    outcome: 'failed',
    verification: 'invalid',
    level: 'plain',
    at: row.at,
    bound: false,
    problem: row.detail,
  }));
  return [...receipts, ...broken];
}

function receiptFact(row: ReceiptRow, misbound: boolean): Receipt {
  const { receipt } = row;
  const verification =
    misbound || receipt.verification === 'invalid'
      ? 'invalid'
      : receipt.verification === 'valid'
        ? 'valid'
        : 'unsigned';
  const problem = misbound
    ? 'it names a call of another operation, or a copy of it says something else'
    : receipt.verification === 'invalid'
      ? 'its signature does not hold'
      : undefined;
  return {
    receiptId: receipt.receiptId,
    outcome: receipt.outcome,
    verification,
    level: 'plain',
    at: row.at,
    bound: receipt.binding === 'bound',
    readBack: receipt.stage === 'read_back',
    ...(receipt.callId === undefined ? {} : { callId: receipt.callId }),
    ...(receipt.operationId === undefined ? {} : { operationId: receipt.operationId }),
    ...(receipt.target.id === undefined ? {} : { object: receipt.target.id }),
    ...(receipt.target.version === undefined ? {} : { version: receipt.target.version }),
    ...(problem === undefined ? {} : { problem }),
  };
}

export function targetRead(judgement: Judgement): TargetRead | undefined {
  const { row, input } = judgement.target;
  if (row === undefined) return undefined;
  const { object, version, fenced, at } = row;
  return { object, state: shown(row.state), version, fenced, relation: input, at };
}

/** States compare as JSON; a text is shown without its quotes. */
function shown(state: string | undefined): string | undefined {
  if (state === undefined || !state.startsWith('"')) return state;
  const text: unknown = JSON.parse(state);
  return typeof text === 'string' ? text : state;
}

export function attributeOf(rows: readonly SpanRow[], key: string): string | undefined {
  for (const row of rows) {
    const value = textOf(row.attributes, key);
    if (value !== undefined) return value;
  }
  return undefined;
}
