import type { EffectKind, OperationSource, OutcomeFact } from '@waybill/core';

/** What is known of the call that ended. */
export interface RetryOutcome extends Pick<OutcomeFact, 'outcome'> {
  readonly reason?: string | undefined;
  /** Status of an HTTP_ERROR. */
  readonly httpStatus?: number | undefined;
  /** Code of a JSONRPC_ERROR. */
  readonly rpcCode?: number | undefined;
  /** `Retry-After` as received: seconds or a date. */
  readonly retryAfter?: string | null | undefined;
  /** The same in milliseconds, where it was read already; it wins. */
  readonly retryAfterMs?: number | undefined;
}

/** What is known of the tool: its kind by its server's word or the operator's, not by its name. */
export interface RetryTool {
  readonly effectKind: EffectKind;
}

/** What the server promises about repeats, and what the caller allows. Nothing is assumed. */
export interface RetryContract {
  /** The server answers a repeat under the same operation id from its store. Default false. */
  readonly deduplicates?: boolean;
  /** How long it remembers an id, in milliseconds. Default: as long as this call lives. */
  readonly keyRetentionMs?: number;
  /** Who named the operation; a repeat is the same intention only for `caller` and `server`. Default `generated`. */
  readonly operationSource?: OperationSource;
  /** A tool error, or a JSON-RPC error from the handler, means that nothing was applied. Default false. */
  readonly errorsAreClean?: boolean;
  /** Repeats after the first attempt. Default 2. */
  readonly maxRetries?: number;
  /** First step of the back-off, in milliseconds. Default 200. */
  readonly baseDelayMs?: number;
  /** Longest step of the back-off, in milliseconds; a `Retry-After` may be longer. Default 10,000. */
  readonly maxDelayMs?: number;
  /** Time for all attempts and the waiting between them, in milliseconds. Default 30,000. */
  readonly deadlineMs?: number;
}

/** Where the attempts stand; clock and chance come from outside. */
export interface RetryProgress {
  /** Repeats already made. Default 0. */
  readonly retries?: number;
  /** Milliseconds since the first attempt began. Default 0. */
  readonly elapsedMs?: number;
  /** Milliseconds since the epoch, for a `Retry-After` that is a date. Default: the system clock. */
  readonly nowMs?: number;
  /** From 0 (inclusive) to 1 (exclusive). Default `Math.random`. */
  readonly random?: () => number;
}

/**
 * - `never`: no repeat of this call helps or is allowed.
 * - `conditional`: repeat when everything in `needs` holds, after `delayMs`.
 * - `after_fix`: not with the same parameters; a corrected request is a new operation.
 * - `continue_interaction`: it has not failed; answer it or ask for its state.
 * - `reconcile_first`: it may have been applied; find out before anything is sent again.
 */
export type RetryDecision =
  'never' | 'conditional' | 'after_fix' | 'continue_interaction' | 'reconcile_first';

export type RetryNeed =
  /** Send the same parameters under the same operation id. */
  | 'same_operation_id'
  /** Wait at least `delayMs`, which is what the server asked for. */
  | 'retry_after'
  /** Let one call wait per server, not one per request. */
  | 'single_waiter'
  /** Stay within the number of repeats and the total time. */
  | 'limits'
  /** Open a new session first. */
  | 'new_session'
  /** Correct the request. */
  | 'fixed_request'
  /** Check the arguments and the state of the business first. */
  | 'business_check'
  /** Give the input that the server asked for, under a new JSON-RPC id. */
  | 'input'
  /** Ask for the state of the task. */
  | 'task_poll'
  /** Read the target, or ask `reconcile`. */
  | 'read_back'
  /** Keep the masked response, the request id and the protocol version: one side breaks the protocol. */
  | 'diagnostic_record';

export interface RetryAdvice {
  readonly decision: RetryDecision;
  readonly needs: readonly RetryNeed[];
  /** Milliseconds to wait before a repeat; undefined where none is advised. */
  readonly delayMs: number | undefined;
  /** Whether the model is to be given the error: MCP says SHOULD for tool errors and MAY for protocol errors. */
  readonly tellModel: 'should' | 'may' | 'no';
  /** Why, in one sentence. */
  readonly reason: string;
}
