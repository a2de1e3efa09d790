/** Inputs for the classifier alone: bytes, head and end of one reply, read as a plain client would read them. */
import {
  CALL_FLAGS,
  OUTCOMES,
  OUTCOME_SOURCES,
  STREAM_ENDS,
  STREAM_KINDS,
  layerOf,
  openSharedChannel,
  readCall,
  type CallOutcome,
  type CallReading,
  type ChannelEnd,
  type JsonRpcId,
  type MessageRoute,
  type Settlement,
  type SharedChannel,
} from '@waybill/core';
import { TEMPLATES, fillBytes } from './bases.js';
import { cut, mutate } from './mutate.js';
import { createRandom, type Random } from './random.js';

export interface ClassifierInput {
  readonly kind: 'classifier';
  readonly transport: 'http' | 'legacy_sse' | 'stdio';
  readonly version: string;
  readonly id: JsonRpcId;
  readonly status: number;
  readonly contentType: string | null;
  readonly retryAfter: string | null;
  readonly maxEventBytes?: number;
  /** base64 */
  readonly body: string;
  readonly end: ChannelEnd | 'open';
  readonly settlement: Settlement;
  /** Seed of the cuts that are compared with the whole. */
  readonly cuts: number;
}

const VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28', 'x'];
const IDS: readonly JsonRpcId[] = [7, 0, -1, 9007199254740991, '7', '', 'a"b', 'é\n'];
const TYPES = [
  'application/json',
  'text/event-stream',
  'Application/JSON; charset=utf-8',
  'text/event-stream;x="a;b"',
  'text/html',
  '',
  ';',
  'application/json, text/event-stream',
  'text/event-stream\t',
  null,
];
const STATUSES = [
  100, 200, 200, 200, 200, 201, 202, 204, 206, 299, 301, 307, 400, 401, 404, 429, 500, 503, 599, 0,
];
const ENDS = ['eof', 'eof', 'reset', 'body_timeout', 'aborted', 'open'] as const;
const SETTLEMENTS: readonly Settlement[] = [
  { kind: 'resolved' },
  { kind: 'resolved', result: { content: [] } },
  { kind: 'resolved', result: null },
  { kind: 'rejected', cause: 'timed_out' },
  { kind: 'rejected', cause: 'timed_out' },
  { kind: 'rejected', cause: 'aborted' },
  { kind: 'rejected', cause: 'closed' },
  { kind: 'rejected', cause: 'output_schema' },
  { kind: 'rejected', cause: 'structured_missing' },
  { kind: 'rejected', cause: 'invalid_result' },
  { kind: 'rejected', cause: 'rpc_error', code: -32000, message: 'x' },
  { kind: 'rejected', cause: 'http_error', code: 500 },
  { kind: 'rejected', cause: 'other', message: 'x' },
];

const BODIES = TEMPLATES.map(({ bytes }) => bytes);

export function classifierInput(seed: number): ClassifierInput {
  const random = createRandom(seed);
  const template = random.pick(TEMPLATES);
  const id = random.pick(IDS);
  const body = fillBytes(mutate(random, template.bytes, BODIES), id);
  return {
    kind: 'classifier',
    transport: random.chance(0.05)
      ? random.pick(['http', 'legacy_sse', 'stdio'] as const)
      : template.transport,
    version: random.pick(VERSIONS),
    id,
    status: random.chance(0.1) ? random.pick(STATUSES) : template.status,
    contentType: random.chance(0.15) ? random.pick(TYPES) : template.contentType,
    retryAfter: random.chance(0.9)
      ? null
      : random.pick(['5', '-1', '1e9', 'Fri, 31 Dec 1999 23:59:59 GMT', 'x', '']),
    ...(random.chance(0.05) ? { maxEventBytes: random.below(200) } : {}),
    body: Buffer.from(body).toString('base64'),
    end: random.pick(ENDS),
    settlement: random.pick(SETTLEMENTS),
    cuts: random.below(2 ** 31),
  };
}

/**
 * What is wrong with the reading of this input; undefined when nothing is.
 * @param reached counts the outcomes that came out
 */
export function checkClassifier(
  input: ClassifierInput,
  reached: Map<string, number> = new Map(),
): string | undefined {
  const bytes = Buffer.from(input.body, 'base64');
  let whole: CallOutcome;
  try {
    whole = read(input, [bytes]);
    const problem = problemOf(whole);
    if (problem !== undefined) return problem;
    const name = `${whole.outcome} ${whole.reason ?? ''}`.trim();
    reached.set(name, (reached.get(name) ?? 0) + 1);
    const unfounded = unfoundedSuccess(input, whole);
    if (unfounded !== undefined) return unfounded;
    const random = createRandom(input.cuts);
    for (let times = 0; times < 2; times++) {
      const pieces = cut(random, bytes);
      const other = read(input, pieces);
      if (JSON.stringify(other) !== JSON.stringify(whole)) {
        return `cut into ${pieces.map(({ length }) => length).join(', ')} bytes: ${JSON.stringify(other)} instead of ${JSON.stringify(whole)}`;
      }
    }
    return anyOrder(input, createRandom(input.cuts + 1));
  } catch (error) {
    return `threw ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
  }
}

/** Whether an outcome is one of the closed vocabulary, in every member. */
function problemOf(outcome: CallOutcome): string | undefined {
  const row = OUTCOMES.find((each) => each.outcome === outcome.outcome);
  if (row === undefined) return `no outcome is called ${outcome.outcome as string}`;
  if (outcome.layer !== layerOf(outcome.outcome))
    return `${outcome.outcome} is not of layer ${outcome.layer}`;
  if (outcome.reason !== undefined && !row.reasons.includes(outcome.reason)) {
    return `${outcome.outcome} has no reason ${outcome.reason}`;
  }
  if (!OUTCOME_SOURCES.includes(outcome.source)) return `no source is called ${outcome.source}`;
  if (outcome.flags.join() !== CALL_FLAGS.filter((flag) => outcome.flags.includes(flag)).join()) {
    return `flags that are unknown, doubled or out of order: ${outcome.flags.join()}`;
  }
  const { kind, end, events, bytes } = outcome.stream;
  if (kind !== undefined && !STREAM_KINDS.includes(kind)) return `no stream is of kind ${kind}`;
  if (!STREAM_ENDS.includes(end)) return `no stream ends with ${end}`;
  for (const count of [events, bytes, outcome.progressEvents]) {
    if (!Number.isSafeInteger(count) || count < 0) return `a count of ${count}`;
  }
  const { rpcCode, rpcMessage } = outcome;
  if (rpcCode !== undefined && !Number.isInteger(rpcCode)) return `a JSON-RPC code of ${rpcCode}`;
  if (rpcMessage !== undefined && typeof rpcMessage !== 'string') return 'a JSON-RPC message that is no text';
  return undefined;
}

/** A success that was read off the wire needs a response with a result for this very id in it. */
function unfoundedSuccess(input: ClassifierInput, { outcome, source }: CallOutcome): string | undefined {
  if (outcome !== 'TOOL_SUCCESS' || source !== 'wire') return undefined;
  const text = new TextDecoder().decode(Buffer.from(input.body, 'base64'));
  const found = [...messagesOf(text), ...bodyOf(text)].some(
    (message) =>
      typeof message === 'object' &&
      message !== null &&
      Object.hasOwn(message, 'result') &&
      Object.hasOwn(message, 'id') &&
      Reflect.get(message, 'id') === input.id,
  );
  if (found || input.settlement.kind === 'resolved') return undefined;
  return 'a success without a response for this id';
}

function bodyOf(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? (value as unknown[]) : [value];
  } catch {
    return [];
  }
}

function read(input: ClassifierInput, pieces: readonly Uint8Array[]): CallOutcome {
  const reading = begin(input);
  const text = new TextDecoder().decode(Buffer.concat(pieces));
  const channel = channelOf(input);
  if (channel !== undefined) reading.attach(channel);
  if (input.transport !== 'stdio') head(reading, input);
  const isJson = /^application\/json/i.test(input.contentType ?? '');
  for (const piece of pieces) {
    if (channel !== undefined) channel.chunk(piece);
    else if (isJson) reading.bodyChunk(piece);
    else reading.sseChunk(piece);
  }
  if (input.transport === 'http' && (input.status < 200 || input.status > 299)) reading.errorBody(text);
  else if (input.transport === 'http' && isJson) jsonBody(reading, text, input.end);
  else for (const message of messagesOf(text)) reading.message(message, routeOf(input));
  if (input.end !== 'open') (channel ?? { end: (how: ChannelEnd) => reading.channelEnd(how) }).end(input.end);
  reading.outcomeNow();
  const outcome = reading.settle(input.settlement);
  if (reading.settle({ kind: 'resolved' }) !== outcome) throw new Error('settled twice');
  for (const message of messagesOf(text)) reading.late(message);
  return outcome;
}

function begin({ id, transport, version, maxEventBytes }: ClassifierInput): CallReading {
  const reading = readCall({
    id,
    transport,
    protocolVersion: version,
    ...(maxEventBytes === undefined ? {} : { maxEventBytes }),
  });
  reading.handedOver();
  return reading;
}

function channelOf({ transport }: ClassifierInput): SharedChannel | undefined {
  if (transport === 'http') return undefined;
  return openSharedChannel(transport === 'stdio' ? 'line' : 'sse');
}

function routeOf({ transport }: ClassifierInput): MessageRoute {
  return transport === 'stdio' ? 'line' : transport === 'http' ? 'own_stream' : 'other_stream';
}

function head(reading: CallReading, { status, contentType, retryAfter }: ClassifierInput): void {
  reading.httpResponse({ status, contentType, retryAfter, sessionSent: status === 404, receivedAtMs: 0 });
}

function jsonBody(reading: CallReading, text: string, end: ClassifierInput['end']): void {
  if (end !== 'eof') return;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    reading.jsonBodyError({ text, errorMessage: String(error) });
    return;
  }
  reading.jsonBody(value);
  for (const message of Array.isArray(value) ? (value as unknown[]) : [value])
    reading.message(message, 'own_stream');
}

/** Every line and every field of data that is JSON: more than any SDK would take. */
function messagesOf(text: string): readonly unknown[] {
  const messages: unknown[] = [];
  for (const line of text.split(/\r\n|\r|\n/)) {
    const data = line.startsWith('data:') ? line.slice(5) : line;
    if (!data.includes('{') && !data.includes('[')) continue;
    try {
      messages.push(JSON.parse(data));
    } catch {
      // No message then.
    }
  }
  return messages;
}

/** Objects of a process and not of a wire: what a transport in memory may hand over. */
const HOSTILE: readonly (() => unknown)[] = [
  () => undefined,
  () => Symbol('x'),
  () => 10n,
  () => () => 1,
  () => Object.create(null),
  () =>
    new Proxy(
      {},
      {
        get: () => {
          throw new Error('no');
        },
      },
    ),
  () =>
    new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error('no');
        },
        has: () => {
          throw new Error('no');
        },
      },
    ),
  () => ({
    jsonrpc: '2.0',
    id: 7,
    get result() {
      throw new Error('no');
    },
  }),
  () => {
    const loop: Record<string, unknown> = { jsonrpc: '2.0', id: 7 };
    loop['result'] = loop;
    return loop;
  },
  () => ({
    jsonrpc: '2.0',
    id: 7,
    result: {
      content: new Proxy([], {
        get: () => {
          throw new Error('no');
        },
      }),
    },
  }),
  () => ({
    jsonrpc: '2.0',
    id: 7,
    error: {
      get code() {
        throw new Error('no');
      },
      message: 'x',
    },
  }),
  () => ({
    jsonrpc: '2.0',
    method: 'notifications/progress',
    params: new Proxy(
      {},
      {
        get: () => {
          throw new Error('no');
        },
      },
    ),
  }),
];

const ROUTES: readonly MessageRoute[] = ['own_stream', 'resumed_stream', 'other_stream', 'line', 'memory'];

/** Facts in any order: nothing throws, and the outcome is one of the vocabulary. */
function anyOrder(input: ClassifierInput, random: Random): string | undefined {
  const bytes = Buffer.from(input.body, 'base64');
  const text = bytes.toString('utf8');
  const messages = messagesOf(text);
  const reading = begin(input);
  const channel = openSharedChannel(random.pick(['sse', 'line'] as const));
  const acts: readonly (() => unknown)[] = [
    () => head(reading, { ...input, status: random.pick(STATUSES), contentType: random.pick(TYPES) }),
    () => reading.bodyBytes(random.below(1000)),
    () => reading.bodyChunk(random.pick(cut(random, bytes))),
    () => reading.sseChunk(random.pick(cut(random, bytes))),
    () => reading.jsonBody(random.pick(HOSTILE)()),
    () => messages.length > 0 && reading.jsonBody(random.pick(messages)),
    () => reading.jsonBodyError(random.chance(0.5) ? {} : { text, bytes: bytes.length, errorMessage: 'x' }),
    () => reading.errorBody(text),
    () => reading.streamResumed(),
    () => reading.channelEnd(random.pick(['eof', 'reset', 'body_timeout', 'aborted'] as const)),
    () => reading.partialLine(random.below(100)),
    () => reading.attach(channel),
    () => channel.chunk(random.pick(cut(random, bytes))),
    () => channel.end(random.pick(['eof', 'reset'] as const)),
    () => reading.message(random.pick(HOSTILE)(), random.pick(ROUTES)),
    () => messages.length > 0 && reading.message(random.pick(messages), random.pick(ROUTES)),
    () =>
      reading.transportFailure({
        code: random.pick(['ECONNREFUSED', 'ENOTFOUND', 'x', undefined]),
        name: 'Error',
      }),
    () => reading.setProtocolVersion(random.pick([...VERSIONS, undefined])),
    () => reading.outcomeNow(),
    () => reading.late(random.pick(HOSTILE)()),
  ];
  for (let count = random.below(12); count > 0; count--) random.pick(acts)();
  const problem = problemOf(reading.settle(input.settlement));
  for (let count = random.below(4); count > 0; count--) random.pick(acts)();
  return problem === undefined ? undefined : `facts in any order: ${problem}`;
}
