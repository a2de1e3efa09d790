import {
  type Context,
  type Span,
  type SpanContext,
  ROOT_CONTEXT,
  TraceFlags,
  context,
  isSpanContextValid,
  propagation,
  trace,
} from '@opentelemetry/api';
import {
  ATTR_OPERATION_ID,
  ATTR_RUN_ID,
  META_BAGGAGE,
  META_CALL_ID,
  META_OPERATION_ID,
  META_OPERATION_SOURCE,
  META_RUN_ID,
  META_TRACEPARENT,
  META_TRACESTATE,
  OPERATION_SOURCES,
  type OperationSource,
} from '@waybill/core';
import { type Foreign, isPlainObject, readString } from '../patch/foreign.js';
import type { McpInstrumentationConfig } from '../types.js';
import type { CallIds } from './ids.js';

/** Characters of a `traceparent` of version 00; a later version may go on after another dash. */
const TRACEPARENT_LENGTH = 55;

/** The span that a `traceparent` names; undefined when it is not a valid one (W3C Trace Context, section 3.2). */
export function parseTraceparent(value: unknown): SpanContext | undefined {
  if (typeof value !== 'string' || !hasShape(value)) return undefined;
  const traceFlags = Number.parseInt(value.slice(53, TRACEPARENT_LENGTH), 16);
  const spanContext = {
    traceId: value.slice(3, 35),
    spanId: value.slice(36, 52),
    traceFlags,
    isRemote: true,
  };
  return isSpanContextValid(spanContext) ? spanContext : undefined;
}

/** Lower-case hexadecimal with its three dashes. Read by hand: it is read for each call. */
function hasShape(value: string): boolean {
  if (value.length < TRACEPARENT_LENGTH) return false;
  if (value.length > TRACEPARENT_LENGTH && value.codePointAt(TRACEPARENT_LENGTH) !== DASH) return false;
  for (let at = 0; at < TRACEPARENT_LENGTH; at++) {
    const code = value.charCodeAt(at);
    const isDash = at === 2 || at === 35 || at === 52;
    const isHex = (code >= 0x30 && code <= 0x39) || (code >= 0x61 && code <= 0x66);
    if (isDash ? code !== DASH : !isHex) return false;
  }
  return true;
}
const DASH = 0x2d;

export interface Outgoing {
  /** `params._meta` as the caller gave it. */
  readonly meta: unknown;
  /** Context with the span of the leg. */
  readonly context: Context;
  /** Absent for methods that carry trace context only. */
  readonly ids: CallIds | undefined;
  readonly propagateIds: McpInstrumentationConfig['propagateIds'];
  /** Spans whose `traceparent` in `meta` is an earlier one of ours, to be replaced. */
  readonly replace: (parent: SpanContext) => boolean;
}

/**
 * A new `_meta` object with trace context (unprefixed, SEP-414) and our ids. An existing valid `traceparent` of the
 * active trace stays: another instrumentation has a span closer to the wire. The caller's object is not touched.
 */
export function outgoingMeta(out: Outgoing): Foreign {
  const meta: Foreign = isPlainObject(out.meta) ? { ...out.meta } : {};
  const own = trace.getSpanContext(out.context);
  if (own !== undefined && isSpanContextValid(own)) {
    const existing = parseTraceparent(meta[META_TRACEPARENT]);
    const keep = existing !== undefined && existing.traceId === own.traceId && !out.replace(existing);
    if (!keep) injectTrace(meta, out.context, own);
  }
  injectBaggage(meta, out);
  if (out.ids === undefined || out.propagateIds === 'none') return meta;
  meta[META_CALL_ID] = out.ids.callId;
  meta[META_OPERATION_ID] = out.ids.operationId;
  // Absent means `caller`; an earlier leg or an outer request may have left its own in the copied `_meta`.
  if (out.ids.operationSource === 'caller') delete meta[META_OPERATION_SOURCE];
  else meta[META_OPERATION_SOURCE] = out.ids.operationSource;
  if (out.ids.runId !== undefined) meta[META_RUN_ID] = out.ids.runId;
  return meta;
}

/**
 * What `_meta` says about the source of its operation id. Anything outside of the closed set is a caller's own id, and so
 * is one that another server named: `server` is only ever said by the server that did it.
 */
export function operationSourceOf(meta: unknown): OperationSource {
  const named = readString(meta, META_OPERATION_SOURCE);
  const source = OPERATION_SOURCES.find((each) => each === named);
  return source === undefined || source === 'server' ? 'caller' : source;
}

function injectTrace(meta: Foreign, ctx: Context, own: SpanContext): void {
  const carrier: Record<string, unknown> = {};
  propagation.inject(ctx, carrier);
  const injected = readString(carrier, META_TRACEPARENT);
  // A process that propagates by another format only still speaks W3C here: it is the one that `_meta` knows.
  meta[META_TRACEPARENT] = injected ?? formatTraceparent(own);
  const state = readString(carrier, META_TRACESTATE) ?? own.traceState?.serialize();
  if (state === undefined || state === '') delete meta[META_TRACESTATE];
  else meta[META_TRACESTATE] = state;
}

/** The span as a `traceparent` (W3C Trace Context, version 00). */
export function formatTraceparent(own: SpanContext): string {
  const flags = (own.traceFlags & TraceFlags.SAMPLED).toString(16).padStart(2, '0');
  return `00-${own.traceId}-${own.spanId}-${flags}`;
}

function injectBaggage(meta: Foreign, out: Outgoing): void {
  const wanted = out.propagateIds === 'meta+baggage' && out.ids !== undefined;
  const current = propagation.getBaggage(out.context);
  if (!wanted && current === undefined) return;
  let baggage = current ?? propagation.createBaggage();
  if (wanted && out.ids !== undefined) {
    baggage = baggage.setEntry(ATTR_OPERATION_ID, { value: out.ids.operationId });
    if (out.ids.runId !== undefined) baggage = baggage.setEntry(ATTR_RUN_ID, { value: out.ids.runId });
  }
  const carrier: Record<string, unknown> = {};
  propagation.inject(propagation.setBaggage(ROOT_CONTEXT, baggage), carrier);
  const text = readString(carrier, META_BAGGAGE);
  if (text !== undefined && meta[META_BAGGAGE] === undefined) meta[META_BAGGAGE] = text;
}

export interface Incoming {
  /** Context in which the SERVER span is started. */
  readonly parent: Context;
  /** The span named by `_meta`. */
  readonly remote: SpanContext | undefined;
  /** The span that was active when the request came in and is not the parent: to be linked. */
  readonly ambient: SpanContext | undefined;
}

/**
 * The parent of an incoming request: the span that `_meta` names, otherwise the ambient one where it belongs to the same
 * exchange (`trustAmbient`: HTTP and in memory, not a pipe that lives as long as the process).
 */
export function incomingContext(meta: unknown, trustAmbient: boolean): Incoming {
  const active = context.active();
  const ambient = trace.getSpanContext(active);
  const remote = parseTraceparent(readString(meta, META_TRACEPARENT));
  const base = trustAmbient ? active : ROOT_CONTEXT;
  if (remote === undefined) return { parent: base, remote: undefined, ambient: undefined };
  let parent = propagation.extract(base, textCarrier(meta));
  const extracted = trace.getSpanContext(parent);
  if (extracted?.spanId !== remote.spanId || extracted.traceId !== remote.traceId) {
    parent = trace.setSpanContext(parent, remote);
  }
  const linked =
    trustAmbient &&
    ambient !== undefined &&
    isSpanContextValid(ambient) &&
    !(ambient.spanId === remote.spanId && ambient.traceId === remote.traceId);
  return { parent, remote, ambient: linked ? ambient : undefined };
}

function textCarrier(meta: unknown): Record<string, string> {
  const carrier: Record<string, string> = {};
  for (const key of [META_TRACEPARENT, META_TRACESTATE, META_BAGGAGE]) {
    const value = readString(meta, key);
    if (value !== undefined) carrier[key] = value;
  }
  return carrier;
}

export function activeSpan(): Span | undefined {
  return trace.getSpan(context.active());
}
