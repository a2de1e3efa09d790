import type { Attributes } from '@opentelemetry/api';
import { ATTR_ERROR_TYPE } from '@opentelemetry/semantic-conventions';
import {
  ATTR_INSTRUMENTATION_DEGRADED,
  ATTR_RECEIPT_ID,
  ATTR_REPLY_STATE,
  ATTR_RPC_RESPONSE_STATUS_CODE,
  ATTR_STAGES,
  CLIENT_FAULT_CODES,
  ERROR_TYPE_TOOL_ERROR,
  META_CALL_ID,
  META_RECEIPT,
  type OutcomeFact,
  type OutcomeSource,
  type ReplyState,
  classifyResponse,
} from '@waybill/core';
import {
  type Foreign,
  follow,
  isCopyable,
  isPlainObject,
  isThenable,
  read,
  readObject,
  readOwn,
  readString,
} from '../../patch/foreign.js';
import { addOutcome } from '../client/settle.js';
import { protocolVersionOf } from '../connection.js';
import { setFailed, setResultContent } from '../content.js';
import type { RuntimeCore } from '../core.js';
import { setResultDigest } from '../digests.js';
import { rememberTools } from '../effect-kind.js';
import { recordCallMetrics } from '../outcome-metrics.js';
import type { ServerCall } from './call.js';

/**
 * How long a span waits for the socket to take a reply that was handed over. A stream that stays open longer, such as
 * one that a proxy holds, is told as `handed_over`.
 */
const FLUSH_WAIT_MS = 2000;

/** The SDK hands a reply to its transport. */
export function sendReply(
  core: RuntimeCore,
  call: ServerCall,
  message: unknown,
  send: (message: unknown) => unknown,
): unknown {
  const outgoing = core.guard('server.reply', () => prepare(core, call, message)) ?? message;
  let result: unknown;
  try {
    const here = core.flow.getStore();
    // The reply of a handler is sent in its own flow already.
    const isOwn = here?.call === call && here.leg === undefined && here.scope === undefined;
    result = isOwn
      ? send(outgoing)
      : core.flow.run({ leg: undefined, call, scope: undefined }, () => send(outgoing));
  } catch (error) {
    core.guard('server.reply', () => dropReply(core, call));
    throw error;
  }
  if (!isThenable(result)) {
    core.guard('server.reply', () => handedOver(core, call));
    return result;
  }
  return follow(
    result,
    () => core.guard('server.reply', () => handedOver(core, call)),
    () => core.guard('server.reply', () => dropReply(core, call)),
  );
}

/**
 * Reads the reply and adds the echo of the call id, and the id of the receipt that the handler wrote; the result of the
 * handler is not touched.
 */
function prepare(core: RuntimeCore, call: ServerCall, message: unknown): unknown {
  call.replied = true;
  call.answerWasOver = call.answer?.state() === 'finished';
  forget(call);
  const result = readOwn(message, 'result');
  if (call.info.method === 'tools/list') rememberTools(call.connection.tools, result);
  if (call.info.method === 'initialize') {
    call.connection.protocolVersion =
      readString(result, 'protocolVersion') ?? call.connection.protocolVersion;
  }
  call.result = resultOf(call, message);
  setResultContent(core, call.span, call.info.method, result);
  if (call.stages !== undefined) setResultDigest(core, call.span, result);
  if (!call.echo || call.ids === undefined || !isPlainObject(message) || !isCopyable(result)) return message;
  const receipt = call.extra[ATTR_RECEIPT_ID];
  const meta: Foreign = {
    ...readObject(result, '_meta'),
    [META_CALL_ID]: call.ids.callId,
    ...(receipt === undefined ? {} : { [META_RECEIPT]: receipt }),
  };
  return { ...message, result: { ...result, _meta: meta } };
}

function resultOf(call: ServerCall, message: unknown): NonNullable<ServerCall['result']> {
  const error = readOwn(message, 'error');
  const code = read(error, 'code');
  const said = readString(error, 'message');
  const attributes: Attributes = {};
  if (typeof code === 'number') attributes[ATTR_RPC_RESPONSE_STATUS_CODE] = String(code);
  if (call.stages === undefined) {
    return {
      attributes,
      errorType: typeof code === 'number' ? rpcErrorType(code) : undefined,
      message: said,
    };
  }
  const outcome = outcomeOf(call, message);
  addOutcome(attributes, outcome);
  return { attributes, errorType: serverErrorType(outcome), message: said };
}

type ReplyOutcome = OutcomeFact & {
  readonly rpcCode: number | undefined;
  readonly source: OutcomeSource;
};

/** The reply read as the client will read it. */
function outcomeOf(call: ServerCall, message: unknown): ReplyOutcome {
  const { fact, rpcCode } = classifyResponse(message, {
    id: call.id,
    protocolVersion: protocolVersionOf(call.connection),
  });
  return { outcome: fact.outcome, layer: fact.layer, reason: fact.reason, rpcCode, source: 'wire' };
}

function serverErrorType(outcome: ReplyOutcome): string | undefined {
  switch (outcome.outcome) {
    case 'TOOL_ERROR':
      return ERROR_TYPE_TOOL_ERROR;
    case 'JSONRPC_ERROR':
      return rpcErrorType(outcome.rpcCode);
    case 'MALFORMED_JSON':
    case 'INVALID_ENVELOPE':
    case 'INVALID_TOOL_RESULT':
      return outcome.outcome.toLowerCase();
    default:
      return undefined;
  }
}

/** What the client did wrong is no error of the server (conventions for MCP server spans). */
function rpcErrorType(code: number | undefined): string | undefined {
  return code === undefined || CLIENT_FAULT_CODES.includes(code) ? undefined : String(code);
}

/** `transport.send` took the reply. On a connection that is gone it says so all the same: the socket knows better. */
function handedOver(core: RuntimeCore, call: ServerCall): void {
  call.stages?.record('server.result_sent');
  const { answer } = call;
  // A span of another instrumentation does not wait for the socket.
  const waits = call.stages !== undefined && call.ownsSpan;
  if (answer === undefined || !waits || call.answerWasOver) {
    finishCall(core, call, 'handed_over');
    return;
  }
  const over = (): void => {
    clearTimeout(timer);
    core.guard('server.flush', () => (answer.state() === 'finished' ? flushed(core, call) : cut(core, call)));
  };
  const timer = setTimeout(() => {
    stop();
    core.guard('server.flush', () => finishCall(core, call, 'handed_over'));
  }, FLUSH_WAIT_MS);
  timer.unref();
  const stop = answer.onOver(over);
}

function flushed(core: RuntimeCore, call: ServerCall): void {
  call.stages?.record('server.result_flushed');
  finishCall(core, call, 'flushed');
}

function cut(core: RuntimeCore, call: ServerCall): void {
  call.stages?.record('server.result_dropped');
  finishCall(core, call, 'cut');
}

/** The SDK let the reply go, or its transport refused it. */
export function dropReply(core: RuntimeCore, call: ServerCall): void {
  if (call.ended || call.replyState !== undefined) return;
  forget(call);
  call.stages?.record('server.result_dropped');
  if (call.result === undefined && call.stages !== undefined && call.handler?.kind === 'returned') {
    const outcome = outcomeOf(call, { jsonrpc: '2.0', id: call.id, result: call.handler.value });
    // Nobody was told: what the handler returned is the server's own knowledge.
    const attributes: Attributes = {};
    addOutcome(attributes, { ...outcome, source: 'local' });
    call.result = { attributes, errorType: undefined, message: undefined };
  }
  finishCall(core, call, 'dropped');
}

/** Open requests that are remembered, per connection: a handler may hang for ever, a caller may have gone. */
export const MAX_OPEN = 4096;
/** Stands in `waybill.instrumentation.degraded` of a span that was ended to make room. */
const FORGOTTEN = 'Protocol.forgotten';

/** Remembers an incoming request until its reply; the oldest one makes room, with nothing said of how it went on. */
export function rememberCall(core: RuntimeCore, call: ServerCall): void {
  const { calls } = call.connection;
  calls.set(call.id, call);
  if (calls.size <= MAX_OPEN) return;
  const oldest = calls.oldest();
  if (oldest === undefined) return;
  oldest.span.setAttribute(ATTR_INSTRUMENTATION_DEGRADED, [FORGOTTEN]);
  forget(oldest);
  finishCall(core, oldest, 'unknown');
}

/** A peer may use one id for two requests at once: the entry may be of the other one. */
function forget(call: ServerCall): void {
  const { calls } = call.connection;
  if (calls.get(call.id) === call) calls.delete(call.id);
}

/** True when `_onrequest` returned and neither a handler runs nor a reply is on its way. */
export function wasDropped(call: ServerCall): boolean {
  if (call.replied || call.ended) return false;
  const controllers = read(call.connection.protocol, '_requestHandlerAbortControllers');
  return controllers instanceof Map && !controllers.has(call.id);
}

function finishCall(core: RuntimeCore, call: ServerCall, state: ReplyState): void {
  if (call.ended) return;
  call.ended = true;
  call.replyState = state;
  core.guard('server.finish', () => {
    const { span, result, stages, ids, info } = call;
    const attributes: Attributes = { ...call.extra, ...result?.attributes };
    if (stages !== undefined) {
      attributes[ATTR_REPLY_STATE] = state;
      attributes[ATTR_STAGES] = [...stages.names()];
    }
    // A reply that was lost is the client's error: two for one loss would double every error rate.
    const errorType = state === 'dropped' ? undefined : result?.errorType;
    if (errorType !== undefined) {
      attributes[ATTR_ERROR_TYPE] = errorType;
      if (call.ownsSpan) setFailed(core, span, result?.message);
    }
    span.setAttributes(attributes);
    recordCallMetrics(core, 'server', {
      seconds: (performance.now() - call.startedAt) / 1000,
      method: info.method,
      tool: info.tool,
      attributes,
      effectKind: ids?.effectKind,
      connection: call.connection,
    });
    const { responseHook } = core.config();
    const outcome = attributes['waybill.outcome'];
    if (responseHook !== undefined && typeof outcome === 'string') {
      const reason = attributes['waybill.outcome_reason'];
      core.hook('responseHook', () =>
        responseHook(span, { ...info, outcome, reason: typeof reason === 'string' ? reason : undefined }),
      );
    }
  });
  if (call.ownsSpan) call.span.end();
}
