import type { CallOutcome, Outcome, Settlement } from '@waybill/core';
import { read, readObject, readString } from '../../patch/foreign.js';
import { wordOf } from '../limits.js';
import type { ClientLeg, Told } from './leg.js';

/** Codes of errors that an SDK makes itself; a peer may send the same numbers, so the wire is asked first. */
const V1_REQUEST_TIMEOUT = -32001;
const V1_CONNECTION_CLOSED = -32000;

/** What a rejected request means, from the caller's signal, the wire, and only then the error. */
export function settlementOf(error: unknown, leg: ClientLeg): Settlement {
  const code = read(error, 'code');
  const number = typeof code === 'number' ? code : undefined;
  const message = readString(error, 'message');
  const facts = {
    ...(number === undefined ? {} : { code: number }),
    ...(message === undefined ? {} : { message }),
  };
  const rejected = (cause: Extract<Settlement, { kind: 'rejected' }>['cause']): Settlement => ({
    kind: 'rejected',
    cause,
    ...facts,
  });
  if (leg.response !== undefined) {
    if (leg.response.rpcCode !== undefined) return rejected('rpc_error');
    return rejected('invalid_result');
  }
  if (read(read(leg.options, 'signal'), 'aborted') === true) return rejected('aborted');
  if (isTimeout(error)) return rejected('timed_out');
  if (code === V1_CONNECTION_CLOSED || code === 'CONNECTION_CLOSED') return rejected('closed');
  const status = httpStatusOf(error);
  if (status !== undefined) return { kind: 'rejected', cause: 'http_error', ...facts, code: status };
  return rejected('other');
}

function isTimeout(error: unknown): boolean {
  const code = read(error, 'code');
  if (code === 'REQUEST_TIMEOUT') return true;
  if (code !== V1_REQUEST_TIMEOUT) return false;
  const data = readObject(error, 'data');
  return data !== undefined && ('timeout' in data || 'maxTotalTimeout' in data);
}

function httpStatusOf(error: unknown): number | undefined {
  for (const key of ['status', 'code']) {
    const value = read(error, key);
    if (typeof value === 'number' && value >= 100 && value <= 599) return value;
  }
  return undefined;
}

/** Which of the SDK's two local refusals of a delivered result an error of `callTool` is. */
export function localRefusal(error: unknown): 'output_schema' | 'structured_missing' | undefined {
  const code = read(error, 'code');
  const message = readString(error, 'message') ?? '';
  if (code === -32_600 && message.includes('did not return structured content')) return 'structured_missing';
  if (code === -32_602 && /structured content/i.test(message)) return 'output_schema';
  return undefined;
}

/** The outcome that the SDK's caller would read off what it got; undefined where its error names none. */
export function toldAs(told: Told, wire: CallOutcome): Outcome | undefined {
  if (told.kind === 'resolved') {
    if (wire.outcome === 'INPUT_REQUIRED' || wire.outcome === 'TASK_PENDING') {
      return looksLikeToolResult(told.result) ? 'TOOL_SUCCESS' : wire.outcome;
    }
    return read(told.result, 'isError') === true ? 'TOOL_ERROR' : 'TOOL_SUCCESS';
  }
  switch (told.as) {
    case 'timed_out':
      return 'TIMEOUT';
    case 'aborted':
      return 'CANCELLED';
    case 'closed':
      return wire.outcome === 'STREAM_INCOMPLETE' ? 'TRANSPORT_ERROR' : undefined;
    case 'http_error':
      return wire.outcome === 'HTTP_ERROR' ? undefined : 'HTTP_ERROR';
    case 'rpc_error':
      return 'JSONRPC_ERROR';
    case 'invalid_result':
      return 'INVALID_TOOL_RESULT';
    default:
      return undefined;
  }
}

/** A caller that gets `content` believes in a finished call. */
function looksLikeToolResult(result: unknown): boolean {
  return Array.isArray(read(result, 'content')) && read(result, 'resultType') !== 'input_required';
}

/** `error.type` of a span that has no outcome of ours: every method but tools/call. */
export function plainErrorType(error: unknown, response: ClientLeg['response']): string {
  if (response?.rpcCode !== undefined) return String(response.rpcCode);
  if (isTimeout(error)) return 'timeout';
  const status = httpStatusOf(error);
  if (status !== undefined) return String(status);
  return wordOf(read(error, 'code')) ?? wordOf(read(error, 'name')) ?? 'Error';
}
