import { type SpanContext, INVALID_TRACEID } from '@opentelemetry/api';
import { type Scope, apiState } from '@waybill/api/internal';
import { operationFromMeta } from '@waybill/api';
import type { EffectKind, OperationSource, RetryOrigin, RunSource } from '@waybill/core';
import { isAcceptableId } from '@waybill/core';
import type { IdResolver, McpInstrumentationConfig, ResolvedIds, ToolCallInfo } from '../types.js';
import { argumentsDigest, derivedId, idFromRule } from './argument-ids.js';
import type { ClientLeg } from './client/leg.js';
import type { Connection } from './connection.js';
import type { RuntimeCore } from './core.js';
import { bestPattern } from './patterns.js';
import { operationSourceOf } from './propagation.js';
import type { ServerCall } from './server/call.js';

/** The ids of one leg with where they came from. */
export interface CallIds {
  readonly callId: string;
  /** Undefined when nobody named the run and there is no trace either. */
  readonly runId: string | undefined;
  readonly runSource: RunSource;
  readonly operationId: string;
  readonly operationSource: OperationSource;
  readonly parentOperationId: string | undefined;
  readonly attempt: number;
  readonly retryOrigin: RetryOrigin;
  /** Call id of the leg that this one continues. */
  readonly continues: string | undefined;
  readonly effectKind: EffectKind;
}

/** Attempts of one operation id as far as this process saw them. */
export interface Attempt {
  count: number;
  /** Span of the latest attempt, to link to. */
  last: SpanContext | undefined;
}

export interface OperationName {
  readonly operationId: string;
  readonly source: OperationSource;
  readonly parentOperationId: string | undefined;
}

/** Names the operation of an outgoing tools/call. The first that answers: `_meta`, scope, resolvers, rules, nobody. */
export function nameClientOperation(
  core: RuntimeCore,
  connection: Connection,
  info: ToolCallInfo & { readonly tool: string },
  outer: ServerCall | undefined,
): OperationName & {
  readonly resolved: ResolvedIds | undefined;
  readonly scopeKind: EffectKind | undefined;
} {
  const scope = apiState().storage.getStore();
  const none = { resolved: undefined, scopeKind: undefined };
  const explicit = operationFromMeta(info.meta).operationId;
  if (explicit !== undefined) {
    const same = outer?.ids?.operationId === explicit ? outer.ids : undefined;
    return {
      operationId: explicit,
      source: same?.operationSource ?? operationSourceOf(info.meta),
      parentOperationId: same?.parentOperationId,
      ...none,
    };
  }
  const scoped = fromScope(core, connection, info, scope);
  if (scoped !== undefined) return { ...scoped, resolved: undefined };
  if (outer?.ids !== undefined) return { ...fromHandler(core, connection, info, outer, outer.ids), ...none };
  const resolved = resolveIds(core, info);
  const operationId = resolved?.operationId;
  if (isAcceptableId(operationId)) {
    return {
      operationId,
      source: resolved?.source ?? 'framework',
      parentOperationId: undefined,
      resolved,
      scopeKind: undefined,
    };
  }
  const ruled = fromRules(core, connection, info, scope?.runId ?? resolved?.runId);
  return {
    operationId: ruled ?? crypto.randomUUID(),
    source: ruled === undefined ? 'generated' : 'argument',
    parentOperationId: undefined,
    resolved,
    scopeKind: undefined,
  };
}

/** `withOperation`: the first tool and arguments take the id, the same again is a retry, others get a derived one. */
function fromScope(
  core: RuntimeCore,
  connection: Connection,
  info: ToolCallInfo & { readonly tool: string },
  scope: Scope | undefined,
): (OperationName & { readonly scopeKind: EffectKind | undefined }) | undefined {
  const operation = scope?.operation;
  if (operation === undefined) return undefined;
  const digest = argumentsDigest(info.arguments);
  operation.binding ??= { tool: info.tool, digest, attempts: 0 };
  if (operation.binding.tool === info.tool && operation.binding.digest === digest) {
    operation.binding.attempts += 1;
    return {
      operationId: operation.operationId,
      source: 'caller',
      parentOperationId: scope?.current?.operationId,
      scopeKind: operation.effectKind,
    };
  }
  if (!operation.warned) {
    operation.warned = true;
    core.deps.warn(
      'WAYBILL_OPERATION_SCOPE',
      `withOperation(${JSON.stringify(operation.operationId)}) already names a call of ${operation.binding.tool}; ` +
        `${info.tool} with other arguments in the same scope gets a derived id. Open one withOperation scope for ` +
        `each intention, and withRun around all of them.`,
    );
  }
  return {
    operationId: derive(core, operation.operationId, connection, info),
    source: 'derived',
    parentOperationId: operation.operationId,
    scopeKind: undefined,
  };
}

/** Inside a handler: the same tool and arguments are passed through (a gateway), anything else is a child. */
function fromHandler(
  core: RuntimeCore,
  connection: Connection,
  info: ToolCallInfo & { readonly tool: string },
  outer: ServerCall,
  ids: CallIds,
): OperationName {
  if (outer.tool === info.tool && outer.argumentsDigest() === argumentsDigest(info.arguments)) {
    return {
      operationId: ids.operationId,
      source: ids.operationSource,
      parentOperationId: ids.parentOperationId,
    };
  }
  return {
    operationId: derive(core, ids.operationId, connection, info),
    source: 'derived',
    parentOperationId: ids.operationId,
  };
}

function derive(
  core: RuntimeCore,
  parent: string,
  connection: Connection,
  info: ToolCallInfo & { readonly tool: string },
): string {
  return derivedId(core.config().digestKey, parent, connection.serverName, info);
}

/** Names the operation of an incoming tools/call. */
export function nameServerOperation(
  core: RuntimeCore,
  connection: Connection,
  info: ToolCallInfo & { readonly tool: string },
  remote: { readonly operationId?: string; readonly runId?: string },
): OperationName & { readonly resolved: ResolvedIds | undefined } {
  if (remote.operationId !== undefined) {
    return {
      operationId: remote.operationId,
      source: operationSourceOf(info.meta),
      parentOperationId: undefined,
      resolved: undefined,
    };
  }
  const resolved = resolveIds(core, info);
  const named = resolved?.operationId;
  if (isAcceptableId(named)) {
    return { operationId: named, source: 'server', parentOperationId: undefined, resolved };
  }
  const ruled = fromRules(core, connection, info, remote.runId);
  return {
    operationId: ruled ?? crypto.randomUUID(),
    source: ruled === undefined ? 'generated' : 'server',
    parentOperationId: undefined,
    resolved,
  };
}

/** Counts the attempt of an operation; generated ids are new each time and not kept. */
export function countAttempt(
  attempts: RuntimeCore['attempts']['client'],
  name: OperationName,
  span: SpanContext | undefined,
): { readonly attempt: number; readonly previous: SpanContext | undefined } {
  if (name.source === 'generated') return { attempt: 1, previous: undefined };
  const known = attempts.get(name.operationId);
  if (known === undefined) {
    attempts.set(name.operationId, { count: 1, last: span });
    return { attempt: 1, previous: undefined };
  }
  const previous = known.last;
  known.count += 1;
  known.last = span;
  return { attempt: known.count, previous };
}

export interface RunName {
  readonly runId: string | undefined;
  readonly source: RunSource;
}

/**
 * Names the run: `_meta`, scope, resolvers, `WAYBILL_RUN_ID`, and otherwise the trace id. Never a session, a connection
 * or a process: the protocol forbids to take them for a conversation.
 */
export function nameRun(sources: {
  readonly remote: string | undefined;
  readonly scope: Scope | undefined;
  readonly resolved: ResolvedIds | undefined;
  /** `WAYBILL_RUN_ID`. */
  readonly configured: string | undefined;
  readonly traceId: string;
}): RunName {
  const { remote, scope, resolved, configured, traceId } = sources;
  const trace = traceId === INVALID_TRACEID ? undefined : traceId;
  if (remote !== undefined) return { runId: remote, source: remote === trace ? 'trace' : 'caller' };
  if (scope?.runId !== undefined) {
    const inherited = scope.current?.runId === scope.runId ? scope.current.runIdSource : 'caller';
    return { runId: scope.runId, source: inherited };
  }
  if (isAcceptableId(resolved?.runId)) {
    return { runId: resolved.runId, source: resolved.source === 'caller' ? 'caller' : 'framework' };
  }
  if (isAcceptableId(configured)) return { runId: configured, source: 'caller' };
  return { runId: trace, source: 'trace' };
}

function resolveIds(core: RuntimeCore, info: ToolCallInfo): ResolvedIds | undefined {
  for (const resolver of resolversOf(core.config())) {
    const resolved = core.hook('resolveIds', () => resolver({ ...info }));
    if (resolved?.operationId !== undefined || resolved?.runId !== undefined) return resolved;
  }
  return undefined;
}

function resolversOf(config: McpInstrumentationConfig): readonly IdResolver[] {
  const { resolveIds } = config;
  if (resolveIds === undefined) return [];
  return typeof resolveIds === 'function' ? [resolveIds] : resolveIds;
}

function fromRules(
  core: RuntimeCore,
  connection: Connection,
  info: ToolCallInfo & { readonly tool: string },
  runId: string | undefined,
): string | undefined {
  const { operations, digestKey } = core.config();
  if (operations === undefined) return undefined;
  const rule = bestPattern(operations, connection.serverName, info.tool);
  if (rule === undefined) return undefined;
  const id = core.hook('operations', () => idFromRule(rule, { ...info }, runId, digestKey));
  return isAcceptableId(id) ? id : undefined;
}

/** The leg with this call id that is under way, or that was answered with a question. */
export function legOfCall(connection: Connection, callId: string): ClientLeg | undefined {
  return (
    connection.legs.values().find((leg) => leg.ids?.callId === callId) ?? connection.byCallId.get(callId)
  );
}

/** The leg of which a request repeats our call id: a further round of the same call. */
export function continuedLeg(connection: Connection, meta: unknown): ClientLeg | undefined {
  const { callId } = operationFromMeta(meta);
  return callId === undefined ? undefined : legOfCall(connection, callId);
}
