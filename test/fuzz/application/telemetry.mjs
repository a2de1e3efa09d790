// Preload of the instrumented run: an OpenTelemetry SDK that keeps nothing but the number of each outcome.
import { context, trace } from '@opentelemetry/api';
import { logs } from '@opentelemetry/api-logs';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { LoggerProvider } from '@opentelemetry/sdk-logs';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';

const outcomes = {};
globalThis.seenOutcomes = outcomes;

const counting = {
  onStart() {},
  onEnd(span) {
    if (span.attributes['mcp.method.name'] !== 'tools/call') return;
    const { 'waybill.outcome': outcome, 'waybill.outcome_reason': reason } = span.attributes;
    const name = reason === undefined ? String(outcome) : `${outcome} ${reason}`;
    outcomes[name] = (outcomes[name] ?? 0) + 1;
  },
  forceFlush: async () => {},
  shutdown: async () => {},
};
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [counting] }));
logs.setGlobalLoggerProvider(new LoggerProvider());
