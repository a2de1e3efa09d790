import { outcomeFact, type OutcomeFact } from '../semconv/index.js';
import type { CallFacts } from './call-facts.js';
import { readMessage } from './classify.js';
import { mediaType } from './media-type.js';
import { transportReason } from './transport-failure.js';
import type { Payload } from './types.js';

/**
 * `now`: the call is open and more can come. `timed_out`: the caller stopped waiting. `settled`: it ended otherwise.
 */
export type Moment = 'now' | 'timed_out' | 'settled';

/**
 * What the wire says, in the order status, content type, framing, envelope. Undefined: it says nothing, and how the
 * call settled is all there is.
 */
export function conclude(facts: CallFacts, moment: Moment): OutcomeFact | undefined {
  if (facts.response !== undefined) return facts.response.fact;
  if (isHttp(facts)) return concludeHttp(facts, moment);
  if (facts.transport === 'stdio' || facts.joined?.channel.kind === 'line')
    return concludeLine(facts, moment);
  if (facts.failure !== undefined || facts.end !== undefined) return outcomeFact('TRANSPORT_ERROR', 'closed');
  return candidate(facts, moment);
}

function isHttp(facts: CallFacts): boolean {
  return facts.transport === 'http' || facts.transport === 'legacy_sse' || facts.head !== undefined;
}

function concludeHttp(facts: CallFacts, moment: Moment): OutcomeFact | undefined {
  const { failure, head } = facts;
  if (failure !== undefined) {
    const reason = transportReason(failure, facts.transport);
    // After an answer of any kind these three would claim too much: that nothing reached a server.
    const overclaims = reason === 'connect' || reason === 'dns' || reason === 'tls';
    return outcomeFact('TRANSPORT_ERROR', overclaims && facts.answeredBeforeFailure ? undefined : reason);
  }
  if (head === undefined) return concludeStream(facts, moment) ?? candidate(facts, moment);
  const { status } = head;
  if (status < 200 || status > 299) {
    return outcomeFact('HTTP_ERROR', status === 404 && head.sessionSent ? 'session_lost' : undefined);
  }
  if (facts.transport === 'legacy_sse') return concludeStream(facts, moment);
  if (status === 202 || status === 204) {
    if (moment === 'now') return undefined;
    return (
      candidate(facts, moment) ??
      outcomeFact('INVALID_ENVELOPE', status === 202 ? 'accepted_without_response' : 'no_content')
    );
  }
  switch (mediaType(head.contentType)) {
    case 'application/json':
      return concludeJson(facts, moment);
    case 'text/event-stream':
      return concludeStream(facts, moment);
    case undefined:
    default:
      return outcomeFact('INVALID_ENVELOPE', 'content_type');
  }
}

function concludeJson(facts: CallFacts, moment: Moment): OutcomeFact | undefined {
  const begun = facts.bodyBytes > 0;
  if (facts.body === 'parsed') return facts.candidate?.fact;
  if (facts.body !== 'none') return outcomeFact('MALFORMED_JSON', facts.body);
  switch (facts.end) {
    case 'reset':
      return outcomeFact('STREAM_INCOMPLETE', begun ? 'partial_body' : 'reset');
    case 'body_timeout':
      return outcomeFact('STREAM_INCOMPLETE', begun ? 'partial_body' : 'body_timeout');
    case 'eof':
      if (moment === 'now') return undefined;
      return begun ? undefined : outcomeFact('MALFORMED_JSON', 'empty_body');
    case 'aborted':
    case undefined:
      return stillOpen(begun, moment);
    default:
      return facts.end satisfies never;
  }
}

function concludeStream(facts: CallFacts, moment: Moment): OutcomeFact | undefined {
  const ended = facts.end !== undefined && facts.end !== 'aborted';
  if (facts.overLimit) return outcomeFact('STREAM_INCOMPLETE', 'event_over_limit');
  // A response among the bytes is on its way through the SDK's parser; only the settlement says that it never got out.
  if (moment === 'now' && (!ended || facts.scanned > 0)) return undefined;
  const pending = pendingEvent(facts);
  if (!facts.undispatched && !holdsResponse(pending, facts)) {
    const standIn = candidate(facts, moment);
    if (standIn !== undefined) return standIn;
  }
  if (facts.sse?.rest().unframed === true) return outcomeFact('STREAM_INCOMPLETE', 'unframed_body');
  if (facts.undispatched) return outcomeFact('STREAM_INCOMPLETE', 'undispatched_event');
  if (holdsResponse(pending, facts)) return outcomeFact('STREAM_INCOMPLETE', 'unterminated_event');
  switch (facts.end) {
    case 'reset':
      return outcomeFact('STREAM_INCOMPLETE', pending === undefined ? 'reset' : 'reset_mid_event');
    case 'body_timeout':
      return outcomeFact('STREAM_INCOMPLETE', 'body_timeout');
    case 'eof':
      return outcomeFact(
        'STREAM_INCOMPLETE',
        pending !== undefined && pending.bytes > 0 ? 'unterminated_event' : 'closed_before_response',
      );
    case 'aborted':
    case undefined:
      // On a shared stream other calls and keep-alives account for bytes; only an event begun may be this reply.
      return stillOpen(
        facts.sse === undefined ? pending !== undefined : facts.sse.bytes + facts.earlierBytes > 0,
        moment,
      );
    default:
      return facts.end satisfies never;
  }
}

function concludeLine(facts: CallFacts, moment: Moment): OutcomeFact | undefined {
  if (facts.failure === undefined && facts.end === undefined && moment === 'now') return undefined;
  if (facts.partialLineBytes > 0 || pendingEvent(facts) !== undefined) {
    return outcomeFact('STREAM_INCOMPLETE', 'partial_line');
  }
  const standIn = candidate(facts, moment);
  if (standIn !== undefined) return standIn;
  const closed = facts.failure !== undefined || (facts.end !== undefined && facts.end !== 'aborted');
  return closed ? outcomeFact('TRANSPORT_ERROR', 'closed') : undefined;
}

function stillOpen(begun: boolean, moment: Moment): OutcomeFact | undefined {
  if (!begun) return undefined;
  switch (moment) {
    case 'now':
      return undefined;
    case 'timed_out':
      return outcomeFact('STREAM_INCOMPLETE', 'open_no_response_at_timeout');
    case 'settled':
      return outcomeFact('STREAM_INCOMPLETE', 'closed_before_response');
    default:
      return moment satisfies never;
  }
}

/** What stood in the place of the response: a payload that is no JSON, or an envelope that is not this call's. */
function candidate(facts: CallFacts, moment: Moment): OutcomeFact | undefined {
  if (moment === 'now' && facts.end === undefined) return undefined;
  if (facts.candidate !== undefined) return facts.candidate.fact;
  return facts.malformedPayload === undefined
    ? undefined
    : outcomeFact('MALFORMED_JSON', facts.malformedPayload);
}

/** A payload that is, by its top-level members, a response of this call. */
export function holdsResponse(payload: Payload | undefined, facts: CallFacts): boolean {
  return (
    payload !== undefined &&
    payload.sketch.state === 'complete' &&
    readMessage(payload.sketch.envelope, facts.context).kind === 'response'
  );
}

/** What was unfinished when the channel ended, or is unfinished now. */
export function pendingEvent(facts: CallFacts): Payload | undefined {
  return facts.sse?.pending() ?? facts.pendingAtEnd ?? pendingShared(facts);
}

/** The unfinished line or event of a shared channel, if it began after the call and is not known to be another's. */
export function pendingShared(facts: CallFacts): Payload | undefined {
  if (facts.joined === undefined) return undefined;
  const { channel, start } = facts.joined;
  const { pending, units } = channel.position();
  if (pending === undefined) return undefined;
  const id: unknown = pending.sketch.envelope?.['id'];
  if (id !== undefined) return id === facts.context.id ? pending : undefined;
  if (start.pending !== undefined && units === start.units) return undefined;
  const noise = channel.kind === 'line' && pending.sketch.firstCharacter !== '{';
  return noise || pending.sketch.envelope?.['method'] !== undefined ? undefined : pending;
}
