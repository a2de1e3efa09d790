/**
 * What every reader makes of its format and everything behind the readers works on. Times are nanoseconds since the
 * epoch as bigint; ids are lower-case hex.
 */
import type { EvidenceRef } from './rule.js';

export type AttributeValue =
  | string
  | number
  | bigint
  | boolean
  | Uint8Array
  | null
  | readonly AttributeValue[]
  | { readonly [key: string]: AttributeValue };

/** Keys as the emitter wrote them, but for aliases: those are replaced by the key of `@waybill/core`. */
export type Attributes = Readonly<Record<string, AttributeValue>>;

/** One object per distinct resource of an input, shared by its spans. */
export interface Resource {
  readonly attributes: Attributes;
  /** `service.name`, or '' where the export names none. */
  readonly serviceName: string;
}

export interface Scope {
  readonly name: string;
  readonly version: string;
}

export interface SpanEvent {
  readonly name: string;
  readonly timeUnixNano: bigint;
  readonly attributes: Attributes;
}

export interface SpanLink {
  readonly traceId: string;
  readonly spanId: string;
  readonly attributes: Attributes;
}

/** 0 unspecified, 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
export type SpanKind = 0 | 1 | 2 | 3 | 4 | 5;
/** 0 unset, 1 ok, 2 error. */
export type StatusCode = 0 | 1 | 2;

export interface Span {
  /** 32 hex digits, or '' where the export has none. */
  readonly traceId: string;
  /** 16 hex digits, or '' where the export has none. */
  readonly spanId: string;
  /** '' for a root. */
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  readonly kind: SpanKind;
  /** 0n where the export has none. */
  readonly startTimeUnixNano: bigint;
  readonly endTimeUnixNano: bigint;
  readonly attributes: Attributes;
  readonly events: readonly SpanEvent[];
  readonly links: readonly SpanLink[];
  readonly status: { readonly code: StatusCode; readonly message: string };
  readonly droppedAttributesCount: number;
  readonly droppedEventsCount: number;
  readonly droppedLinksCount: number;
  /** OTLP span flags, W3C trace flags in the low byte; undefined where the format has none. */
  readonly flags: number | undefined;
  readonly resource: Resource;
  readonly scope: Scope;
  readonly at: EvidenceRef;
  /** What the format could not carry: 'nanoseconds', 'attribute_types', 'dropped_counts', … */
  readonly lossy: readonly string[];
}

/** A stage that left as a log record, or as a line of a stage journal. */
export interface LogRecord {
  readonly eventName: string;
  readonly timeUnixNano: bigint;
  readonly observedTimeUnixNano: bigint;
  readonly traceId: string;
  readonly spanId: string;
  readonly attributes: Attributes;
  readonly body: AttributeValue;
  readonly resource: Resource;
  readonly scope: Scope;
  readonly at: EvidenceRef;
}

/** A place that could not be read; the rest of the input was. */
export interface Damage {
  readonly at: EvidenceRef;
  /** What is wrong there, in a few words: 'not JSON', 'record ends early', … */
  readonly reason: string;
  /** What the reader of the report can do about it. */
  readonly remedy: string;
}

/** What a backend or an emitter says is missing from this input. */
export interface InputGap {
  readonly kind: 'truncated_input' | 'partial_answer' | 'collector_loss' | 'unsampled';
  readonly at: EvidenceRef;
  readonly note: string;
}

/**
 * What can be known of a span before anything of it is converted. One object is reused for all spans of an input:
 * valid only during the call of `wants`.
 */
export interface SpanPeek {
  readonly name: string;
  readonly scopeName: string;
  readonly serviceName: string;
  /** Whether the test holds for the key of any attribute. Keys are as the emitter wrote them, aliases included. */
  hasKey(test: (key: string) => boolean): boolean;
}

/**
 * What becomes of an attribute where spans are compared: its value makes spans differ, is kept with each of them, is of
 * no interest, or has to be converted first.
 */
export type AttributeUse = 'same' | 'own' | 'unused' | 'converted';

/** What spans of one likeness share: everything but ids, times and the values of attributes that are their own. */
export interface Alike {
  /** Names of the own values, in the order of `AlikeSpan.values`; those of events follow those of the span. */
  readonly names: readonly string[];
  /** Where the sink keeps what it makes of the likeness. */
  plan: unknown;
}

/** What is a span's own. One object is reused for all spans of an input: valid only during the call of `take`. */
export interface AlikeSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** The same as numbers: four of the trace, two of the span, two of its parent. */
  readonly ids: Uint32Array;
  /** Whether it has a parent. */
  readonly hasParent: boolean;
  /** Pairs of seconds and nanoseconds: start, end, then each event. */
  readonly times: readonly number[];
  readonly values: readonly (string | number | boolean)[];
  readonly line: number | undefined;
  readonly offset: number | undefined;
}

export interface AlikeSink {
  useOf(attribute: string): AttributeUse;
  /** Takes the span, or answers false: then it is delivered in the ordinary way, and the sink may learn from it. */
  take(alike: Alike, span: AlikeSpan, source: string): boolean;
}

/** Takes what a reader finds, in the order of the input. Called synchronously; must not keep more than it needs. */
export interface Sink {
  /**
   * Asked once per span, before its ids, times, attributes and events are converted; a span that is not wanted is
   * counted and never built (and not checked further). Without it every span is delivered.
   */
  wants?(span: SpanPeek): boolean;
  /** Offered spans that are like others, before they are converted; readers need not offer any. */
  readonly alike?: AlikeSink;
  span(span: Span): void;
  log(record: LogRecord): void;
  damage(damage: Damage): void;
  gap(gap: InputGap): void;
}

/** One input after it was read, for the `inputs` of the report. */
export interface InputSummary {
  /** 's1', 's2', … in the order of the command line; `EvidenceRef.source` is this id. */
  readonly id: string;
  /** Path or URL as given. */
  readonly path: string;
  /** 'otlp-json', 'otlp-jsonl', 'otlp-proto', 'jaeger-json', …, or 'none' when nothing in it was understood. */
  readonly format: string;
  /** Where the bytes of an input that cannot be read twice were kept; see `spoolDirectory`. */
  readonly spooled?: string;
  /** Left out where the bytes were plain. */
  readonly compression?: 'gzip' | 'zstd';
  /** Bytes as stored, before decompression. */
  readonly bytes: number;
  /** Spans understood, wanted or not. */
  readonly spans: number;
  readonly logs: number;
  readonly damaged: readonly Damage[];
}
