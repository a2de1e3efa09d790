/** What each leg says to the decision: the client's class of outcome, the server's furthest stage, attempts. */
import {
  ATTR_EFFECT_REPLAYED,
  ATTR_REPLY_STATE,
  ATTR_RETRY_ORIGIN,
  ATTR_RPC_RESPONSE_STATUS_CODE,
  ATTR_SDK_ACCEPTED,
  isOutcome,
} from '@waybill/core';
import type { EvidenceValue, Outcome } from '@waybill/core';
import type { SideOutcome } from '../rule.js';
import { continuesOf } from './joins.js';
import type { CallGroup } from './operations.js';
import type { SpanRow } from './rows.js';
import { METHOD_TASKS_RESULT } from './recognise.js';
import { isTrue, textOf } from './rows.js';
import { emitterOf } from './outcome.js';
import { isComplete, outcomeOf, stagesOf } from './side.js';

export interface Leg {
  readonly call: CallGroup;
  readonly continues: string | undefined;
  /** What the client side says; undefined when it says nothing, or there is none. */
  readonly told: SideOutcome | undefined;
  readonly answered: SideOutcome | undefined;
  /** Undefined: no client side was recorded. */
  readonly client: EvidenceValue<'client'> | undefined;
  readonly server: EvidenceValue<'server'>;
  /** A JSON-RPC response to this request reached the caller. */
  readonly responded: boolean;
  /** The server handed a reply over, whatever became of it. */
  readonly replied: boolean;
  readonly accepted: boolean;
  /** Distinct server spans; each is a delivery of the request. */
  readonly deliveries: readonly SpanRow[];
  readonly replayed: number;
  readonly effectRequested: number;
  readonly effectConfirmed: number;
  readonly effectFailed: number;
  /** The record was cut by `--as-of`, or the call has begun and shows no end. */
  readonly open: boolean;
}

export function legOf(call: CallGroup, openRows: ReadonlySet<SpanRow>): Leg {
  const clientRows = call.client;
  const told = outcomeOf(clientRows)?.value ?? derivedFromServer(call);
  const answered = outcomeOf(call.server)?.value;
  const serverStages = stagesOf(call.server);
  const count = (name: string): number => serverStages.filter((stage) => stage.name === name).length;
  const accepted = clientRows.some((row) => isTrue(row.attributes, ATTR_SDK_ACCEPTED));
  const rpcCode = clientRows.some(
    (row) => textOf(row.attributes, ATTR_RPC_RESPONSE_STATUS_CODE) !== undefined,
  );
  const received = stagesOf(clientRows).some((stage) => stage.name === 'client.result_received');
  const open = [...clientRows, ...call.server].some((row) => openRows.has(row));
  const deliveries = deliveriesOf(call.server);
  return {
    call,
    continues: continuesOf(call),
    told,
    answered,
    client: clientRows.length === 0 ? undefined : clientClass(call, told, accepted),
    server:
      call.server.length === 0
        ? 'none'
        : count('server.effect_confirmed') > 0
          ? 'effect_confirmed'
          : count('server.effect_requested') > 0
            ? 'effect_requested'
            : 'received',
    responded:
      told === undefined ? received : RESPONSES.has(told.outcome) || rpcCode || (accepted && isInvalid(told)),
    replied:
      serverStages.some((stage) => REPLIED.has(stage.name)) ||
      (answered !== undefined && !call.server.some((row) => row.own)) ||
      call.server.some((row) => REPLY_STATES.has(textOf(row.attributes, ATTR_REPLY_STATE) ?? '')),
    accepted,
    deliveries,
    replayed: deliveries.filter((row) => isTrue(row.attributes, ATTR_EFFECT_REPLAYED)).length,
    effectRequested: count('server.effect_requested'),
    effectConfirmed: count('server.effect_confirmed'),
    effectFailed: count('server.effect_failed'),
    open,
  };
}

const RESPONSES: ReadonlySet<string> = new Set<Outcome>([
  'TOOL_SUCCESS',
  'TOOL_ERROR',
  'INPUT_REQUIRED',
  'TASK_PENDING',
  'JSONRPC_ERROR',
  'INVALID_TOOL_RESULT',
]);
const REPLIED: ReadonlySet<string> = new Set([
  'server.result_sent',
  'server.result_flushed',
  'server.result_dropped',
]);
const REPLY_STATES: ReadonlySet<string> = new Set(['flushed', 'handed_over', 'dropped', 'cut']);

function isInvalid(told: SideOutcome): boolean {
  return told.outcome === 'INVALID_ENVELOPE' || told.outcome === 'INVALID_TOOL_RESULT';
}

/** Distinct server spans of one emitter: our own where there are any. Copies of one span are one delivery. */
function deliveriesOf(rows: readonly SpanRow[]): readonly SpanRow[] {
  const spans = rows.filter((row) => !row.fromLogs);
  const own = spans.filter((row) => row.own);
  const counted = own.length > 0 ? own : spans.slice(0, 1);
  const seen = new Set<string>();
  return counted.filter((row) => {
    const key = `${row.traceId}:${row.spanId}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/**
 * A client span that ends before the reply is looked at says nothing by itself; when its server span ended with an
 * outcome and the client span without an error, that outcome is what was answered.
 */
function derivedFromServer(call: CallGroup): SideOutcome | undefined {
  const [client] = call.client;
  if (client === undefined || client.own || client.role !== 'client' || client.status === 'error')
    return undefined;
  if (emitterOf(client.scope).client !== 'timeout_only') return undefined;
  const answered = outcomeOf(call.server)?.value;
  return answered === undefined ? undefined : { ...answered, source: 'derived' };
}

type ClientClass = EvidenceValue<'client'>;

/** What an outcome says of itself; the function entries look at the record. */
const CLASSES: Readonly<Record<Outcome, ClientClass | ((facts: ClassFacts) => ClientClass)>> = {
  TOOL_SUCCESS: 'success',
  INVALID_ENVELOPE: ({ accepted }) => (accepted ? 'success' : 'timeout'),
  INVALID_TOOL_RESULT: ({ accepted }) => (accepted ? 'success' : 'timeout'),
  JSONRPC_ERROR: 'error',
  TOOL_ERROR: 'error',
  HTTP_ERROR: ({ rows, told }) => (isRefusal(rows, told.reason) ? 'error' : 'timeout'),
  TRANSPORT_ERROR: ({ told }) =>
    told.source !== 'derived' && NOT_SENT_REASONS.has(told.reason ?? '') ? 'not_sent' : 'timeout',
  TIMEOUT: ({ rows }) => (isProvenUnsent(rows) ? 'not_sent' : 'timeout'),
  CANCELLED: ({ rows }) => (isProvenUnsent(rows) ? 'not_sent' : 'timeout'),
  STREAM_INCOMPLETE: 'timeout',
  MALFORMED_JSON: 'timeout',
  INPUT_REQUIRED: 'sent_only',
  TASK_PENDING: 'sent_only',
};
const NOT_SENT_REASONS: ReadonlySet<string> = new Set(['connect', 'dns', 'tls']);

interface ClassFacts {
  readonly rows: readonly SpanRow[];
  readonly told: SideOutcome;
  readonly accepted: boolean;
}

/** One leg's place in the client input of the decision table (DESIGN 2.4). */
export function clientClass(
  call: Pick<CallGroup, 'client'>,
  told: SideOutcome | undefined,
  accepted: boolean,
): ClientClass {
  const rows = call.client;
  if (told === undefined || !isOutcome(told.outcome)) return sentClass(rows);
  const found = CLASSES[told.outcome];
  return typeof found === 'string' ? found : found({ rows, told, accepted });
}

/** No outcome: `client.failed` without one is a failure of unknown kind; else it was sent, or provably was not. */
function sentClass(rows: readonly SpanRow[]): EvidenceValue<'client'> {
  const stages = stagesOf(rows);
  const has = (name: string): boolean => stages.some((stage) => stage.name === name);
  if (isProvenUnsent(rows)) return 'not_sent';
  if (has('client.failed') || rows.some((row) => row.status === 'error')) return 'timeout';
  return 'sent_only';
}

/** `client.sent` is provably absent: the record is complete and has none. */
function isProvenUnsent(rows: readonly SpanRow[]): boolean {
  return (
    isComplete(rows, 'client') &&
    !stagesOf(rows).some((stage) => stage.name === 'client.sent' || stage.name === 'client.result_received')
  );
}

const UNCERTAIN_STATUS: ReadonlySet<number> = new Set([408, 425, 429]);

/** A status that says that the request was refused: 4xx, but for those that speak of time, load or a lost session. */
function isRefusal(rows: readonly SpanRow[], reason: string | undefined): boolean {
  if (reason === 'session_lost') return false;
  for (const row of rows) {
    const status = Number(
      textOf(row.attributes, 'http.response.status_code') ??
        textOf(row.attributes, 'error.type') ??
        Number.NaN,
    );
    if (Number.isInteger(status)) return status >= 400 && status < 500 && !UNCERTAIN_STATUS.has(status);
  }
  return false;
}

const STRENGTH: readonly EvidenceValue<'client'>[] = ['success', 'error', 'timeout', 'sent_only', 'not_sent'];

/** The client input over all legs, strongest first; `not_sent` only when every leg is. */
export function clientInput(legs: readonly Leg[]): EvidenceValue<'client'> {
  for (const value of STRENGTH) if (legs.some((leg) => leg.client === value)) return value;
  return 'no_trace';
}

const REACH: readonly EvidenceValue<'server'>[] = ['effect_confirmed', 'effect_requested', 'received'];

export function serverInput(legs: readonly Leg[]): EvidenceValue<'server'> {
  for (const value of REACH) if (legs.some((leg) => leg.server === value)) return value;
  return 'none';
}

/** The leg that the caller's knowledge comes from: of the strongest class, the last. */
export function decidingLeg(legs: readonly Leg[]): Leg | undefined {
  const strongest = clientInput(legs);
  return legs.findLast((leg) => leg.client === strongest && leg.told !== undefined);
}

/**
 * What is still to come: `input` when the last word was a request for input, `attempt` when a task or a call is open.
 * A leg is answered by a later one of the operation, whether or not that says which it continues.
 */
export function inflightInput(legs: readonly Leg[]): EvidenceValue<'inflight'> {
  if (legs.some((leg) => leg.open)) return 'attempt';
  const last = legs.at(-1);
  switch (last?.told?.outcome ?? (last?.client === undefined ? last?.answered?.outcome : undefined)) {
    case 'INPUT_REQUIRED':
      return 'input';
    case 'TASK_PENDING':
      return 'attempt';
    default:
      return 'none';
  }
}

/**
 * A leg that certainly applied nothing of its own: it asked for input, was never handed over and never seen, only fetched
 * the result of a task, or was turned away at the door and sent on as `next`.
 */
export function isRefuted(leg: Leg, next?: Leg): boolean {
  if (leg.server === 'none' && (leg.client === 'not_sent' || isTurnedAway(leg, next))) return true;
  if (leg.call.client.some((row) => row.method === METHOD_TASKS_RESULT)) return true;
  return (leg.told ?? leg.answered)?.outcome === 'INPUT_REQUIRED';
}

/** Answered by a redirect or a refusal that made the SDK send the same request again. */
function isTurnedAway(leg: Leg, next: Leg | undefined): boolean {
  if (leg.told?.outcome !== 'HTTP_ERROR') return false;
  return (next?.call.client ?? []).some((row) => {
    const origin = textOf(row.attributes, ATTR_RETRY_ORIGIN);
    if (origin === 'redirect') return true;
    return origin === 'sdk' && isRefusal(leg.call.client, leg.told?.reason);
  });
}
