import { AsyncLocalStorage } from 'node:async_hooks';
import type { EffectKind, Operation, ServerEffectStage, StageDetail } from './types.js';

/** The intention named by `withOperation`; the first tools/call inside binds it to one tool and one set of arguments. */
export interface OperationScope {
  readonly operationId: string;
  readonly effectKind: EffectKind | undefined;
  /** Set once by the instrumentation: the tool and a digest of its arguments. */
  binding: { readonly tool: string; readonly digest: string; attempts: number } | undefined;
  /** True once the warning about a second, different call in this scope was given. */
  warned: boolean;
}

/** What is known at one point of the asynchronous flow. Scopes are never mutated but for `OperationScope`. */
export interface Scope {
  readonly runId: string | undefined;
  readonly operation: OperationScope | undefined;
  /** The operation whose handler is running. */
  readonly current: Operation | undefined;
  /** Takes stages of the running handler; absent without the instrumentation. */
  readonly recordStage: ((stage: ServerEffectStage, detail: StageDetail | undefined) => void) | undefined;
}

export interface ApiState {
  readonly storage: AsyncLocalStorage<Scope>;
}

/**
 * One versioned global: the ESM and the CommonJS copy of this package, and two installed versions of the same major,
 * share it. OpenTelemetry's own context cannot carry this, since it does nothing without an SDK.
 */
const KEY = Symbol.for('waybill.api.v1');

export function apiState(): ApiState {
  const holder = globalThis as { [KEY]?: ApiState };
  return (holder[KEY] ??= { storage: new AsyncLocalStorage<Scope>() });
}

export const EMPTY_SCOPE: Scope = {
  runId: undefined,
  operation: undefined,
  current: undefined,
  recordStage: undefined,
};
