/**
 * OTLP as JavaScript objects, whichever way they came: JSON in all its spellings, or protobuf decoded to the same
 * shape. Rules of the encoding: opentelemetry-proto, docs/specification.md "JSON Protobuf Encoding".
 */
import type { Resource, Scope, Span, SpanEvent, SpanLink } from '../model.js';
import { clip, NO_ATTRIBUTES, readAttributes } from './attributes.js';
import { isObject, type JsonObject } from './exact-json.js';
import type { Reading } from './reading.js';
import { readAnyValue, readCount, readId, readKind, readNanos, readStatusCode } from './values.js';

const NOTHING: readonly never[] = Object.freeze([]);
const NO_RESOURCE: Resource = { attributes: NO_ATTRIBUTES, serviceName: '' };
const NO_SCOPE: Scope = { name: '', version: '' };
const UNSET: Span['status'] = Object.freeze({ code: 0, message: '' });
const EXPORT_AGAIN = 'export this trace again; the rest of the record was read';

/** The text itself; '' for anything else. */
export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** A text of the export; anything else that stands there is named and read as ''. */
function named(value: unknown, what: string, reading: Reading): string {
  if (typeof value === 'string') return value;
  if (value !== undefined && value !== null) reading.damage(`a ${what} that is no text`, EXPORT_AGAIN);
  return '';
}

/** Whether something stands there that is no object, which is named. */
function isNoObject(value: unknown, what: string, reading: Reading): boolean {
  if (isObject(value)) return false;
  if (value !== undefined && value !== null) reading.damage(`a ${what} that is no object`, EXPORT_AGAIN);
  return true;
}

/** The list under either spelling; undefined when there is something else than a list. */
function list(value: unknown): readonly unknown[] | undefined {
  if (value === undefined || value === null) return NOTHING;
  return Array.isArray(value) ? value : undefined;
}

export function readResource(value: unknown, reading: Reading): Resource {
  if (!isObject(value)) {
    isNoObject(value, 'resource', reading);
    return NO_RESOURCE;
  }
  const attributes = value['attributes'];
  if (attributes === undefined || (Array.isArray(attributes) && attributes.length === 0)) return NO_RESOURCE;
  return reading.resource(keyOf(attributes), () => {
    const read = readAttributes(attributes, reading);
    return { attributes: read, serviceName: text(read['service.name']) };
  });
}

function keyOf(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'bigint' ? inner.toString() : inner,
  );
}

export function makeScope(name: unknown, version: unknown, reading: Reading): Scope {
  const scopeName = text(name);
  const scopeVersion = text(version);
  if (scopeName === '' && scopeVersion === '') return NO_SCOPE;
  return reading.scope(`${scopeName}\n${scopeVersion}`, () => ({ name: scopeName, version: scopeVersion }));
}

function readScope(value: unknown, reading: Reading): Scope {
  if (!isObject(value)) {
    isNoObject(value, 'scope', reading);
    return NO_SCOPE;
  }
  return makeScope(
    named(value['name'], 'scope name', reading),
    named(value['version'], 'scope version', reading),
    reading,
  );
}

/** `resourceSpans` and its older and foreign names; answers false when the list is none. */
export function readResourceSpans(value: unknown, reading: Reading): boolean {
  return eachScope(value, reading, 'spans', (raw, resource, scope) => {
    readSpan(raw, resource, scope, reading, true);
  });
}

/** `resourceLogs`: stage logs, and stage journals line by line. */
export function readResourceLogs(value: unknown, reading: Reading): boolean {
  return eachScope(value, reading, 'logs', (raw, resource, scope) => {
    readLog(raw, resource, scope, reading);
  });
}

type Visit = (raw: unknown, resource: Resource, scope: Scope) => void;

function eachScope(value: unknown, reading: Reading, signal: 'spans' | 'logs', visit: Visit): boolean {
  const entries = list(value);
  if (entries === undefined) return false;
  for (const entry of entries) {
    if (!isObject(entry)) {
      reading.damage(`an entry of the resource ${signal} that is no object`, EXPORT_AGAIN);
      continue;
    }
    const resource = readResource(entry['resource'], reading);
    const scopes = scopesOf(entry, signal);
    if (scopes === undefined) misspelled(entry, `scope ${signal}`, reading);
    const groups = list(scopes);
    if (groups === undefined) {
      reading.damage(`scope ${signal} that are no list`, EXPORT_AGAIN);
      continue;
    }
    for (const group of groups) eachRecord(group, resource, reading, signal, visit);
  }
  return true;
}

/** A list that is missing while another list is there that nobody knows: a damaged key, or a format of its own. */
function misspelled(group: JsonObject, what: string, reading: Reading): void {
  const other = Object.keys(group).find((key) => Array.isArray(group[key]));
  if (other === undefined) return;
  reading.damage(`no ${what} here, but a list '${clip(other)}' that OTLP does not know`, EXPORT_AGAIN);
}

function scopesOf(entry: JsonObject, signal: 'spans' | 'logs'): unknown {
  if (signal === 'spans') {
    return (
      entry['scopeSpans'] ??
      entry['scope_spans'] ??
      entry['instrumentationLibrarySpans'] ??
      entry['instrumentation_library_spans']
    );
  }
  return (
    entry['scopeLogs'] ??
    entry['scope_logs'] ??
    entry['instrumentationLibraryLogs'] ??
    entry['instrumentation_library_logs']
  );
}

function eachRecord(
  group: unknown,
  resource: Resource,
  reading: Reading,
  signal: 'spans' | 'logs',
  visit: Visit,
): void {
  if (!isObject(group)) {
    reading.damage(`an entry of the scope ${signal} that is no object`, EXPORT_AGAIN);
    return;
  }
  const scope = readScope(
    group['scope'] ?? group['instrumentationLibrary'] ?? group['instrumentation_library'],
    reading,
  );
  const raw =
    signal === 'spans' ? group['spans'] : (group['logRecords'] ?? group['log_records'] ?? group['logs']);
  if (raw === undefined) misspelled(group, signal, reading);
  const records = list(raw);
  if (records === undefined) {
    reading.damage(`${signal} that are no list`, EXPORT_AGAIN);
    return;
  }
  reading.group(resource, scope);
  for (const record of records) visit(record, resource, scope);
}

/**
 * One OTLP span. Fields that cannot be read are named as damage and left empty; the span itself is delivered.
 * @param enveloped whether it came in an OTLP message, where ids are mandatory
 */
export function readSpan(
  raw: unknown,
  resource: Resource,
  scope: Scope,
  reading: Reading,
  enveloped: boolean,
): void {
  if (!isObject(raw)) {
    reading.damage('a span that is no object', EXPORT_AGAIN);
    return;
  }
  if (enveloped && reading.takesAlike(raw)) return;
  const attributes = raw['attributes'];
  if (!reading.wants(raw['name'], attributes, scope, resource)) return;
  const traceId = id(raw['traceId'] ?? raw['trace_id'], 16, 'trace id', reading);
  const spanId = id(raw['spanId'] ?? raw['span_id'], 8, 'span id', reading);
  if (enveloped && (traceId === '' || spanId === '')) {
    reading.damage('a span without trace id or span id', 'export it again: OTLP requires both ids');
  }
  const events = raw['events'];
  const links = raw['links'];
  const flags = raw['flags'];
  reading.span({
    traceId,
    spanId,
    parentSpanId: id(raw['parentSpanId'] ?? raw['parent_span_id'], 8, 'parent span id', reading),
    traceState: named(raw['traceState'] ?? raw['trace_state'], 'trace state', reading),
    name: named(raw['name'], 'span name', reading),
    kind: kindOf(raw['kind'], reading),
    startTimeUnixNano: nanos(raw['startTimeUnixNano'] ?? raw['start_time_unix_nano'], 'start time', reading),
    endTimeUnixNano: nanos(raw['endTimeUnixNano'] ?? raw['end_time_unix_nano'], 'end time', reading),
    attributes: readAttributes(attributes, reading),
    events: readEvents(events, reading),
    links: readLinks(links, reading),
    status: readStatus(raw['status'], reading),
    droppedAttributesCount: readCount(raw['droppedAttributesCount'] ?? raw['dropped_attributes_count']),
    droppedEventsCount: readCount(raw['droppedEventsCount'] ?? raw['dropped_events_count']),
    droppedLinksCount: readCount(raw['droppedLinksCount'] ?? raw['dropped_links_count']),
    flags: typeof flags === 'number' && Number.isInteger(flags) ? flags : undefined,
    resource,
    scope,
    at: reading.at(traceId, spanId),
    lossy: NOTHING,
  });
}

export function id(value: unknown, bytes: 8 | 16, what: string, reading: Reading): string {
  const read = readId(value, bytes);
  if (read !== undefined) return read;
  reading.damage(
    `a ${what} that is neither ${bytes * 2} hex digits nor base64 of ${bytes} bytes`,
    'export this trace again; the span was read without that id',
  );
  return '';
}

export function nanos(value: unknown, what: string, reading: Reading): bigint {
  const read = readNanos(value);
  if (read !== undefined) return read;
  reading.damage(
    `a ${what} that is no unsigned 64-bit number of nanoseconds`,
    'export this trace again; the record was read without that time',
  );
  return 0n;
}

/** A kind of a later protocol has no name yet: only what can be no kind at all is named. */
function kindOf(value: unknown, reading: Reading): Span['kind'] {
  const read = readKind(value);
  if (read === 0 && !isEnum(value))
    reading.damage('a span kind that is neither number nor name', EXPORT_AGAIN);
  return read;
}

function isEnum(value: unknown): boolean {
  return value === undefined || value === null || typeof value === 'number' || typeof value === 'string';
}

function readStatus(value: unknown, reading: Reading): Span['status'] {
  if (value === undefined || value === null) return UNSET;
  const inside = isObject(value);
  const code = inside ? value['code'] : value;
  const status = statusOf(code, inside ? named(value['message'], 'status message', reading) : '');
  const isName = typeof code === 'string' && /^(?:status_code_)?(?:unset|ok|error)$/i.test(code);
  // In place of the object some exports have the name of the code.
  if (inside ? !isEnum(code) : !isName && typeof code !== 'number') {
    reading.damage('a status that holds no status code', EXPORT_AGAIN);
  }
  return status;
}

function statusOf(code: unknown, message: string): Span['status'] {
  const read = readStatusCode(code);
  return read === 0 && message === '' ? UNSET : { code: read, message };
}

function readEvents(value: unknown, reading: Reading): readonly SpanEvent[] {
  const entries = list(value);
  if (entries === undefined) reading.damage('events that are no list', EXPORT_AGAIN);
  if (entries === undefined || entries.length === 0) return NOTHING;
  const out: SpanEvent[] = [];
  for (const entry of entries) {
    if (!isObject(entry)) {
      reading.damage('an event that is no object', EXPORT_AGAIN);
      continue;
    }
    out.push({
      name: named(entry['name'], 'event name', reading),
      timeUnixNano: nanos(entry['timeUnixNano'] ?? entry['time_unix_nano'], 'event time', reading),
      attributes: readAttributes(entry['attributes'], reading),
    });
  }
  return out;
}

function readLinks(value: unknown, reading: Reading): readonly SpanLink[] {
  const entries = list(value);
  if (entries === undefined) reading.damage('links that are no list', EXPORT_AGAIN);
  if (entries === undefined || entries.length === 0) return NOTHING;
  const out: SpanLink[] = [];
  for (const entry of entries) {
    if (!isObject(entry)) {
      reading.damage('a link that is no object', EXPORT_AGAIN);
      continue;
    }
    out.push({
      traceId: id(entry['traceId'] ?? entry['trace_id'], 16, 'trace id of a link', reading),
      spanId: id(entry['spanId'] ?? entry['span_id'], 8, 'span id of a link', reading),
      attributes: readAttributes(entry['attributes'], reading),
    });
  }
  return out;
}

/** One OTLP log record; damage as with spans. */
export function readLog(raw: unknown, resource: Resource, scope: Scope, reading: Reading): void {
  if (!isObject(raw)) {
    reading.damage('a log record that is no object', EXPORT_AGAIN);
    return;
  }
  const traceId = id(raw['traceId'] ?? raw['trace_id'], 16, 'trace id', reading);
  const spanId = id(raw['spanId'] ?? raw['span_id'], 8, 'span id', reading);
  const attributes = readAttributes(raw['attributes'], reading);
  const body = raw['body'];
  reading.log({
    // Before the field existed the name of an event travelled as the attribute `event.name`.
    eventName: text(raw['eventName'] ?? raw['event_name'] ?? attributes['event.name']),
    timeUnixNano: nanos(raw['timeUnixNano'] ?? raw['time_unix_nano'], 'log time', reading),
    observedTimeUnixNano: nanos(
      raw['observedTimeUnixNano'] ?? raw['observed_time_unix_nano'],
      'observed time',
      reading,
    ),
    traceId,
    spanId,
    attributes,
    body: body === undefined ? null : (readAnyValue(body) ?? null),
    resource,
    scope,
    at: reading.at(traceId, spanId),
  });
}

/** For spans that come without an envelope. */
export const BARE: { readonly resource: Resource; readonly scope: Scope } = {
  resource: NO_RESOURCE,
  scope: NO_SCOPE,
};
