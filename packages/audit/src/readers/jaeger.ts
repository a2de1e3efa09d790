/**
 * What Jaeger's UI downloads and its API v1 answers, and the older dumps of its protobuf batches as JSON.
 * Mapping: jaegertracing pkg/translator/jaeger. Lost in this form: nanoseconds, link attributes, dropped counts, flags
 * and nested attribute types.
 */
import type { Attributes, AttributeValue, Resource, Scope, Span, SpanEvent, SpanLink } from '../model.js';
import { putText } from './attributes.js';
import { exactDouble, exactInteger, isObject, type JsonObject } from './exact-json.js';
import { BARE, makeScope } from './otlp.js';
import type { Reading } from './reading.js';
import {
  narrow,
  newRecord,
  readKind,
  readMicros,
  readNanos,
  readPlainValue,
  readShortId,
  readStatusCode,
} from './values.js';

const LOSSY: readonly string[] = Object.freeze(['nanoseconds', 'attribute_types', 'dropped_counts', 'flags']);
const EXPORT_AGAIN = 'export this trace from Jaeger again; the rest of it was read';
/** Where Jaeger itself keeps its warnings once a trace is OTLP (internal/jptrace). */
export const ATTR_JAEGER_WARNINGS = '@jaeger@warnings';

/** `{data: [trace, …], errors}`: answer of `/api/traces` and the UI's download. */
export function readJaegerAnswer(root: JsonObject, reading: Reading): void {
  const data = root['data'];
  for (const trace of Array.isArray(data) ? (data as readonly unknown[]) : []) {
    if (isObject(trace)) readJaegerTrace(trace, reading);
    else reading.damage('a Jaeger trace that is no object', EXPORT_AGAIN);
  }
  const errors = root['errors'];
  if (!Array.isArray(errors)) return;
  for (const error of errors as readonly unknown[]) {
    const message = isObject(error) && typeof error['msg'] === 'string' ? error['msg'] : 'no message';
    reading.gap('partial_answer', `Jaeger answered with an error: ${message}`);
  }
}

/** One trace of API v1. */
export function readJaegerTrace(trace: JsonObject, reading: Reading): void {
  const processes = new Map<string, Resource>();
  const raw = trace['processes'];
  if (isObject(raw)) {
    for (const key of Object.keys(raw)) processes.set(key, readProcess(raw[key], reading));
  }
  const spans = trace['spans'];
  if (!Array.isArray(spans)) {
    reading.damage('a Jaeger trace without a list of spans', EXPORT_AGAIN);
    return;
  }
  for (const span of spans as readonly unknown[]) {
    if (!isObject(span)) {
      reading.damage('a span that is no object', EXPORT_AGAIN);
      continue;
    }
    const key = span['processID'];
    const resource =
      (typeof key === 'string' ? processes.get(key) : undefined) ?? readProcess(span['process'], reading);
    readJaegerSpan(span, resource, trace['traceID'], reading);
  }
}

/** `{process, spans}` with snake_case names, as the collector's fixtures and old agents dump it. */
export function readJaegerBatch(root: JsonObject, reading: Reading): void {
  const resource = readProcess(root['process'], reading);
  for (const span of Array.isArray(root['spans']) ? (root['spans'] as readonly unknown[]) : []) {
    if (isObject(span)) readJaegerSpan(span, resource, undefined, reading);
    else reading.damage('a span that is no object', EXPORT_AGAIN);
  }
}

function readProcess(raw: unknown, reading: Reading): Resource {
  if (!isObject(raw)) return BARE.resource;
  const name = raw['serviceName'] ?? raw['service_name'];
  const serviceName = typeof name === 'string' ? name : '';
  return reading.resource(JSON.stringify([serviceName, raw['tags']]), () => {
    const attributes = newRecord<AttributeValue>();
    if (serviceName !== '') attributes['service.name'] = serviceName;
    eachTag(raw['tags'], reading, (key, value) => {
      putText(attributes, key, value);
    });
    return { attributes, serviceName };
  });
}

type OnTag = (key: string, value: AttributeValue) => void;

function eachTag(raw: unknown, reading: Reading, visit: OnTag): void {
  if (raw === undefined || raw === null) return;
  if (!Array.isArray(raw)) {
    reading.damage('tags that are no list', EXPORT_AGAIN);
    return;
  }
  for (const tag of raw as readonly unknown[]) {
    if (!isObject(tag) || typeof tag['key'] !== 'string') {
      reading.damage('a tag without a key', EXPORT_AGAIN);
      continue;
    }
    visit(tag['key'], tagValue(tag));
  }
}

const V_FIELDS = [
  'v_str',
  'v_bool',
  'v_int64',
  'v_float64',
  'v_binary',
  'vStr',
  'vBool',
  'vInt64',
  'vFloat64',
  'vBinary',
];

function tagValue(tag: JsonObject): AttributeValue {
  const { value } = tag;
  if (value === undefined) {
    const field = V_FIELDS.find((name) => tag[name] !== undefined);
    return field === undefined ? '' : (readPlainValue(tag[field]) ?? null);
  }
  const type = tag['type'];
  if (type === 'float64' && typeof value === 'number') return value;
  if (typeof value === 'string') {
    const double = exactDouble(value);
    if (double !== undefined) {
      const exact = type === 'float64' ? undefined : exactInteger(value);
      return exact === undefined ? double : narrow(exact);
    }
    // The UI's export writes large int64 tags as strings.
    if (type === 'int64' && /^-?\d{1,20}$/.test(value)) return narrow(BigInt(value));
    if (type === 'bool') return value === 'true';
    if (type === 'binary') return Buffer.from(value, 'base64');
    return value;
  }
  return readPlainValue(value) ?? null;
}

interface Tags {
  readonly attributes: Attributes;
  readonly kind: Span['kind'];
  readonly status: Span['status'];
  readonly scope: Scope;
  readonly traceState: string;
}

function readTags(span: JsonObject, reading: Reading): Tags {
  const attributes = newRecord<AttributeValue>();
  let kind: Span['kind'] = 0;
  let code: Span['status']['code'] = 0;
  let failed = false;
  let message = '';
  let scopeName: AttributeValue = '';
  let scopeVersion: AttributeValue = '';
  let traceState = '';
  eachTag(span['tags'], reading, (key, value) => {
    switch (key) {
      case 'span.kind':
        kind = readKind(value);
        return;
      case 'otel.status_code':
        code = readStatusCode(value);
        return;
      case 'otel.status_description':
        message = typeof value === 'string' ? value : '';
        return;
      case 'error':
        // `error=true` is how Jaeger writes a status; an error of another type is the application's own tag.
        if (value === true || value === 'true') failed = true;
        else if (value !== false) putText(attributes, key, value);
        return;
      case 'otel.scope.name':
      case 'otel.library.name':
        scopeName = value;
        return;
      case 'otel.scope.version':
      case 'otel.library.version':
        scopeVersion = value;
        return;
      case 'w3c.tracestate':
        traceState = typeof value === 'string' ? value : '';
        return;
      default:
        putText(attributes, key, value);
    }
  });
  const { warnings } = span;
  if (Array.isArray(warnings) && warnings.length > 0) {
    attributes[ATTR_JAEGER_WARNINGS] = readPlainValue(warnings) ?? null;
  }
  return {
    attributes,
    kind,
    status: { code: code === 0 && failed ? 2 : code, message },
    scope: makeScope(scopeName, scopeVersion, reading),
    traceState,
  };
}

function readJaegerSpan(span: JsonObject, resource: Resource, traceOfSpan: unknown, reading: Reading): void {
  const name = span['operationName'] ?? span['operation_name'];
  if (!reading.wants(name, span['tags'], BARE.scope, resource)) return;
  const tags = readTags(span, reading);
  const traceId = shortId(span['traceID'] ?? span['traceId'] ?? span['trace_id'] ?? traceOfSpan, 16, reading);
  const spanId = shortId(span['spanID'] ?? span['spanId'] ?? span['span_id'], 8, reading);
  const { parentSpanId, links } = readReferences(span, traceId, reading);
  const batch = span['start_time'] !== undefined;
  const start = time(batch ? span['start_time'] : span['startTime'], batch, 'start time', reading);
  const duration = time(span['duration'], batch, 'duration', reading);
  reading.span({
    traceId,
    spanId,
    parentSpanId,
    traceState: tags.traceState,
    name: typeof name === 'string' ? name : '',
    kind: tags.kind,
    startTimeUnixNano: start,
    endTimeUnixNano: start === 0n ? 0n : start + duration,
    attributes: tags.attributes,
    events: readLogs(span['logs'], batch, reading),
    links,
    status: tags.status,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
    flags: undefined,
    resource,
    scope: tags.scope,
    at: reading.at(traceId, spanId),
    lossy: LOSSY,
  });
}

function shortId(value: unknown, bytes: 8 | 16, reading: Reading): string {
  const read = readShortId(value, bytes);
  if (read !== undefined) return read;
  reading.damage(`an id that is no hex text of up to ${bytes * 2} digits`, EXPORT_AGAIN);
  return '';
}

/** Microseconds in API v1; a date text and nanoseconds in a batch. */
function time(value: unknown, batch: boolean, what: string, reading: Reading): bigint {
  const read = batch ? readNanos(value) : readMicros(value);
  if (read !== undefined) return read;
  reading.damage(`a ${what} that is no number of ${batch ? 'nano' : 'micro'}seconds`, EXPORT_AGAIN);
  return 0n;
}

function readReferences(
  span: JsonObject,
  traceId: string,
  reading: Reading,
): { parentSpanId: string; links: readonly SpanLink[] } {
  const direct = span['parentSpanID'] ?? span['parentSpanId'] ?? span['parent_span_id'];
  let parentSpanId = direct === undefined ? '' : shortId(direct, 8, reading);
  const links: SpanLink[] = [];
  const references = span['references'];
  for (const reference of Array.isArray(references) ? (references as readonly unknown[]) : []) {
    if (!isObject(reference)) {
      reading.damage('a reference that is no object', EXPORT_AGAIN);
      continue;
    }
    const linkTrace = shortId(reference['traceID'] ?? reference['trace_id'], 16, reading);
    const linkSpan = shortId(reference['spanID'] ?? reference['span_id'], 8, reading);
    const type = reference['refType'] ?? reference['ref_type'];
    // The first CHILD_OF inside the trace is the parent, as Jaeger itself reads it; the others are links.
    if (type !== 'FOLLOWS_FROM' && type !== 1 && parentSpanId === '' && linkTrace === traceId) {
      parentSpanId = linkSpan;
    } else {
      links.push({ traceId: linkTrace, spanId: linkSpan, attributes: newRecord<AttributeValue>() });
    }
  }
  return { parentSpanId, links };
}

function readLogs(raw: unknown, batch: boolean, reading: Reading): readonly SpanEvent[] {
  const events: SpanEvent[] = [];
  for (const log of Array.isArray(raw) ? (raw as readonly unknown[]) : []) {
    if (!isObject(log)) {
      reading.damage('a log that is no object', EXPORT_AGAIN);
      continue;
    }
    const attributes = newRecord<AttributeValue>();
    let event = '';
    let message = '';
    eachTag(log['fields'], reading, (key, value) => {
      if (key === 'event' && typeof value === 'string') event = value;
      else if (key === 'message' && typeof value === 'string') message = value;
      else putText(attributes, key, value);
    });
    // Very old translations put the name of the event into `message`.
    if (event !== '' && message !== '') attributes['message'] = message;
    events.push({
      name: event === '' ? message : event,
      timeUnixNano: time(log['timestamp'], batch, 'time of a log', reading),
      attributes,
    });
  }
  return events;
}
