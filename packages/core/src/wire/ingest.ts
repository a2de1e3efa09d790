import type { CallFacts } from './call-facts.js';
import { batchIsLegal, readError, readMessage, responseReading, type MessageReading } from './classify.js';
import { outcomeFact } from '../semconv/index.js';
import { holdsResponse } from './conclude.js';
import type { JsonRpcId, MessageRoute, Payload } from './types.js';

/** A larger text is no error body of an MCP server; it is not parsed a second time. */
const MAX_ERROR_BODY = 65_536;

/** The payload of an event or line, seen as bytes before (or without) the SDK's parsing. */
export function ingestPayload(facts: CallFacts, payload: Payload, where: 'own' | 'shared' | 'line'): void {
  if (payload.overLimit) {
    facts.overLimit = true;
    return;
  }
  if (payload.eventName !== 'message') {
    if (where === 'own') facts.flags.add('sse_unknown_event');
    if (holdsResponse(payload, facts)) facts.undispatched = true;
    return;
  }
  const { state, firstCharacter, envelope, top } = payload.sketch;
  switch (state) {
    case 'empty':
      return;
    case 'incomplete':
    case 'malformed':
    case 'concatenated':
      // Programs print to stdout; only a line that begins as an object was meant as a message.
      if (where === 'line' && firstCharacter !== '{') return;
      facts.malformedPayload ??= state === 'concatenated' ? 'concatenated' : 'syntax';
      return;
    case 'complete':
      break;
    default:
      return state satisfies never;
  }
  if (envelope === undefined) {
    if (where !== 'own') return;
    if (top === 'array' && !batchIsLegal(facts.context)) {
      facts.candidate ??= responseReading(outcomeFact('INVALID_ENVELOPE', 'batch'));
    } else if (top !== 'array') facts.flags.add('sse_foreign_payload');
    return;
  }
  ingestEnvelope(facts, readMessage(envelope, facts.context), where);
}

/** An envelope by its top-level members: its result is not known here, so only what is wrong with it decides. */
function ingestEnvelope(facts: CallFacts, reading: MessageReading, where: 'own' | 'shared' | 'line'): void {
  switch (reading.kind) {
    case 'response': {
      const { fact } = reading.reading;
      if (
        fact.outcome === 'INVALID_ENVELOPE' ||
        fact.outcome === 'JSONRPC_ERROR' ||
        fact.reason === 'not_object'
      ) {
        facts.candidate ??= reading.reading;
      }
      facts.scanned++;
      return;
    }
    case 'misaddressed':
      // On a shared channel the responses of other calls are no news.
      if (where === 'own') addMisaddressed(facts, reading.reading);
      return;
    case 'foreign':
      if (where === 'own') facts.flags.add('sse_foreign_payload');
      if (reading.claimsId) {
        facts.candidate ??= responseReading(outcomeFact('INVALID_ENVELOPE', 'not_jsonrpc'));
      }
      return;
    case 'request':
    case 'notification':
    case 'batch':
      return;
    default:
      return reading satisfies never;
  }
}

/** What `response.json()` gave: it must be the response, whatever it is. */
export function ingestBody(facts: CallFacts, value: unknown, progressToken: JsonRpcId): void {
  facts.body = 'parsed';
  const reading = safeRead(facts, value);
  const members = reading.kind === 'batch' && batchIsLegal(facts.context) ? reading.members : [value];
  for (const member of members) ingestBodyMember(facts, member, progressToken);
  // In every other version the SDKs take an array apart and deliver its members as if it were legal.
  if (reading.kind === 'batch' && !batchIsLegal(facts.context)) {
    facts.bodyEchoes = Number.POSITIVE_INFINITY;
    facts.candidate ??= responseReading(outcomeFact('INVALID_ENVELOPE', 'batch'));
  } else if (facts.response === undefined) {
    facts.candidate ??= responseReading(outcomeFact('INVALID_ENVELOPE', 'not_jsonrpc'));
  }
}

function ingestBodyMember(facts: CallFacts, member: unknown, progressToken: JsonRpcId): void {
  const reading = safeRead(facts, member);
  if (reading.kind === 'response' || reading.kind === 'misaddressed') facts.bodyEchoes++;
  accept(facts, member, reading, progressToken, true);
}

/** Text of a non-2xx body: an error in it is recorded beside HTTP_ERROR. */
export function ingestErrorBody(facts: CallFacts, text: string): void {
  if (text.startsWith('\uFEFF')) facts.flags.add('bom');
  if (text.length > MAX_ERROR_BODY) return;
  let body: unknown;
  try {
    body = JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text);
  } catch {
    return;
  }
  if (typeof body !== 'object' || body === null || !Object.hasOwn(body, 'error')) return;
  noteErrorBody(
    facts,
    Reflect.get(body, 'error'),
    Object.hasOwn(body, 'id') ? Reflect.get(body, 'id') : undefined,
  );
}

function noteErrorBody(facts: CallFacts, error: unknown, id: unknown): void {
  const rpc = readError(error);
  if (rpc === undefined) return;
  facts.bodyError = rpc;
  if (id !== facts.context.id) facts.flags.add('uncorrelated_rpc_error');
}

/** A message that the SDK gave to its protocol layer. */
export function ingestMessage(
  facts: CallFacts,
  message: unknown,
  via: MessageRoute,
  progressToken: JsonRpcId,
): void {
  const reading = safeRead(facts, message);
  const responds = reading.kind === 'response' || reading.kind === 'misaddressed';
  if (responds && via === 'own_stream') {
    if (facts.bodyEchoes > 0) {
      facts.bodyEchoes--;
      return;
    }
    const status = facts.head?.status ?? 200;
    // The body of a refused POST, which one SDK era reads as a message: the refusal is the outcome.
    if (status < 200 || status > 299) {
      const { rpcCode, rpcMessage } = reading.reading;
      if (rpcCode !== undefined && rpcMessage !== undefined) facts.bodyError = { rpcCode, rpcMessage };
      if (reading.reading.uncorrelatedError) facts.flags.add('uncorrelated_rpc_error');
      return;
    }
  }
  if (reading.kind === 'response') {
    if (via === 'resumed_stream') facts.flags.add('resumed');
    if (via === 'other_stream' && facts.transport === 'http') facts.flags.add('wrong_stream');
  }
  accept(facts, message, reading, progressToken, via !== 'other_stream');
}

function accept(
  facts: CallFacts,
  message: unknown,
  reading: MessageReading,
  progressToken: JsonRpcId,
  ownChannel: boolean,
): void {
  switch (reading.kind) {
    case 'response':
      facts.delivered++;
      facts.response ??= reading.reading;
      return;
    case 'misaddressed':
      if (ownChannel) addMisaddressed(facts, reading.reading);
      return;
    case 'notification':
      if (reading.method === 'notifications/progress' && tokenOf(message) === progressToken)
        facts.progressEvents++;
      return;
    case 'foreign':
      if (reading.claimsId) {
        facts.candidate ??= responseReading(outcomeFact('INVALID_ENVELOPE', 'not_jsonrpc'));
      }
      return;
    case 'request':
    case 'batch':
      return;
    default:
      return reading satisfies never;
  }
}

function addMisaddressed(facts: CallFacts, reading: CallFacts['candidate'] & object): void {
  facts.candidate ??= reading;
  if (reading.uncorrelatedError && reading.rpcCode !== undefined) facts.flags.add('uncorrelated_rpc_error');
}

function tokenOf(message: unknown): unknown {
  try {
    const params: unknown = Reflect.get(message as object, 'params');
    return typeof params === 'object' && params !== null ? Reflect.get(params, 'progressToken') : undefined;
  } catch {
    return undefined;
  }
}

/** A message from memory may be a proxy or have throwing accessors; it then is none. */
function safeRead(facts: CallFacts, message: unknown): MessageReading {
  try {
    return readMessage(message, facts.context);
  } catch {
    return { kind: 'foreign', claimsId: false };
  }
}
