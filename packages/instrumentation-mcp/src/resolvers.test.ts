import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import type { Span } from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';
import { fromActiveSpan, fromLangGraph, fromOpenAIAgents } from './resolvers.js';
import type { ToolCallInfo } from './types.js';

const info = (activeSpan?: Span): ToolCallInfo => ({
  side: 'client',
  method: 'tools/call',
  tool: 't',
  serverName: undefined,
  arguments: undefined,
  meta: undefined,
  activeSpan,
  attempt: 1,
});
const spanWith = (attributes: Record<string, string>): Span =>
  new BasicTracerProvider().getTracer('test').startSpan('tool', { attributes });

describe('fromActiveSpan', () => {
  it.each([
    [
      { 'gen_ai.tool.call.id': 'a', 'gen_ai.conversation.id': 'r' },
      { operationId: 'a', runId: 'r', source: 'framework' },
    ],
    [{ 'ai.toolCall.id': 'b' }, { operationId: 'b', source: 'framework' }],
    [{ 'ai.telemetry.metadata.conversationId': 'c' }, { runId: 'c', source: 'framework' }],
    [{ other: 'x' }, undefined],
  ])('reads %o', (attributes, expected) => {
    expect(fromActiveSpan()(info(spanWith(attributes)))).toEqual(expected);
  });

  it('takes the keys it is given, and needs no span', () => {
    const resolver = fromActiveSpan({ operationId: ['my.id'] });
    expect(resolver(info(spanWith({ 'my.id': 'z' })))).toEqual({ operationId: 'z', source: 'framework' });
    expect(resolver(info())).toBeUndefined();
  });
});

it('fromOpenAIAgents takes the trace of the framework for the run', () => {
  expect(fromOpenAIAgents({ getCurrentTrace: () => ({ traceId: 't' }) })(info())).toEqual({
    runId: 't',
    source: 'framework',
  });
  expect(fromOpenAIAgents({ getCurrentTrace: () => null })(info())).toBeUndefined();
});

it('fromLangGraph takes the thread for the run', () => {
  const provider = { getRunnableConfig: () => ({ configurable: { thread_id: 'th' } }) };
  expect(fromLangGraph(provider)(info())).toEqual({ runId: 'th', source: 'framework' });
  expect(fromLangGraph({ getRunnableConfig: () => undefined })(info())).toBeUndefined();
});
