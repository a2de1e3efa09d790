import { parseRetryAfter } from '@waybill/core';
import type { RetryContract, RetryOutcome, RetryProgress } from './types.js';

export const RETRY_DEFAULTS = {
  maxRetries: 2,
  baseDelayMs: 200,
  maxDelayMs: 10_000,
  deadlineMs: 30_000,
} as const;

/** Whether one more attempt fits, and after which wait. */
export type NextAttempt =
  | { readonly kind: 'fits'; readonly delayMs: number; readonly asked: boolean }
  | { readonly kind: 'spent'; readonly why: 'attempts' | 'deadline' };

/**
 * The wait before the next attempt: what the server asked for, else exponential back-off with full jitter (a random
 * part of the step), so that callers that failed together do not come back together.
 */
export function nextAttempt(
  outcome: Pick<RetryOutcome, 'retryAfter' | 'retryAfterMs'>,
  contract: RetryContract,
  progress: RetryProgress,
): NextAttempt {
  const limits = { ...RETRY_DEFAULTS, ...defined(contract) };
  const retries = progress.retries ?? 0;
  if (retries >= limits.maxRetries) return { kind: 'spent', why: 'attempts' };
  const asked = outcome.retryAfterMs ?? parseRetryAfter(outcome.retryAfter, progress.nowMs ?? Date.now());
  const step = Math.min(limits.maxDelayMs, limits.baseDelayMs * 2 ** retries);
  const delayMs = asked ?? Math.floor((progress.random ?? Math.random)() * step);
  if ((progress.elapsedMs ?? 0) + delayMs >= limits.deadlineMs) return { kind: 'spent', why: 'deadline' };
  return { kind: 'fits', delayMs, asked: asked !== undefined };
}

/** Leaves out members that are there and undefined, which would hide a default. */
function defined(contract: RetryContract): RetryContract {
  return Object.fromEntries(Object.entries(contract).filter(([, value]) => value !== undefined));
}
