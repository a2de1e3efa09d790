import type { CallFlag, OutcomeFact, OutcomeSource, StreamEnd, StreamKind } from '../semconv/index.js';

/** The `id` of a JSON-RPC request. The JSON type is part of its identity: `"7"` is not `7`. */
export type JsonRpcId = string | number;

/**
 * How the call travels. `http` is Streamable HTTP; `legacy_sse` is HTTP+SSE of 2024-11-05, where the POST is only
 * acknowledged and the response comes on a GET stream that all calls share; `custom` is a transport of which only the
 * parsed messages are seen.
 */
export type WireTransport = 'http' | 'legacy_sse' | 'stdio' | 'memory' | 'custom';

export interface CallContext {
  readonly id: JsonRpcId;
  readonly transport: WireTransport;
  /** Negotiated version such as `2025-11-25`; undefined while it is not known. */
  readonly protocolVersion: string | undefined;
  /** The progress token of the request, when it is not the id. */
  readonly progressToken?: JsonRpcId;
  /** An event longer than this many bytes of data counts as `event_over_limit`. No limit when absent. */
  readonly maxEventBytes?: number;
}

/** Head of the HTTP answer to the POST of this call. */
export interface HttpHead {
  readonly status: number;
  readonly contentType: string | null;
  readonly retryAfter: string | null;
  /** The request carried an `Mcp-Session-Id`: a 404 then means that the session is gone. */
  readonly sessionSent: boolean;
  /** Arrival in milliseconds since the epoch; only needed to turn a date in `Retry-After` into a delay. */
  readonly receivedAtMs?: number;
}

/**
 * How a channel ended, as the reader of its bytes saw it. `reset`: the connection broke, also by a FIN in the middle of
 * the HTTP message. `aborted`: this side closed it.
 */
export type ChannelEnd = 'eof' | 'reset' | 'body_timeout' | 'aborted';

/**
 * Where the SDK took a message from. `own_stream`: the body (JSON or SSE) of the answer to this POST.
 * `resumed_stream`: a GET with Last-Event-ID that continues that body. `other_stream`: any other stream, such as the
 * standalone GET stream or, in legacy HTTP+SSE, the one GET stream. `line`: stdio. `memory`: anything without bytes.
 */
export type MessageRoute = 'own_stream' | 'resumed_stream' | 'other_stream' | 'line' | 'memory';

/** Why `response.json()` threw. Each member sharpens the reason; none is required. */
export interface JsonBodyFailure {
  /** The whole body, where the SDK itself read it as text. */
  readonly text?: string;
  /** Length of the body in bytes, where counted elsewhere than by `bodyBytes` and `bodyChunk`. */
  readonly bytes?: number;
  /** Message of the `SyntaxError`; V8 says there whether a second document followed. */
  readonly errorMessage?: string;
}

/** What is known of a failed fetch or a closed pipe. See `transportCause` for a reader of thrown values. */
export interface TransportFailure {
  readonly code: string | undefined;
  readonly name: string | undefined;
  /** `connect`, `getaddrinfo`, `read`, `write`: tells a refused connection from one that broke. */
  readonly syscall?: string | undefined;
}

/** How the call settled for the SDK's caller. */
export type Settlement =
  /** `result`: what the SDK gave its caller; read only when nothing of the wire was seen. */
  | { readonly kind: 'resolved'; readonly result?: unknown }
  | {
      readonly kind: 'rejected';
      readonly cause:
        /** The SDK gave up waiting. */
        | 'timed_out'
        /** The caller aborted. */
        | 'aborted'
        /** The transport closed under the call. */
        | 'closed'
        /** The SDK's validator refused `structuredContent`. */
        | 'output_schema'
        /** The tool declares an output schema and the result carries no `structuredContent`. */
        | 'structured_missing'
        /** The SDK refused the result for another reason. */
        | 'invalid_result'
        /** A JSON-RPC error, from the peer as far as the SDK says. */
        | 'rpc_error'
        | 'http_error'
        | 'other';
      /** JSON-RPC code or HTTP status that the error carried. */
      readonly code?: number;
      readonly message?: string;
    };

/** Facts about the reply channel, for `waybill.stream.*`. */
export interface StreamFacts {
  readonly kind: StreamKind | undefined;
  /** Dispatched SSE events; 0 for other kinds. */
  readonly events: number;
  /** Body or line bytes seen until the call settled. */
  readonly bytes: number;
  /** A JSON-RPC response for this id was seen. */
  readonly finalResponse: boolean;
  readonly end: StreamEnd;
  /** As sent, not normalised. */
  readonly contentType: string | undefined;
}

/** The final reading of one call. */
export interface CallOutcome extends OutcomeFact {
  readonly source: OutcomeSource;
  /** In the order of `CALL_FLAGS`, each at most once. */
  readonly flags: readonly CallFlag[];
  /** Code of the JSON-RPC error; beside HTTP_ERROR the one that its body carried. */
  readonly rpcCode: number | undefined;
  readonly rpcMessage: string | undefined;
  /** Last HTTP status of the POST. */
  readonly httpStatus: number | undefined;
  /** Delay that the server asked for, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** `resultType` of the result where it had a string there. */
  readonly resultType: string | undefined;
  /** The request was given to fetch or the pipe. */
  readonly handedOver: boolean;
  readonly stream: StreamFacts;
  /** Progress notifications of this call seen before it settled. */
  readonly progressEvents: number;
}

/** A response that came after the call had settled: never a new outcome, always a fact of its own. */
export interface LateReading {
  readonly fact: OutcomeFact;
  /** `late_result`, or `duplicate_response` when the call already had its response. */
  readonly flag: 'late_result' | 'duplicate_response';
  readonly rpcCode: number | undefined;
  readonly rpcMessage: string | undefined;
}

/**
 * One call, read incrementally. Facts go in through the methods in any order, `settle` gives the outcome. Nothing here
 * throws, does I/O or reads a clock; memory is bounded whatever the peer sends.
 */
export interface CallReading {
  /** For a version that becomes known after the call was started (initialize, discover). */
  setProtocolVersion(version: string | undefined): void;
  /** The request was given to fetch, or to the pipe. */
  handedOver(): void;
  /** Head of an answer to the POST; the last one governs (redirects, authorization). */
  httpResponse(head: HttpHead): void;
  /** Counts body bytes (2xx JSON body, 202 body). Use either this or `bodyChunk` for a given body. */
  bodyBytes(count: number): void;
  /** As `bodyBytes`, and looks for a byte order mark in the first three. */
  bodyChunk(chunk: Uint8Array): void;
  /** What `response.json()` gave the SDK: any JSON value. */
  jsonBody(value: unknown): void;
  /** `response.json()` threw a SyntaxError. A broken connection is `channelEnd('reset')` instead. */
  jsonBodyError(failure: JsonBodyFailure): void;
  /** Text of a non-2xx body, where the SDK itself read it. */
  errorBody(text: string): void;
  /** Bytes of the event stream that answers the POST, or of the stream that resumes it. */
  sseChunk(chunk: Uint8Array): void;
  /** A GET with Last-Event-ID was answered 2xx: `sseChunk` and `channelEnd` are about that stream from now on. */
  streamResumed(): void;
  /** The body, the event stream or (stdio) the pipe ended. */
  channelEnd(how: ChannelEnd): void;
  /** stdio, where no shared channel is attached: bytes of a reply line that never ended. */
  partialLine(bytes: number): void;
  /**
   * Watches a channel that several calls share until the call settles: the pipe of stdio, the GET stream of legacy
   * HTTP+SSE. Only what happens on it from now on counts for this call.
   */
  attach(channel: SharedChannel): void;
  /**
   * A message that the SDK parsed and gave to its protocol layer. On a shared channel give a response with an id that no
   * open call has only to a call that is alone there.
   */
  message(message: unknown, via: MessageRoute): void;
  /** fetch rejected before there was a response, or writing to the pipe failed. Not for an abort. */
  transportFailure(failure: TransportFailure): void;
  /** What the wire alone has decided so far; undefined while more could come. A later response may still replace it. */
  outcomeNow(): OutcomeFact | undefined;
  /** Fixes the outcome. A second call gives the same object. */
  settle(how: Settlement): CallOutcome;
  /** Reads a message that came after `settle`; undefined when it is no response for this call. */
  late(message: unknown): LateReading | undefined;
}

/** Bytes of a channel that several calls share, read once for all of them. */
export interface SharedChannel {
  readonly kind: 'sse' | 'line';
  chunk(chunk: Uint8Array): void;
  end(how: ChannelEnd): void;
  /** For readings: `observer` is told of every payload from now on. Returns how to stop. */
  observe(observer: ChannelObserver): () => void;
  /** Bytes so far, and the unfinished line or event. */
  position(): ChannelPosition;
}

export interface ChannelObserver {
  payload(payload: Payload): void;
  ended(how: ChannelEnd): void;
}

export interface ChannelPosition {
  readonly bytes: number;
  /** Dispatched events or finished lines. */
  readonly units: number;
  /** The unfinished line or event, when bytes of one are there. */
  readonly pending: Payload | undefined;
}

/** The payload of one SSE event or one line, as far as bytes alone tell. */
export interface Payload {
  /** `message` for a line, and for an event without a name. */
  readonly eventName: string;
  readonly bytes: number;
  readonly overLimit: boolean;
  readonly sketch: JsonSketch;
}

/** A JSON text read without keeping it: its state, and the top-level members that make a JSON-RPC envelope. */
export interface JsonSketch {
  readonly state: 'empty' | 'incomplete' | 'complete' | 'malformed' | 'concatenated';
  readonly top: JsonKind | undefined;
  /** First byte that is no white space, as a character. */
  readonly firstCharacter: string | undefined;
  /**
   * An object with the members `jsonrpc`, `id`, `method`, `result`, `error` that the text has, containers emptied but for
   * `code` and `message` of an error. Undefined unless the text is an object.
   */
  readonly envelope: Readonly<Record<string, unknown>> | undefined;
}
export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';
