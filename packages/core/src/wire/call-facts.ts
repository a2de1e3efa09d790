import type { CallFlag } from '../semconv/index.js';
import type { SsePayloads } from './channel.js';
import type { ResponseContext, ResponseReading } from './classify.js';
import type {
  CallContext,
  ChannelEnd,
  ChannelPosition,
  HttpHead,
  Payload,
  SharedChannel,
  TransportFailure,
  WireTransport,
} from './types.js';

/** What `response.json()` could not read, as a reason of MALFORMED_JSON. */
export type MalformedReason = 'syntax' | 'empty_body' | 'concatenated';

/** A shared channel since the call joined it. */
interface JoinedChannel {
  readonly channel: SharedChannel;
  readonly start: ChannelPosition;
  readonly leave: () => void;
}

/** Everything seen of one call, before anything is concluded from it. All sizes are bounded. */
export interface CallFacts {
  readonly context: { id: CallContext['id']; protocolVersion: string | undefined } & ResponseContext;
  readonly transport: WireTransport;
  readonly maxEventBytes: number | undefined;
  handedOver: boolean;
  head: HttpHead | undefined;
  /** A status came before `transportFailure`: something of this call had reached a server. */
  answeredBeforeFailure: boolean;
  failure: TransportFailure | undefined;
  bodyBytes: number;
  body: 'none' | 'parsed' | MalformedReason;
  /** The event stream that answers the POST, or that continues it. */
  sse: SsePayloads | undefined;
  /** Events and bytes of the streams that `sse` continues. */
  earlierEvents: number;
  earlierBytes: number;
  joined: JoinedChannel | undefined;
  end: ChannelEnd | undefined;
  /** What was unfinished on a shared channel that ended; a call may join another one afterwards. */
  pendingAtEnd: Payload | undefined;
  /** stdio without a shared channel: bytes of the unfinished reply line. */
  partialLineBytes: number;
  /** The first response with this id. */
  response: ResponseReading | undefined;
  /** Responses given to the protocol layer, and responses seen among the bytes: two views of the same ones. */
  delivered: number;
  scanned: number;
  /** Responses of a JSON body that the SDK is going to deliver once more as messages. */
  bodyEchoes: number;
  /** Stands in the place of the response and is none. The first one counts. */
  candidate: ResponseReading | undefined;
  malformedPayload: 'syntax' | 'concatenated' | undefined;
  overLimit: boolean;
  /** A response for this id came under an event name that is not dispatched. */
  undispatched: boolean;
  /** Code and message of an error in a non-2xx body. */
  bodyError: { readonly rpcCode: number; readonly rpcMessage: string } | undefined;
  progressEvents: number;
  readonly flags: Set<CallFlag>;
}

export function newCallFacts(context: CallContext): CallFacts {
  return {
    context: { id: context.id, protocolVersion: context.protocolVersion },
    transport: context.transport,
    maxEventBytes: context.maxEventBytes,
    handedOver: false,
    head: undefined,
    answeredBeforeFailure: false,
    failure: undefined,
    bodyBytes: 0,
    body: 'none',
    sse: undefined,
    earlierEvents: 0,
    earlierBytes: 0,
    joined: undefined,
    end: undefined,
    pendingAtEnd: undefined,
    partialLineBytes: 0,
    response: undefined,
    delivered: 0,
    scanned: 0,
    bodyEchoes: 0,
    candidate: undefined,
    malformedPayload: undefined,
    overLimit: false,
    undispatched: false,
    bodyError: undefined,
    progressEvents: 0,
    flags: new Set(),
  };
}
