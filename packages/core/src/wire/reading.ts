import { CALL_FLAGS, outcomeFact, type OutcomeFact, type OutcomeSource } from '../semconv/index.js';
import { newCallFacts, type CallFacts, type MalformedReason } from './call-facts.js';
import { SsePayloads } from './channel.js';
import { readMessage, readToolResult, type ResponseReading } from './classify.js';
import { conclude, holdsResponse, pendingEvent, pendingShared, type Moment } from './conclude.js';
import { ingestBody, ingestErrorBody, ingestMessage, ingestPayload } from './ingest.js';
import { JsonScanner } from './json-scanner.js';
import { mediaType } from './media-type.js';
import { parseRetryAfter } from './retry-after.js';
import type {
  CallContext,
  CallOutcome,
  CallReading,
  JsonBodyFailure,
  LateReading,
  Settlement,
  StreamFacts,
} from './types.js';

/** UTF-8 byte order mark. */
const BOM = [0xef, 0xbb, 0xbf];

/**
 * Begins the reading of one `tools/call`.
 *
 * @example
 * const reading = readCall({ id: 7, transport: 'http', protocolVersion: '2025-11-25' });
 * reading.handedOver();
 * reading.httpResponse({ status: 200, contentType: 'text/event-stream', retryAfter: null, sessionSent: false });
 * reading.channelEnd('eof');
 * reading.settle({ kind: 'rejected', cause: 'timed_out' }).reason; // 'closed_before_response'
 */
export function readCall(context: CallContext): CallReading {
  const facts = newCallFacts(context);
  const progressToken = context.progressToken ?? context.id;
  let bodyHead: number[] = [];
  let settled: CallOutcome | undefined;

  const ownSse = (): SsePayloads =>
    (facts.sse ??= new SsePayloads((payload) => ingestPayload(facts, payload, 'own'), facts.maxEventBytes));

  return {
    setProtocolVersion(version) {
      facts.context.protocolVersion = version;
    },
    handedOver() {
      facts.handedOver = true;
    },
    httpResponse(head) {
      facts.head = head;
      facts.failure = undefined;
      facts.bodyBytes = 0;
      facts.bodyError = undefined;
      bodyHead = [];
    },
    bodyBytes(count) {
      if (settled === undefined) facts.bodyBytes += count;
    },
    bodyChunk(chunk) {
      if (settled !== undefined) return;
      for (let i = 0; i < chunk.length && bodyHead.length < BOM.length; i++) bodyHead.push(chunk[i] ?? 0);
      if (BOM.every((byte, i) => bodyHead[i] === byte)) facts.flags.add('bom');
      facts.bodyBytes += chunk.length;
    },
    jsonBody(value) {
      if (settled === undefined) ingestBody(facts, value, progressToken);
    },
    jsonBodyError(failure) {
      if (settled === undefined) facts.body = malformedReason(facts, failure);
    },
    errorBody(text) {
      if (settled === undefined) ingestErrorBody(facts, text);
    },
    sseChunk(chunk) {
      if (settled === undefined) ownSse().chunk(chunk);
    },
    streamResumed() {
      if (settled !== undefined) return;
      facts.flags.add('resumed');
      facts.earlierEvents += facts.sse?.events ?? 0;
      facts.earlierBytes += facts.sse?.bytes ?? 0;
      facts.sse = undefined;
      facts.end = undefined;
    },
    channelEnd(how) {
      if (settled === undefined) facts.end = how;
    },
    partialLine(bytes) {
      if (settled === undefined) facts.partialLineBytes = bytes;
    },
    attach(channel) {
      if (settled !== undefined) return;
      facts.joined?.leave();
      const leave = channel.observe({
        payload: (payload) => ingestPayload(facts, payload, channel.kind === 'line' ? 'line' : 'shared'),
        ended: (how) => {
          facts.pendingAtEnd ??= pendingShared(facts);
          facts.end ??= how;
        },
      });
      // A stream that the client opens again does not undo the end of the one that the response was lost on.
      facts.joined = { channel, start: channel.position(), leave };
    },
    message(message, via) {
      if (settled === undefined) ingestMessage(facts, message, via, progressToken);
    },
    transportFailure(failure) {
      if (settled !== undefined) return;
      facts.answeredBeforeFailure ||= facts.head !== undefined;
      facts.failure = failure;
    },
    outcomeNow() {
      return settled ?? conclude(facts, 'now');
    },
    settle(how) {
      if (settled !== undefined) return settled;
      settled = settle(facts, how);
      facts.joined?.leave();
      facts.joined = undefined;
      facts.sse = undefined;
      return settled;
    },
    late(message): LateReading | undefined {
      const reading = safely(() => readMessage(message, facts.context));
      if (reading?.kind !== 'response') return undefined;
      const { fact, rpcCode, rpcMessage } = reading.reading;
      const flag = facts.delivered > 0 ? 'duplicate_response' : 'late_result';
      facts.delivered++;
      return { fact, flag, rpcCode, rpcMessage };
    },
  };
}

interface Decision {
  readonly fact: OutcomeFact;
  readonly source: OutcomeSource;
  readonly reading?: ResponseReading;
}

function settle(facts: CallFacts, how: Settlement): CallOutcome {
  const decision = decide(facts, how);
  flagWhatIsLeft(facts, how);
  const reading =
    decision.reading ?? (decision.source === 'wire' ? (facts.response ?? facts.candidate) : undefined);
  const { head } = facts;
  const rejected = how.kind === 'rejected' ? how : undefined;
  return {
    outcome: decision.fact.outcome,
    layer: decision.fact.layer,
    reason: decision.fact.reason,
    source: decision.source,
    flags: facts.flags.size === 0 ? [] : CALL_FLAGS.filter((flag) => facts.flags.has(flag)),
    rpcCode: reading?.rpcCode ?? facts.bodyError?.rpcCode ?? localCode(decision, rejected),
    rpcMessage: reading?.rpcMessage ?? facts.bodyError?.rpcMessage,
    httpStatus: head?.status,
    retryAfterMs: head === undefined ? undefined : parseRetryAfter(head.retryAfter, head.receivedAtMs),
    resultType: reading?.resultType,
    handedOver: facts.handedOver,
    stream: streamFacts(facts),
    progressEvents: facts.progressEvents,
  };
}

function decide(facts: CallFacts, how: Settlement): Decision {
  if (how.kind === 'resolved') {
    const spoken = facts.response ?? facts.candidate;
    if (spoken !== undefined) return { fact: spoken.fact, source: 'wire', reading: spoken };
    if (!('result' in how))
      return { fact: conclude(facts, 'settled') ?? outcomeFact('TOOL_SUCCESS'), source: 'local' };
    const reading = safely(() => readToolResult(how.result, facts.context));
    return reading === undefined
      ? { fact: outcomeFact('INVALID_TOOL_RESULT', 'not_object'), source: 'local' }
      : { fact: reading.fact, source: 'local', reading };
  }
  const moment: Moment = how.cause === 'timed_out' ? 'timed_out' : 'settled';
  const wire = conclude(facts, moment);
  const orWire = (fact: OutcomeFact): Decision =>
    wire === undefined ? { fact, source: 'local' } : { fact: wire, source: 'wire' };
  switch (how.cause) {
    case 'aborted':
      return { fact: outcomeFact('CANCELLED'), source: 'local' };
    case 'timed_out':
      return orWire(outcomeFact('TIMEOUT'));
    case 'output_schema':
    case 'structured_missing':
      // The schema binds a success only; what the wire called an error stays one.
      return wire === undefined || wire.outcome === 'TOOL_SUCCESS'
        ? { fact: outcomeFact('INVALID_TOOL_RESULT', how.cause), source: 'local' }
        : { fact: wire, source: 'wire' };
    case 'invalid_result':
      return orWire(outcomeFact('INVALID_TOOL_RESULT'));
    case 'rpc_error':
      return orWire(outcomeFact('JSONRPC_ERROR'));
    case 'http_error':
      return orWire(outcomeFact('HTTP_ERROR'));
    case 'closed':
      return orWire(outcomeFact('TRANSPORT_ERROR', 'closed'));
    case 'other':
      return orWire(outcomeFact('TRANSPORT_ERROR'));
    default:
      return how.cause satisfies never;
  }
}

function localCode(
  decision: Decision,
  how: Extract<Settlement, { kind: 'rejected' }> | undefined,
): number | undefined {
  return decision.fact.outcome === 'JSONRPC_ERROR' && how?.cause === 'rpc_error' ? how.code : undefined;
}

/** Flags that only the end of the call can decide. */
function flagWhatIsLeft(facts: CallFacts, how: Settlement): void {
  const { flags, head, response } = facts;
  if (facts.sse?.rest().bom === true) flags.add('bom');
  if (facts.delivered > 1 || facts.scanned > 1) flags.add('duplicate_response');
  if (head?.status === 202 && facts.transport !== 'legacy_sse' && facts.bodyBytes > 0) {
    flags.add('accepted_with_body');
  }
  if (response !== undefined) {
    const refused = head !== undefined && (head.status < 200 || head.status > 299);
    if (refused || (facts.failure !== undefined && facts.transport !== 'stdio')) flags.add('post_leg_error');
    if (how.kind === 'rejected' && how.cause === 'aborted') flags.add('late_result');
    return;
  }
  if (facts.undispatched || facts.scanned > 0 || holdsResponse(pendingEvent(facts), facts))
    flags.add('payload_seen');
}

function streamFacts(facts: CallFacts): StreamFacts {
  const { head, joined, sse } = facts;
  const shared = joined?.channel.position();
  const sharedBytes = joined === undefined || shared === undefined ? 0 : shared.bytes - joined.start.bytes;
  const sharedUnits = joined === undefined || shared === undefined ? 0 : shared.units - joined.start.units;
  const kind = streamKind(facts);
  return {
    kind,
    events: kind === 'sse' ? facts.earlierEvents + (sse?.events ?? sharedUnits) : 0,
    bytes: facts.bodyBytes + facts.earlierBytes + (sse?.bytes ?? 0) + sharedBytes + facts.partialLineBytes,
    finalResponse: facts.response !== undefined,
    end: streamEnd(facts),
    contentType: head?.contentType ?? undefined,
  };
}

function streamKind(facts: CallFacts): StreamFacts['kind'] {
  if (facts.transport === 'stdio' || facts.joined?.channel.kind === 'line') return 'line';
  if (facts.sse !== undefined || facts.earlierBytes > 0 || facts.transport === 'legacy_sse') return 'sse';
  if (facts.body !== 'none') return 'json';
  switch (mediaType(facts.head?.contentType)) {
    case 'text/event-stream':
      return 'sse';
    case 'application/json':
      return 'json';
    case undefined:
    default:
      return undefined;
  }
}

function streamEnd(facts: CallFacts): StreamFacts['end'] {
  if (facts.response !== undefined) return 'result';
  if (facts.body !== 'none') return 'eof';
  switch (facts.end) {
    case undefined:
      return 'open';
    case 'body_timeout':
    case 'aborted':
      return 'aborted';
    case 'eof':
    case 'reset':
      return facts.end;
    default:
      return facts.end satisfies never;
  }
}

function malformedReason(facts: CallFacts, { text, bytes, errorMessage }: JsonBodyFailure): MalformedReason {
  const length = bytes ?? facts.bodyBytes;
  if (bytes !== undefined && facts.bodyBytes === 0) facts.bodyBytes = bytes;
  if (text !== undefined) {
    const scanner = new JsonScanner();
    scanner.push(new TextEncoder().encode(text.startsWith('\uFEFF') ? text.slice(1) : text));
    const { state } = scanner.sketch();
    if (state === 'empty') return 'empty_body';
    return state === 'concatenated' ? 'concatenated' : 'syntax';
  }
  if (errorMessage?.includes('after JSON') === true) return 'concatenated';
  return length === 0 && errorMessage?.includes('end of JSON input') !== false ? 'empty_body' : 'syntax';
}

/** A message from memory may be a proxy or have throwing accessors; it then is no response. */
function safely<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
