import type { Attributes } from '@opentelemetry/api';
import { isFunction, read, readString } from './patch/foreign.js';
import type { IdResolver, ResolvedIds } from './types.js';

/** Attributes of the active span that name an operation or a run; the first that is there wins. */
export interface ActiveSpanKeys {
  readonly operationId?: readonly string[];
  readonly runId?: readonly string[];
}

/**
 * Takes ids from the attributes of the span that is active at the call. Works for every framework that records its tool
 * calls as OpenTelemetry spans of the SDK, which alone lets attributes be read.
 *
 * An id that a model's framework gave its tool call covers the framework's retries. A model that asks again after a
 * timeout gets a new one: against that only `withOperation` or an `operations` rule helps.
 *
 * @example
 * new McpInstrumentation({ resolveIds: fromActiveSpan() });
 */
export function fromActiveSpan(keys: ActiveSpanKeys = {}): IdResolver {
  const operationKeys = keys.operationId ?? ['gen_ai.tool.call.id', 'ai.toolCall.id'];
  const runKeys = keys.runId ?? ['gen_ai.conversation.id', 'ai.telemetry.metadata.conversationId'];
  return ({ activeSpan }) => {
    const attributes = read(activeSpan, 'attributes') as Attributes | undefined;
    return idsOf(first(attributes, operationKeys), first(attributes, runKeys));
  };
}

/**
 * The run of OpenAI agents: the id of its current trace. The tool call has no id there; give `operationMeta(...)` to the
 * framework's `toolMetaResolver` for that.
 *
 * @param framework What the framework exports: `getCurrentTrace`.
 * @example
 * import { getCurrentTrace } from '@openai/agents';
 * new McpInstrumentation({ resolveIds: fromOpenAIAgents({ getCurrentTrace }) });
 */
export function fromOpenAIAgents(framework: { readonly getCurrentTrace: () => unknown }): IdResolver {
  return () => idsOf(undefined, readString(framework.getCurrentTrace(), 'traceId'));
}

/**
 * The run of LangGraph: the `thread_id` of the running configuration. It knows no id of a tool call: add an
 * `operations` rule.
 *
 * @param provider `AsyncLocalStorageProviderSingleton` of `@langchain/core/singletons`.
 */
export function fromLangGraph(provider: { readonly getRunnableConfig: () => unknown }): IdResolver {
  return () => {
    const configurable = read(provider.getRunnableConfig(), 'configurable');
    return idsOf(undefined, readString(configurable, 'thread_id'));
  };
}

function first(attributes: unknown, keys: readonly string[]): string | undefined {
  if (attributes === undefined || isFunction(attributes)) return undefined;
  for (const key of keys) {
    const value = readString(attributes, key);
    if (value !== undefined && value !== '') return value;
  }
  return undefined;
}

function idsOf(operationId: string | undefined, runId: string | undefined): ResolvedIds | undefined {
  if (operationId === undefined && runId === undefined) return undefined;
  return {
    ...(operationId === undefined ? {} : { operationId }),
    ...(runId === undefined ? {} : { runId }),
    source: 'framework',
  };
}
