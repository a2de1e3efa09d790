import type { Attributes, Context, Span, SpanContext } from '@opentelemetry/api';
import type { JsonRpcId, ReplyState } from '@waybill/core';
import type { ToolCallInfo } from '../../types.js';
import type { Connection } from '../connection.js';
import type { RuntimeCore } from '../core.js';
import type { CallIds } from '../ids.js';
import type { StageRecorder } from '../stages.js';
import type { HttpAnswer } from './sockets.js';

/** One incoming JSON-RPC request. */
export interface ServerCall {
  readonly id: JsonRpcId;
  readonly connection: Connection;
  readonly info: ToolCallInfo;
  readonly tool: string | undefined;
  readonly span: Span;
  /** Whether we started the span and end it. */
  readonly ownsSpan: boolean;
  readonly context: Context;
  /** Only tools/call has ids and stages. */
  readonly ids: CallIds | undefined;
  readonly stages: StageRecorder | undefined;
  /** The span that the request named in its `_meta`. */
  readonly remoteParent: SpanContext | undefined;
  /** The request carried our call id: the reply echoes it. */
  readonly echo: boolean;
  /** The HTTP answer that the reply goes out on, where it is one. */
  readonly answer: HttpAnswer | undefined;
  readonly startedAt: number;
  /** Digest of the arguments, made when a nested call asks for it. */
  argumentsDigest(): string;
  /** Attributes that stages of the effect added. */
  readonly extra: Attributes;
  handler: HandlerResult | undefined;
  /** A reply was given to `transport.send`. */
  replied: boolean;
  /** That answer had ended before the reply was there: the reply goes another way, or waits for a reader. */
  answerWasOver: boolean;
  replyState: ReplyState | undefined;
  /** What the reply was: the message, read once. */
  result:
    | {
        readonly attributes: Attributes;
        readonly errorType: string | undefined;
        /** Of a JSON-RPC error. */
        readonly message: string | undefined;
      }
    | undefined;
  ended: boolean;
}

/** The request that is served in this asynchronous flow, where it is the one with this id. */
export function callHere(core: RuntimeCore, connection: Connection, id: unknown): ServerCall | undefined {
  const call = core.flow.getStore()?.call;
  return call?.connection === connection && call.id === id ? call : undefined;
}

/** How the handler settled. Its value is read, never kept or copied. */
export type HandlerResult =
  | { readonly kind: 'returned'; readonly aborted: boolean; readonly value: unknown }
  | { readonly kind: 'threw'; readonly aborted: boolean };
