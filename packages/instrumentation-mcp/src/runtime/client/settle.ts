import { type Attributes, trace } from '@opentelemetry/api';
import { ATTR_ERROR_TYPE, ATTR_HTTP_RESPONSE_STATUS_CODE } from '@opentelemetry/semantic-conventions';
import {
  ATTR_FLAGS,
  ATTR_MCP_PROTOCOL_VERSION,
  ATTR_OUTCOME,
  ATTR_OUTCOME_LAYER,
  ATTR_OUTCOME_REASON,
  ATTR_OUTCOME_SOURCE,
  ATTR_RPC_RESPONSE_STATUS_CODE,
  ATTR_SDK_ACCEPTED,
  ATTR_SDK_OUTCOME,
  ATTR_STAGES,
  ATTR_STREAM_BYTES,
  ATTR_STREAM_END,
  ATTR_STREAM_EVENTS,
  ATTR_STREAM_FINAL_RESPONSE,
  ATTR_STREAM_KIND,
  type CallOutcome,
  ERROR_TYPE_TOOL_ERROR,
  METHOD_TOOLS_CALL,
  type OutcomeFact,
  type OutcomeSource,
  type Settlement,
  readCall,
} from '@waybill/core';
import { protocolVersionOf } from '../connection.js';
import type { RuntimeCore } from '../core.js';
import { recordCallMetrics } from '../outcome-metrics.js';
import { setFailed, setResultContent } from '../content.js';
import { emitCallRecord } from './call-record.js';
import { plainErrorType, toldAs } from './errors.js';
import type { ClientLeg } from './leg.js';

/** The SDK's caller has its answer, or will have it in this tick. Fixes the outcome; the span may wait. */
export function settleLeg(core: RuntimeCore, leg: ClientLeg, how: Settlement, error?: unknown): void {
  if (leg.settled) return;
  leg.settled = true;
  leg.settledAt = performance.now();
  leg.told =
    how.kind === 'resolved'
      ? { kind: 'resolved', result: how.result }
      : { kind: 'rejected', error, as: how.cause };
  if (leg.id !== undefined) {
    leg.connection.legs.delete(leg.id);
    leg.connection.settled.set(leg.id, leg);
  }
  if (leg.stages !== undefined) {
    // A request that never reached the transport has no id; nothing was handed over then.
    leg.reading ??= readCall({ id: '', transport: leg.connection.kind, protocolVersion: undefined });
    leg.reading.setProtocolVersion(protocolVersionOf(leg.connection));
    leg.outcome = leg.reading.settle(how);
    recordTerminal(leg, how);
  }
  // Only a leg that asks for something is repeated by its call id.
  if (leg.ids !== undefined && leg.outcome?.layer === 'interaction') {
    leg.connection.byCallId.set(leg.ids.callId, leg);
  }
  // A span of another instrumentation may end before the SDK has validated the result.
  if (leg.scope?.open === true && leg.stages !== undefined && leg.ownsSpan) leg.scope.waiting = leg;
  else finishLeg(core, leg);
}

/** Exactly one terminal a call; a response for this id has recorded its own on arrival. */
function recordTerminal(leg: ClientLeg, how: Settlement): void {
  const { stages } = leg;
  if (stages === undefined || stages.has('client.result_received')) return;
  if (how.kind === 'rejected' && how.cause === 'timed_out') giveUp(leg, 'client.timeout');
  else if (how.kind === 'rejected' && how.cause === 'aborted') giveUp(leg, 'client.cancelled');
  else if (how.kind === 'resolved' && leg.response === undefined) stages.record('client.result_received');
  else stages.record('client.failed');
}

/** The caller stops waiting; before the wire is told, where it is told at all. */
export function giveUp(leg: ClientLeg, stage: 'client.timeout' | 'client.cancelled'): void {
  const { stages } = leg;
  if (stages === undefined) return;
  if (
    stages.has('client.result_received') ||
    stages.has('client.timeout') ||
    stages.has('client.cancelled')
  ) {
    return;
  }
  stages.record(stage);
}

/** The SDK's own validation refused a result that the wire delivered well. */
export function refuseLocally(
  leg: ClientLeg,
  reason: 'output_schema' | 'structured_missing',
  error: unknown,
): void {
  const { outcome } = leg;
  if (outcome?.outcome !== 'TOOL_SUCCESS') return;
  leg.outcome = { ...outcome, outcome: 'INVALID_TOOL_RESULT', layer: 'protocol', reason, source: 'local' };
  leg.told = { kind: 'rejected', error, as: reason };
}

/** Writes what was found and ends the span. */
export function finishLeg(core: RuntimeCore, leg: ClientLeg): void {
  if (leg.ended) return;
  leg.ended = true;
  core.guard('client.finish', () => {
    const { outcome, span } = leg;
    const attributes: Attributes = {};
    const version = protocolVersionOf(leg.connection);
    if (version !== undefined) attributes[ATTR_MCP_PROTOCOL_VERSION] = version;
    let errorType: string | undefined;
    if (outcome === undefined) {
      errorType = leg.told?.kind === 'rejected' ? plainErrorType(leg.told.error, leg.response) : undefined;
      const code = leg.response?.rpcCode;
      if (code !== undefined) attributes[ATTR_RPC_RESPONSE_STATUS_CODE] = String(code);
    } else {
      errorType = clientErrorType(outcome, leg.failureCode);
      addOutcome(attributes, outcome);
      addWire(attributes, outcome);
      addTold(attributes, leg, outcome);
      if (leg.stages !== undefined) attributes[ATTR_STAGES] = [...leg.stages.names()];
    }
    noteHandshakeError(leg, errorType);
    if (errorType !== undefined) {
      attributes[ATTR_ERROR_TYPE] = errorType;
      if (leg.ownsSpan) setFailed(core, span, outcome?.rpcMessage);
    }
    span.setAttributes(attributes);
    if (leg.told?.kind === 'resolved') setResultContent(core, span, leg.info.method, leg.told.result);
    recordCallMetrics(core, 'client', {
      seconds: (leg.settledAt - leg.startedAt) / 1000,
      method: leg.info.method,
      tool: leg.info.tool,
      prompt: promptOf(leg.info),
      attributes,
      effectKind: leg.info.method === METHOD_TOOLS_CALL ? leg.ids?.effectKind : undefined,
      connection: leg.connection,
    });
    callResponseHook(core, leg, outcome);
  });
  const { outcome } = leg;
  if (outcome !== undefined) core.guard('call.record', () => emitCallRecord(core, leg, outcome));
  const { span } = leg;
  release(leg);
  if (leg.ownsSpan) span.end(leg.settledAt);
}

/** A session whose handshake failed has ended in error (conventions for the session metrics). */
function noteHandshakeError(leg: ClientLeg, errorType: string | undefined): void {
  const { session } = leg.connection;
  if (session !== undefined && leg.info.method === 'initialize') session.error = errorType;
}

/** A settled leg is kept for a while; what is the application's is not. */
function release(leg: ClientLeg): void {
  const { side, method, tool, serverName, attempt } = leg.info;
  leg.info = {
    side,
    method,
    tool,
    serverName,
    arguments: undefined,
    meta: undefined,
    activeSpan: undefined,
    attempt,
  };
  leg.params = undefined;
  leg.options = undefined;
  leg.told = undefined;
  leg.span = trace.wrapSpanContext(leg.span.spanContext());
  leg.context = leg.parent;
  leg.stages?.release();
}

function promptOf({ method, arguments: values }: ClientLeg['info']): string | undefined {
  const prompt = method === 'prompts/get' ? values?.['name'] : undefined;
  return typeof prompt === 'string' ? prompt : undefined;
}

function callResponseHook(core: RuntimeCore, leg: ClientLeg, outcome: CallOutcome | undefined): void {
  const { responseHook } = core.config();
  if (responseHook === undefined || outcome === undefined) return;
  core.hook('responseHook', () =>
    responseHook(leg.span, { ...leg.info, outcome: outcome.outcome, reason: outcome.reason }),
  );
}

/** Adds the layer outcome. Written out, as is all that runs for each call: literals with computed keys are slow. */
export function addOutcome(
  attributes: Attributes,
  outcome: OutcomeFact & { readonly source: OutcomeSource },
): void {
  attributes[ATTR_OUTCOME] = outcome.outcome;
  attributes[ATTR_OUTCOME_LAYER] = outcome.layer;
  attributes[ATTR_OUTCOME_SOURCE] = outcome.source;
  if (outcome.reason !== undefined) attributes[ATTR_OUTCOME_REASON] = outcome.reason;
}

function addWire(attributes: Attributes, { stream, flags, rpcCode, httpStatus }: CallOutcome): void {
  if (flags.length > 0) attributes[ATTR_FLAGS] = [...flags];
  if (rpcCode !== undefined) attributes[ATTR_RPC_RESPONSE_STATUS_CODE] = String(rpcCode);
  if (httpStatus !== undefined) attributes[ATTR_HTTP_RESPONSE_STATUS_CODE] = httpStatus;
  if (stream.kind === undefined) return;
  attributes[ATTR_STREAM_KIND] = stream.kind;
  attributes[ATTR_STREAM_EVENTS] = stream.events;
  attributes[ATTR_STREAM_BYTES] = stream.bytes;
  attributes[ATTR_STREAM_FINAL_RESPONSE] = stream.finalResponse;
  attributes[ATTR_STREAM_END] = stream.end;
}

/** What the SDK told its caller, where that is not what the wire said. */
function addTold(attributes: Attributes, leg: ClientLeg, outcome: CallOutcome): void {
  if (leg.told === undefined) return;
  const told = toldAs(leg.told, outcome);
  if (told === outcome.outcome || told === undefined) return;
  attributes[ATTR_SDK_OUTCOME] = told;
  attributes[ATTR_SDK_ACCEPTED] = leg.told.kind === 'resolved';
}

/** `error.type` of a client span; undefined leaves the status unset (DESIGN 2.3). */
function clientErrorType(outcome: CallOutcome, failureCode: string | undefined): string | undefined {
  switch (outcome.outcome) {
    case 'TOOL_SUCCESS':
    case 'INPUT_REQUIRED':
    case 'TASK_PENDING':
    case 'CANCELLED':
      return undefined;
    case 'TOOL_ERROR':
      return ERROR_TYPE_TOOL_ERROR;
    case 'JSONRPC_ERROR':
      return String(outcome.rpcCode ?? 'jsonrpc_error');
    case 'HTTP_ERROR':
      return String(outcome.httpStatus ?? 'http_error');
    case 'TRANSPORT_ERROR':
      return failureCode ?? 'transport_error';
    case 'MALFORMED_JSON':
    case 'INVALID_ENVELOPE':
    case 'INVALID_TOOL_RESULT':
    case 'STREAM_INCOMPLETE':
    case 'TIMEOUT':
    default:
      return outcome.outcome.toLowerCase();
  }
}
