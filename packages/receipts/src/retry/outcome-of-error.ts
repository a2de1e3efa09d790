/**
 * What the SDK told its caller, as an outcome. It is less than the instrumentation sees on the wire: both SDKs report a
 * lost stream as a timeout, and SDK 1.x gives a timeout, an abort and an error of the peer the same code. Whatever is
 * ambiguous is read as the outcome that allows less.
 */
import { transportCause, transportReason } from '@waybill/core';
import type { RetryOutcome } from './types.js';

/**
 * @param error what `callTool` of SDK 1.x or 2.x rejected with; any value.
 * @param aborted the caller's own signal had fired.
 */
export function outcomeOfError(error: unknown, aborted: boolean): RetryOutcome {
  if (aborted) return { outcome: 'CANCELLED' };
  const { name, code, status } = describe(error);
  if (typeof code === 'string') {
    const known = outcomeOfSdkCode(code, status);
    if (known !== undefined) return known;
  }
  if (typeof code === 'number' && Number.isInteger(code)) {
    // SDK 1.x: the HTTP status as code, -1 for a content type that it does not read.
    if (code >= 100 && code <= 599) return { outcome: 'HTTP_ERROR', httpStatus: code };
    if (code === -1) return { outcome: 'INVALID_ENVELOPE', reason: 'content_type' };
    // Local and remote alike: the request timed out, the connection closed.
    if (code === -32001) return { outcome: 'TIMEOUT' };
    if (code === -32000) return { outcome: 'TRANSPORT_ERROR', reason: 'closed' };
    return { outcome: 'JSONRPC_ERROR', rpcCode: code };
  }
  if (name === 'SyntaxError') return { outcome: 'MALFORMED_JSON', reason: 'syntax' };
  if (name === 'ZodError' || name === '$ZodError') return { outcome: 'INVALID_TOOL_RESULT' };
  return { outcome: 'TRANSPORT_ERROR', reason: transportReason(transportCause(error), 'http') };
}

/** Codes of the SDK 2.x that say what became of the call. */
function outcomeOfSdkCode(code: string, status: number | undefined): RetryOutcome | undefined {
  if (status !== undefined && (status < 200 || status > 299))
    return { outcome: 'HTTP_ERROR', httpStatus: status };
  switch (code) {
    case 'REQUEST_TIMEOUT':
      return { outcome: 'TIMEOUT' };
    case 'CONNECTION_CLOSED':
    case 'SEND_FAILED':
      return { outcome: 'TRANSPORT_ERROR', reason: 'closed' };
    case 'INVALID_RESULT':
    case 'UNSUPPORTED_RESULT_TYPE':
      return { outcome: 'INVALID_TOOL_RESULT' };
    case 'CLIENT_HTTP_UNEXPECTED_CONTENT':
      return { outcome: 'INVALID_ENVELOPE', reason: 'content_type' };
    case 'NOT_CONNECTED':
    case 'NOT_INITIALIZED':
    case 'CAPABILITY_NOT_SUPPORTED':
    case 'METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION':
      // Refused in this process: sending it again is not what it lacks.
      return { outcome: 'JSONRPC_ERROR', rpcCode: -32600 };
    default:
      return undefined;
  }
}

/** What the SDK gave its caller as a result. */
export function outcomeOfResult(result: unknown): RetryOutcome {
  if (typeof result !== 'object' || result === null)
    return { outcome: 'INVALID_TOOL_RESULT', reason: 'not_object' };
  const { isError, resultType, task } = result as { isError?: unknown; resultType?: unknown; task?: unknown };
  if (resultType === 'input_required') return { outcome: 'INPUT_REQUIRED' };
  if (resultType === 'task' || (task !== undefined && !('content' in result)))
    return { outcome: 'TASK_PENDING' };
  return { outcome: isError === true ? 'TOOL_ERROR' : 'TOOL_SUCCESS' };
}

interface Described {
  readonly name: string | undefined;
  readonly code: string | number | undefined;
  readonly status: number | undefined;
}

/** Reads an error that may have accessors of its own. */
function describe(error: unknown): Described {
  const nothing = { name: undefined, code: undefined, status: undefined };
  if (typeof error !== 'object' || error === null) return nothing;
  try {
    const name: unknown = Reflect.get(error, 'name');
    const code: unknown = Reflect.get(error, 'code');
    const data: unknown = Reflect.get(error, 'data');
    const status: unknown =
      typeof data === 'object' && data !== null ? Reflect.get(data, 'status') : undefined;
    return {
      name: typeof name === 'string' ? name : undefined,
      code: typeof code === 'string' || typeof code === 'number' ? code : undefined,
      status: typeof status === 'number' ? status : undefined,
    };
  } catch {
    return nothing;
  }
}
