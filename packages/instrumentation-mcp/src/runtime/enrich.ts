import { type Span, type SpanKind, context, trace } from '@opentelemetry/api';
import { ATTR_MCP_METHOD_NAME } from '@waybill/core';
import { read } from '../patch/foreign.js';
import type { RuntimeCore } from './core.js';

/** Remembers a span of ours where another request could take it for a foreign one. */
export function noteOwnSpan(core: RuntimeCore, span: Span): void {
  if (core.config().spans === 'enrich') core.ownSpans.add(span);
}

/**
 * The active span, where another instrumentation has already started the MCP span of this very request and
 * `spans: 'enrich'` asks to write on it. Only a span of the OpenTelemetry SDK shows what it is.
 */
export function spanToEnrich(
  core: RuntimeCore,
  kind: SpanKind.CLIENT | SpanKind.SERVER,
  method: string,
): Span | undefined {
  if (core.config().spans !== 'enrich') return undefined;
  const active = trace.getSpan(context.active());
  if (active === undefined || core.ownSpans.has(active) || !active.isRecording()) return undefined;
  if (read(active, 'kind') !== kind) return undefined;
  return read(read(active, 'attributes'), ATTR_MCP_METHOD_NAME) === method ? active : undefined;
}
