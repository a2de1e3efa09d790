import { type AnyValueMap, SeverityNumber } from '@opentelemetry/api-logs';
import { STAGE_EVENT_PREFIX, type CallOutcome } from '@waybill/core';
import { isFunction, read, readObject, readOwn, readString } from '../../patch/foreign.js';
import { protocolVersionOf } from '../connection.js';
import type { RuntimeCore } from '../core.js';
import { maskedText, shapeOf } from '../mask.js';
import { stageIdentity } from '../signals.js';
import { answersCall } from './continuation.js';
import type { CallDiagnostics, ClientLeg } from './leg.js';

/** Name of the log event that holds one call: `schemas/call-record-1.json` describes its body. */
export const CALL_RECORD_EVENT: string = `${STAGE_EVENT_PREFIX}call`;

/** Statuses of one call that are kept: a redirect loop is cut by fetch long before. */
const MAX_STATUSES = 32;
const MAX_NAME = 200;

/**
 * Where the facts of a call are kept that only the record wants; undefined when nobody asked for records. `before`: of
 * the leg that carried the same request.
 */
export function callDiagnostics(
  core: RuntimeCore,
  method: string,
  before: CallDiagnostics | undefined,
): CallDiagnostics | undefined {
  const wanted = core.config().diagnosticRecord ?? core.environment.diagnosticRecord;
  return wanted && answersCall(method)
    ? { statuses: [...(before?.statuses ?? [])], errorData: undefined }
    : undefined;
}

/** Notes a status of an answer to this call's POST. */
export function noteStatus(leg: ClientLeg, status: number): void {
  const statuses = leg.diagnostics?.statuses;
  if (statuses !== undefined && statuses.length < MAX_STATUSES) statuses.push(status);
}

/** Notes the form of `error.data` of a response, never what it holds. */
export function noteErrorData(leg: ClientLeg, message: unknown): void {
  const data = readOwn(readOwn(message, 'error'), 'data');
  if (leg.diagnostics !== undefined && data !== undefined) leg.diagnostics.errorData = shapeOf(data);
}

/** Emits the record of a leg that has its final outcome. */
export function emitCallRecord(core: RuntimeCore, leg: ClientLeg, outcome: CallOutcome): void {
  const { diagnostics, ids } = leg;
  if (diagnostics === undefined || ids === undefined) return;
  const identity = stageIdentity(core, { side: 'client', span: leg.span, context: leg.context, ids });
  core.deps.logger()?.emit({
    eventName: CALL_RECORD_EVENT,
    severityNumber: SeverityNumber.INFO,
    timestamp: Date.now(),
    context: leg.context,
    attributes: identity,
    body: recordOf(core, leg, diagnostics, outcome),
  });
}

function recordOf(
  core: RuntimeCore,
  leg: ClientLeg,
  diagnostics: CallDiagnostics,
  outcome: CallOutcome,
): AnyValueMap {
  const { connection, ids, id } = leg;
  const info = readObject(connection.protocol, '_clientInfo');
  const name = readString(info, 'name');
  const isHttp = connection.kind === 'http' || connection.kind === 'legacy_sse';
  const { contentType, kind, events, bytes, finalResponse, end } = outcome.stream;
  return present({
    v: 'waybill/call/1',
    client: name === undefined ? undefined : capped(`${name}@${readString(info, 'version') ?? ''}`),
    sdk: sdkOf(core, connection.protocol),
    protocol_version: protocolVersionOf(connection),
    transport: connection.kind,
    method: leg.info.method,
    tool: leg.tool === undefined ? undefined : capped(leg.tool),
    posts: isHttp ? leg.postsBefore + leg.posts : undefined,
    http_statuses: isHttp ? diagnostics.statuses : undefined,
    content_type: contentType === undefined ? undefined : capped(contentType),
    rpc_id: typeof id === 'string' ? capped(id) : id,
    rpc_id_type: id === undefined ? undefined : typeof id,
    error: errorOf(leg, diagnostics, outcome),
    result_type: outcome.resultType === undefined ? undefined : capped(outcome.resultType),
    stream: kind === undefined ? undefined : { kind, events, bytes, final_response: finalResponse, end },
    outcome: outcome.outcome,
    outcome_layer: outcome.layer,
    outcome_reason: outcome.reason,
    outcome_source: outcome.source,
    flags: [...outcome.flags],
    retry_after_ms: outcome.retryAfterMs,
    progress_events: outcome.progressEvents,
    retry_origin: ids?.retryOrigin,
    attempt: ids?.attempt,
    run_id: ids?.runId,
    call_id: ids?.callId,
    continues_call_id: ids?.continues,
    operation_id: ids?.operationId,
    operation_source: ids?.operationSource,
  });
}

/** What the peer said, and otherwise what the SDK told its caller: code and masked message. */
function errorOf(
  leg: ClientLeg,
  diagnostics: CallDiagnostics,
  outcome: CallOutcome,
): AnyValueMap | undefined {
  const told = leg.told?.kind === 'rejected' ? leg.told.error : undefined;
  const message = outcome.rpcMessage ?? readString(told, 'message');
  if (message === undefined && outcome.rpcCode === undefined && leg.failureCode === undefined)
    return undefined;
  return present({
    code: outcome.rpcCode,
    errno: leg.failureCode === undefined ? undefined : capped(leg.failureCode),
    message: message === undefined ? undefined : maskedText(message),
    data: diagnostics.errorData as AnyValueMap | undefined,
  });
}

/** The package of the SDK that made the call, with its version where one copy alone was patched. */
function sdkOf(core: RuntimeCore, protocol: object): string | undefined {
  if (!isFunction(read(protocol, '_onresponse'))) return undefined;
  const isV2 = isFunction(read(protocol, '_requestWithSchemaViaCodec'));
  const name = isV2 ? '@modelcontextprotocol/client' : '@modelcontextprotocol/sdk';
  const versions = new Set<string>();
  for (const { module, version } of core.deps.patched?.() ?? []) {
    if (version !== undefined && (module === name || module.startsWith(`${name}/`))) versions.add(version);
  }
  const [only] = versions;
  return only === undefined || versions.size > 1 ? name : `${name}@${only}`;
}

function capped(text: string): string {
  return text.slice(0, MAX_NAME);
}

/** Without the members that are not known. */
function present(record: AnyValueMap): AnyValueMap {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));
}
