/**
 * Whether a call that ended may be sent again. Three facts decide: which layer failed and whether a final result was
 * received; what the tool may do to its target; and what the server promises about repeats. A status code alone never
 * decides.
 */
import { CLIENT_FAULT_CODES } from '@waybill/core';
import { nextAttempt } from './delay.js';
import type {
  RetryAdvice,
  RetryContract,
  RetryNeed,
  RetryOutcome,
  RetryProgress,
  RetryTool,
} from './types.js';

/**
 * Advice for one ended call. Pure but for the defaults of `progress` (the system clock, `Math.random`).
 *
 * @example
 * const advice = classifyRetry({ outcome: 'HTTP_ERROR', httpStatus: 503 }, { effectKind: 'read' }, {});
 * if (advice.decision === 'conditional') await sleep(advice.delayMs);
 */
export function classifyRetry(
  outcome: RetryOutcome,
  tool: RetryTool,
  contract: RetryContract = {},
  progress: RetryProgress = {},
): RetryAdvice {
  const call: Call = { outcome, tool, contract, progress };
  switch (outcome.outcome) {
    case 'TOOL_SUCCESS':
      return advice('never', [], 'no', 'there is a result');
    case 'INPUT_REQUIRED':
      return advice('continue_interaction', ['input'], 'no', 'it has not failed: the server waits for input');
    case 'TASK_PENDING':
      return advice('continue_interaction', ['task_poll'], 'no', 'it has not failed: a task is running');
    case 'CANCELLED':
      return unresolved(call, 'no', 'the caller gave up; what was sent may still be applied');
    case 'TOOL_ERROR':
      return toolError(call);
    case 'MALFORMED_JSON':
    case 'INVALID_ENVELOPE':
    case 'INVALID_TOOL_RESULT':
      return brokenReply(call);
    case 'JSONRPC_ERROR':
      return rpcError(call);
    case 'HTTP_ERROR':
      return httpError(call);
    case 'TRANSPORT_ERROR':
      return transportError(call);
    case 'STREAM_INCOMPLETE':
      return repeatIfSafe(call, 'may', [], 'a reply began and its result never came');
    case 'TIMEOUT':
      break;
  }
  return repeatIfSafe(call, 'may', [], 'the caller stopped waiting; that says nothing about the effect');
}

interface Call {
  readonly outcome: RetryOutcome;
  readonly tool: RetryTool;
  readonly contract: RetryContract;
  readonly progress: RetryProgress;
}
type Tell = RetryAdvice['tellModel'];

/** Statuses with which a request was turned away for now, before anything else is known. */
const BUSY: readonly number[] = [408, 425, 429, 500, 502, 503, 504];

function httpError(call: Call): RetryAdvice {
  const { httpStatus, reason } = call.outcome;
  if (reason === 'session_lost') {
    return repeatIfSafe(
      call,
      'no',
      ['new_session'],
      'the session is gone; whether the call ran is not known',
    );
  }
  if (httpStatus === undefined || BUSY.includes(httpStatus)) {
    return repeatIfSafe(
      call,
      'may',
      [],
      `HTTP ${httpStatus ?? 'error'}: a passing failure, the effect is not known`,
    );
  }
  return httpStatus >= 500
    ? unresolved(call, 'may', `HTTP ${httpStatus}: no repeat will change it, and the effect is not known`)
    : advice('after_fix', ['fixed_request'], 'may', `HTTP ${httpStatus}: the request itself was refused`);
}

function transportError(call: Call): RetryAdvice {
  const { reason } = call.outcome;
  return reason === 'connect' || reason === 'dns' || reason === 'tls'
    ? // Nothing was handed over: a repeat cannot be a second execution.
      repeat(call, 'may', [], `nothing reached the server (${reason})`)
    : repeatIfSafe(call, 'may', [], 'the connection failed after the request was handed over');
}

function rpcError(call: Call): RetryAdvice {
  const { rpcCode } = call.outcome;
  if (rpcCode !== undefined && CLIENT_FAULT_CODES.includes(rpcCode)) {
    return advice(
      'after_fix',
      ['fixed_request'],
      'may',
      `JSON-RPC ${rpcCode}: the request is wrong, the same one will fail again`,
    );
  }
  return call.contract.errorsAreClean === true
    ? repeat(call, 'may', [], 'the server failed, and promises that an error leaves nothing behind')
    : repeatIfSafe(call, 'may', [], 'the server failed; how far it came is not known');
}

function toolError(call: Call): RetryAdvice {
  const clean = call.tool.effectKind === 'read' || call.contract.errorsAreClean === true;
  return clean
    ? advice('after_fix', ['business_check'], 'should', 'the tool failed; its message says what to correct')
    : advice(
        'reconcile_first',
        ['read_back', 'business_check'],
        'should',
        'the tool failed, and may have changed something before it did',
      );
}

function brokenReply(call: Call): RetryAdvice {
  const needs: RetryNeed[] = ['diagnostic_record'];
  if (call.tool.effectKind !== 'read') needs.push('read_back');
  return advice('never', needs, 'may', 'a side breaks the protocol; a repeat meets the same side');
}

/** A repeat that cannot execute twice is advised; any other has to be reconciled first. */
function repeatIfSafe(call: Call, tell: Tell, needs: readonly RetryNeed[], why: string): RetryAdvice {
  if (call.tool.effectKind === 'read') return repeat(call, tell, needs, why);
  const { deduplicates, operationSource, keyRetentionMs } = call.contract;
  const known = deduplicates === true && (operationSource === 'caller' || operationSource === 'server');
  const fresh = keyRetentionMs === undefined || (call.progress.elapsedMs ?? 0) < keyRetentionMs;
  return known && fresh
    ? repeat(call, tell, ['same_operation_id', ...needs], why)
    : unresolved(call, tell, why);
}

/** A repeat that is safe, as long as number and time allow one. */
function repeat(call: Call, tell: Tell, needs: readonly RetryNeed[], why: string): RetryAdvice {
  const next = nextAttempt(call.outcome, call.contract, call.progress);
  if (next.kind === 'spent') {
    const spent = next.why === 'attempts' ? 'no repeat is left' : 'the total time is used up';
    return unresolved(call, tell, `${why}; ${spent}`);
  }
  const limited = call.outcome.httpStatus === 429 || next.asked;
  return {
    decision: 'conditional',
    needs: [
      ...needs,
      'limits',
      ...(next.asked ? (['retry_after'] as const) : []),
      ...(limited ? (['single_waiter'] as const) : []),
    ],
    delayMs: next.delayMs,
    tellModel: tell,
    reason: why,
  };
}

/** No repeat now: a read has simply failed, anything else may have been applied. */
function unresolved(call: Call, tell: Tell, why: string): RetryAdvice {
  return call.tool.effectKind === 'read'
    ? advice('never', [], tell, why)
    : advice('reconcile_first', ['read_back'], tell, why);
}

function advice(
  decision: RetryAdvice['decision'],
  needs: readonly RetryNeed[],
  tellModel: Tell,
  reason: string,
): RetryAdvice {
  return { decision, needs, delayMs: undefined, tellModel, reason };
}
