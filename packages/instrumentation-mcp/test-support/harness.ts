import { type Attributes, type Meter, SpanKind, context, propagation, trace } from '@opentelemetry/api';
import type { LogRecord, Logger } from '@opentelemetry/api-logs';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { metrics } from '@opentelemetry/api';
import { patchExports } from '../src/patch/index.js';
import { type Runtime, createRuntime, installRuntime } from '../src/runtime/index.js';
import type { McpInstrumentationConfig } from '../src/types.js';

export interface Harness {
  readonly exporter: InMemorySpanExporter;
  readonly warnings: { code: string; message: string }[];
  readonly logs: LogRecord[];
  config: McpInstrumentationConfig;
  enabled: boolean;
  readonly runtime: Runtime;
  spans(): ReadableSpan[];
  /** The finished tools/call span of a side; waits for it, since a server span may end after its client's answer. */
  tool(side: 'client' | 'server', index?: number): Promise<ReadableSpan>;
  reset(): void;
  stop(): Promise<void>;
}

/** A runtime with real OpenTelemetry behind it, and the given SDK modules patched. */
export function startHarness(
  modules: readonly object[],
  config: McpInstrumentationConfig = {},
  meter: () => Meter = () => metrics.getMeter('test'),
): Harness {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  const logs: LogRecord[] = [];
  const logger: Logger = {
    emit: (record) => {
      logs.push(record);
    },
    enabled: () => true,
  };
  const state = { config, enabled: true };
  const warnings: { code: string; message: string }[] = [];
  const runtime = createRuntime({
    tracer: () => provider.getTracer('test'),
    meter,
    meterOwner: () => meter,
    logger: () => logger,
    config: () => state.config,
    isEnabled: () => state.enabled,
    warn: (code, message) => {
      warnings.push({ code, message });
    },
  });
  for (const exports of modules) {
    patchExports(exports, { module: 'test', version: undefined, format: 'given' });
  }
  installRuntime(runtime);
  const spans = (): ReadableSpan[] => exporter.getFinishedSpans();
  return {
    exporter,
    warnings,
    logs,
    runtime,
    get config() {
      return state.config;
    },
    set config(value) {
      state.config = value;
    },
    get enabled() {
      return state.enabled;
    },
    set enabled(value) {
      state.enabled = value;
    },
    spans,
    tool: async (side, index = 0) => {
      const kind = side === 'client' ? SpanKind.CLIENT : SpanKind.SERVER;
      const found = (): ReadableSpan | undefined =>
        spans().filter((span) => span.kind === kind && span.attributes['mcp.method.name'] === 'tools/call')[
          index
        ];
      const span = await eventually(found);
      if (span === undefined)
        throw new Error(
          `no ${side} span number ${index}: ${spans()
            .map((s) => s.name)
            .join(', ')}`,
        );
      return span;
    },
    reset: () => {
      exporter.reset();
      logs.length = 0;
      warnings.length = 0;
      state.config = config;
      state.enabled = true;
    },
    stop: async () => {
      runtime.dispose();
      await provider.shutdown();
      trace.disable();
      context.disable();
      propagation.disable();
    },
  };
}

/** Polls until `find` gives something, for at most two seconds. */
export async function eventually<T>(find: () => T | undefined): Promise<T | undefined> {
  const deadline = Date.now() + 2000;
  for (;;) {
    const value = find();
    if (value !== undefined || Date.now() > deadline) return value;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export function stagesOf(span: ReadableSpan): string[] {
  return span.events.map((event) => event.name.replace(/^waybill\./, ''));
}

/** `waybill.*` attributes that tests compare, without the ones that are different each time. */
export function outcomeOf(span: ReadableSpan): Attributes {
  const keys = [
    'waybill.outcome',
    'waybill.outcome_layer',
    'waybill.outcome_reason',
    'waybill.outcome_source',
    'error.type',
  ];
  return Object.fromEntries(
    keys.filter((key) => key in span.attributes).map((key) => [key, span.attributes[key]]),
  );
}
