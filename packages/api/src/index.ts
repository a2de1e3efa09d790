/**
 * What application code imports: ids for runs and operations, and the stages that only the writing code can know.
 * It has no dependencies, keeps its state on `globalThis`, and works without any OpenTelemetry SDK.
 */
import { EMPTY_SCOPE, apiState } from './state.js';
import { META_CALL_ID, META_OPERATION_ID, META_RUN_ID, isAcceptableId } from './meta.js';
import type { Operation, OperationInit, ServerEffectStage, StageDetail } from './types.js';

export type {
  EffectKind,
  Operation,
  OperationIdSource,
  OperationInit,
  ServerEffectStage,
  StageDetail,
} from './types.js';

/**
 * Runs `fn` inside the run `runId`: every call made in it, however many, carries that run id.
 *
 * @param runId 1 to 200 printable characters.
 * @throws TypeError when the id is not acceptable.
 * @example
 * await withRun('nightly-2026-11-30', () => agent.invoke(task));
 */
export function withRun<T>(runId: string, fn: () => T): T {
  assertId('runId', runId);
  const { storage } = apiState();
  return storage.run({ ...(storage.getStore() ?? EMPTY_SCOPE), runId }, fn);
}

/**
 * Binds one intention. The first tools/call inside takes the id; the same tool with the same arguments again is a
 * retry and keeps it. A call of another tool or with other arguments gets a derived id and one warning: one scope is
 * one intention. Use `withRun` for the wide scope.
 *
 * @throws TypeError when an id is not acceptable.
 * @example
 * await withOperation('task-42:done:v1', () => client.callTool({ name: 'set_status', arguments: { id: 42 } }));
 */
export function withOperation<T>(init: string | OperationInit, fn: () => T): T {
  const { operationId, runId, effectKind } =
    typeof init === 'string' ? { operationId: init, runId: undefined, effectKind: undefined } : init;
  assertId('operationId', operationId);
  if (runId !== undefined) assertId('runId', runId);
  const { storage } = apiState();
  const outer = storage.getStore() ?? EMPTY_SCOPE;
  return storage.run(
    {
      ...outer,
      runId: runId ?? outer.runId,
      operation: { operationId, effectKind, binding: undefined, warned: false },
    },
    fn,
  );
}

/**
 * The same ids as an explicit `_meta` object, for callers that cannot wrap the call. Ids in `_meta` win over scopes.
 *
 * @throws TypeError when an id is not acceptable.
 * @example
 * await client.callTool({ name: 'set_status', arguments, _meta: operationMeta({ operationId: 'task-42:done:v1' }) });
 */
export function operationMeta(init: {
  readonly operationId: string;
  readonly runId?: string;
}): Record<string, string> {
  assertId('operationId', init.operationId);
  if (init.runId !== undefined) assertId('runId', init.runId);
  return {
    [META_OPERATION_ID]: init.operationId,
    ...(init.runId === undefined ? {} : { [META_RUN_ID]: init.runId }),
  };
}

/** The operation whose handler is running, or undefined outside a handler or without the instrumentation. */
export function currentOperation(): Operation | undefined {
  return apiState().storage.getStore()?.current;
}

/**
 * Records a stage of the running handler on its server span. Does nothing outside a handler or without the
 * instrumentation, and never throws.
 */
export function recordStage(stage: ServerEffectStage, detail?: StageDetail): void {
  try {
    apiState().storage.getStore()?.recordStage?.(stage, detail);
  } catch {
    // A recorder that fails must not fail the tool.
  }
}

/** Reads the ids out of a `_meta` object; unacceptable ones are left out. Needs no plugin and no SDK. */
export function operationFromMeta(meta: unknown): {
  readonly runId?: string;
  readonly operationId?: string;
  readonly callId?: string;
} {
  if (typeof meta !== 'object' || meta === null) return {};
  const read = (key: string): string | undefined => {
    const value: unknown = Object.hasOwn(meta, key) ? (meta as Record<string, unknown>)[key] : undefined;
    return isAcceptableId(value) ? value : undefined;
  };
  const runId = read(META_RUN_ID);
  const operationId = read(META_OPERATION_ID);
  const callId = read(META_CALL_ID);
  return {
    ...(runId === undefined ? {} : { runId }),
    ...(operationId === undefined ? {} : { operationId }),
    ...(callId === undefined ? {} : { callId }),
  };
}

function assertId(name: string, value: unknown): asserts value is string {
  if (isAcceptableId(value)) return;
  throw new TypeError(`${name} must be 1 to 200 printable characters without spaces at the ends`);
}
