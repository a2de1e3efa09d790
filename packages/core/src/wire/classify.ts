import { outcomeFact, type OutcomeFact } from '../semconv/index.js';
import type { JsonRpcId } from './types.js';

/** What a parsed message is judged against. */
export interface ResponseContext {
  readonly id: JsonRpcId;
  /** Negotiated version; where it is undefined nothing that depends on it is called invalid, but for a batch. */
  readonly protocolVersion: string | undefined;
}

/** The reading of a message that stands where the response belongs. */
export interface ResponseReading {
  readonly fact: OutcomeFact;
  readonly rpcCode: number | undefined;
  readonly rpcMessage: string | undefined;
  readonly resultType: string | undefined;
  /** A JSON-RPC error whose id is null, missing or another one: it may be meant for this call, and cannot be proved so. */
  readonly uncorrelatedError: boolean;
}

/** What a message is to one call. */
export type MessageReading =
  | { readonly kind: 'response'; readonly reading: ResponseReading }
  /** A response with another id, or with the id in another JSON type. */
  | { readonly kind: 'misaddressed'; readonly reading: ResponseReading }
  | { readonly kind: 'request' | 'notification'; readonly method: unknown }
  /** No JSON-RPC message. `claimsId`: it has the id of this call all the same. */
  | { readonly kind: 'foreign'; readonly claimsId: boolean }
  | { readonly kind: 'batch'; readonly members: readonly unknown[] };

/** JSON-RPC batches exist in this version of MCP only (added 2025-03-26, removed 2025-06-18). */
const BATCH_VERSION = '2025-03-26';
/** From here on `structuredContent` may be any JSON value; before it is an object. */
const ANY_STRUCTURED_CONTENT = '2026-07-28';

/** An own member that is there. `undefined` has no form in JSON: in memory it means absent. */
function own(value: object, key: string): unknown {
  return Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}
function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Says what an already parsed message is to the call with this id. Looks only at the members that decide, never walks a
 * result. Ids are compared with their JSON type (JSON-RPC 2.0 section 5); a message with `method` is never a response;
 * own properties decide, so `"error": null` beside `result` is both.
 */
export function readMessage(message: unknown, context: ResponseContext): MessageReading {
  if (Array.isArray(message)) return { kind: 'batch', members: message };
  if (!isObject(message)) return { kind: 'foreign', claimsId: false };
  const id = own(message, 'id');
  if (own(message, 'jsonrpc') !== '2.0') return { kind: 'foreign', claimsId: id === context.id };
  const method = own(message, 'method');
  if (method !== undefined) return { kind: id === undefined ? 'notification' : 'request', method };
  const result = own(message, 'result');
  const error = own(message, 'error');
  if (result === undefined && error === undefined) return { kind: 'foreign', claimsId: id === context.id };
  if (id !== context.id) {
    const sameText = (typeof id === 'string' || typeof id === 'number') && String(id) === String(context.id);
    const rpc = readError(error);
    const fact = outcomeFact('INVALID_ENVELOPE', sameText ? 'id_type_mismatch' : 'id_mismatch');
    return {
      kind: 'misaddressed',
      reading: responseReading(fact, { rpc, uncorrelatedError: rpc !== undefined && !sameText }),
    };
  }
  if (result !== undefined && error !== undefined) return response('INVALID_ENVELOPE', 'both_members');
  if (error === undefined) return { kind: 'response', reading: readToolResult(result, context) };
  const rpc = readError(error);
  if (rpc === undefined) return response('INVALID_ENVELOPE', 'error_shape');
  return { kind: 'response', reading: responseReading(outcomeFact('JSONRPC_ERROR'), { rpc }) };
}

/**
 * Classifies the JSON value that a server gave as the answer to a `tools/call`: anything that is not its response is an
 * invalid envelope. Constant time but for a batch, where the members are searched for the id.
 *
 * @example classifyResponse(body, { id: 7, protocolVersion: '2025-11-25' }).fact.outcome // 'TOOL_SUCCESS'
 */
export function classifyResponse(message: unknown, context: ResponseContext): ResponseReading {
  const reading = readMessage(message, context);
  switch (reading.kind) {
    case 'response':
    case 'misaddressed':
      return reading.reading;
    case 'request':
    case 'notification':
    case 'foreign':
      return responseReading(outcomeFact('INVALID_ENVELOPE', 'not_jsonrpc'));
    case 'batch':
      return batchIsLegal(context)
        ? responseOfBatch(reading.members, context)
        : responseReading(outcomeFact('INVALID_ENVELOPE', 'batch'));
    default:
      return reading satisfies never;
  }
}

export function batchIsLegal(context: ResponseContext): boolean {
  return context.protocolVersion === BATCH_VERSION;
}

function responseOfBatch(members: readonly unknown[], context: ResponseContext): ResponseReading {
  let misaddressed: ResponseReading | undefined;
  for (const member of members) {
    const reading = readMessage(member, context);
    if (reading.kind === 'response') return reading.reading;
    if (reading.kind === 'misaddressed') misaddressed ??= reading.reading;
  }
  return misaddressed ?? responseReading(outcomeFact('INVALID_ENVELOPE', 'not_jsonrpc'));
}

/** The result of a `tools/call`: complete, wanting input, a task handle, or none of them. */
export function readToolResult(result: unknown, { protocolVersion }: ResponseContext): ResponseReading {
  if (!isObject(result)) return invalid('not_object', undefined);
  const resultType = own(result, 'resultType');
  if (resultType !== undefined && typeof resultType !== 'string') return invalid('result_type', undefined);
  switch (resultType) {
    case 'input_required':
      // Requests for input, or only a state to send back (a server that wants to be asked again).
      return isObject(own(result, 'inputRequests')) || typeof own(result, 'requestState') === 'string'
        ? responseReading(outcomeFact('INPUT_REQUIRED'), { resultType })
        : invalid('result_type', resultType);
    case 'task':
      return typeof own(result, 'taskId') === 'string'
        ? responseReading(outcomeFact('TASK_PENDING'), { resultType })
        : invalid('result_type', resultType);
    case 'complete':
    case undefined: // A server before 2026-07-28: the same as complete.
      break;
    default:
      return invalid('result_type', resultType);
  }
  const content = own(result, 'content');
  if (!Array.isArray(content)) {
    const task = own(result, 'task');
    return content === undefined && isObject(task) && typeof own(task, 'taskId') === 'string'
      ? responseReading(outcomeFact('TASK_PENDING'), { resultType })
      : invalid('content', resultType);
  }
  const isError = own(result, 'isError');
  if (isError !== undefined && typeof isError !== 'boolean') return invalid('is_error', resultType);
  const structured = own(result, 'structuredContent');
  if (structured !== undefined && !isObject(structured) && demandsObject(protocolVersion)) {
    return invalid('structured', resultType);
  }
  return responseReading(outcomeFact(isError === true ? 'TOOL_ERROR' : 'TOOL_SUCCESS'), { resultType });
}

/** Versions are dates and compare as text; a draft name or an unknown version proves nothing. */
function demandsObject(protocolVersion: string | undefined): boolean {
  return (
    protocolVersion !== undefined &&
    /^\d{4}-\d{2}-\d{2}$/.test(protocolVersion) &&
    protocolVersion < ANY_STRUCTURED_CONTENT
  );
}

/** Code and message of a well-formed JSON-RPC error object (JSON-RPC 2.0 section 5.1). */
export function readError(error: unknown): { rpcCode: number; rpcMessage: string } | undefined {
  if (!isObject(error)) return undefined;
  const code = own(error, 'code');
  const message = own(error, 'message');
  return Number.isInteger(code) && typeof code === 'number' && typeof message === 'string'
    ? { rpcCode: code, rpcMessage: message }
    : undefined;
}

/** A reading with the parts that it has. Written out: a spread would cost more than all the rest. */
export function responseReading(
  fact: OutcomeFact,
  parts: {
    readonly rpc?: { readonly rpcCode: number; readonly rpcMessage: string } | undefined;
    readonly resultType?: string | undefined;
    readonly uncorrelatedError?: boolean;
  } = {},
): ResponseReading {
  return {
    fact,
    rpcCode: parts.rpc?.rpcCode,
    rpcMessage: parts.rpc?.rpcMessage,
    resultType: parts.resultType,
    uncorrelatedError: parts.uncorrelatedError ?? false,
  };
}

function response(outcome: 'INVALID_ENVELOPE', reason: 'both_members' | 'error_shape'): MessageReading {
  return { kind: 'response', reading: responseReading(outcomeFact(outcome, reason)) };
}

function invalid(
  reason: 'not_object' | 'result_type' | 'content' | 'is_error' | 'structured',
  resultType: string | undefined,
): ResponseReading {
  return responseReading(outcomeFact('INVALID_TOOL_RESULT', reason), { resultType });
}
