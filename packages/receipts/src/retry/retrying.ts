import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { operationFromMeta, operationMeta } from '@waybill/api';
import { apiState } from '@waybill/api/internal';
import { classifyRetry } from './classify-retry.js';
import { outcomeOfError } from './outcome-of-error.js';
import type { RetryAdvice, RetryContract, RetryTool } from './types.js';

/** What is used of an MCP client; those of SDK 1.x and 2.x fit. */
export interface ToolCaller {
  // A method, so that clients with narrower parameters fit.
  callTool(params: { name: string; [key: string]: unknown }, ...rest: never[]): Promise<unknown>;
}

export interface RetryingOptions {
  /**
   * What is known of a tool. Without it, or where it answers undefined, a tool is `unknown` and nothing is promised:
   * only a call that provably reached nobody is sent again. What a server says of its own tools is not asked for.
   */
  readonly tool?: (name: string) => (RetryTool & { readonly contract?: RetryContract }) | undefined;
  /** Hears of every call that failed, with what was decided. */
  readonly onAdvice?: (advice: RetryAdvice, error: unknown) => void;
}

const advised = new WeakMap<object, RetryAdvice>();

/** What was decided about the error that a retrying client rejected with, for instance `reconcile_first`. */
export function retryAdvice(error: unknown): RetryAdvice | undefined {
  return typeof error === 'object' && error !== null ? advised.get(error) : undefined;
}

/**
 * A client whose `callTool` repeats a failed call where `classifyRetry` advises it, under one operation id. Results,
 * tool errors among them, are given back as they come; the last error is thrown as it is, with its advice behind
 * `retryAdvice(error)`. Everything else of the client is untouched, and so is the client itself.
 *
 * @example
 * const client = retrying(plain, { tool: (name) => (name === 'search' ? { effectKind: 'read' } : undefined) });
 */
export function retrying<T extends ToolCaller>(client: T, options: RetryingOptions = {}): T {
  const gate = new WaitingRoom();
  const callTool = (params: { name: string; [key: string]: unknown }, ...rest: never[]): Promise<unknown> =>
    callWithRetries(client, gate, options, params, rest);
  return new Proxy(client, {
    get(target, key) {
      if (key === 'callTool') return callTool;
      const value: unknown = Reflect.get(target, key, target);
      // Private members of the client need the client itself as `this`.
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
    set: (target, key, value) => Reflect.set(target, key, value, target),
  });
}

async function callWithRetries(
  client: ToolCaller,
  gate: WaitingRoom,
  options: RetryingOptions,
  params: { name: string; [key: string]: unknown },
  rest: never[],
): Promise<unknown> {
  const known = options.tool?.(params.name);
  const tool: RetryTool = { effectKind: known?.effectKind ?? 'unknown' };
  // One id for all attempts: this is what makes a repeat the same intention.
  const contract: RetryContract = { operationSource: 'caller', ...known?.contract };
  const named = withOperationId(params);
  const signal = signalOf(rest);
  const began = performance.now();
  for (let retries = 0; ; retries++) {
    try {
      return await client.callTool(named, ...rest);
    } catch (error) {
      const advice = classifyRetry(outcomeOfError(error, signal?.aborted === true), tool, contract, {
        retries,
        elapsedMs: performance.now() - began,
      });
      if (typeof error === 'object' && error !== null) advised.set(error, advice);
      tell(options, advice, error);
      if (advice.decision !== 'conditional' || advice.needs.includes('new_session')) throw error;
      const alone = advice.needs.includes('single_waiter');
      const wait = (): Promise<boolean> => waited(advice.delayMs ?? 0, signal);
      if (!(await (alone ? gate.alone(wait) : wait()))) throw error;
    }
  }
}

/** A copy of the parameters that names the operation, unless they or the surrounding `withOperation` do. */
function withOperationId(params: { name: string; [key: string]: unknown }): {
  name: string;
  [key: string]: unknown;
} {
  const meta = params['_meta'];
  if (operationFromMeta(meta).operationId !== undefined) return params;
  const operationId = apiState().storage.getStore()?.operation?.operationId ?? randomUUID();
  return {
    ...params,
    _meta: { ...(typeof meta === 'object' && meta !== null ? meta : {}), ...operationMeta({ operationId }) },
  };
}

/** The caller's signal: `options.signal`, the last argument in both SDKs. */
function signalOf(rest: readonly unknown[]): AbortSignal | undefined {
  for (const argument of rest) {
    if (typeof argument !== 'object' || argument === null || !('signal' in argument)) continue;
    if (argument.signal instanceof AbortSignal) return argument.signal;
  }
  return undefined;
}

/** False when the caller gave up meanwhile. */
async function waited(delayMs: number, signal: AbortSignal | undefined): Promise<boolean> {
  try {
    await sleep(delayMs, undefined, signal === undefined ? {} : { signal });
    return true;
  } catch {
    return false;
  }
}

function tell(options: RetryingOptions, advice: RetryAdvice, error: unknown): void {
  try {
    options.onAdvice?.(advice, error);
  } catch {
    // A listener that fails must not change what the caller gets.
  }
}

/** One waits, the others queue behind: a server that asked for patience is not asked again by all at once. */
class WaitingRoom {
  #last: Promise<unknown> = Promise.resolve();
  alone<T>(wait: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(wait);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}
