/**
 * Spans and log records as the JavaScript SDK holds them in memory, printed as JSON: what file exporters of programs
 * write that do not use an OTLP serializer (Gemini CLI's telemetry log is one). Times are `[seconds, nanoseconds]`, kinds
 * count from 0, resources keep pairs.
 */
import { isObject, type Json, type JsonObject } from './exact-json.js';
import { makeScope, readLog, readResource, readSpan } from './otlp.js';
import type { Reading } from './reading.js';

/** A `ReadableSpan`: its context stands in a member of its own. */
export function isSdkSpan(root: JsonObject): boolean {
  return isObject(contextOf(root)) && Array.isArray(root['startTime']);
}

/** A `ReadableLogRecord`. */
export function isSdkLog(root: JsonObject): boolean {
  return Array.isArray(root['hrTime']) && isObject(root['attributes']) && root['startTime'] === undefined;
}

export function readSdkSpan(root: JsonObject, reading: Reading): void {
  const context = contextOf(root);
  const parent = root['parentSpanContext'];
  const { kind } = root;
  const span: JsonObject = {
    ...root,
    traceId: member(context, 'traceId'),
    spanId: member(context, 'spanId'),
    flags: member(context, 'traceFlags'),
    parentSpanId: member(parent, 'spanId') ?? root['parentSpanId'],
    // INTERNAL is 0 in the API and 1 in OTLP.
    kind: typeof kind === 'number' ? kind + 1 : kind,
    startTimeUnixNano: root['startTime'],
    endTimeUnixNano: root['endTime'],
    events: mapped(root['events'], (event) => ({ ...event, timeUnixNano: event['time'] })),
    links: mapped(root['links'], (link) => ({
      ...link,
      traceId: member(link['context'], 'traceId'),
      spanId: member(link['context'], 'spanId'),
    })),
  };
  readSpan(span, resourceOf(root, reading), scopeOf(root, reading), reading, false);
}

export function readSdkLog(root: JsonObject, reading: Reading): void {
  const context = root['spanContext'];
  const record: JsonObject = {
    ...root,
    timeUnixNano: root['hrTime'],
    observedTimeUnixNano: root['hrTimeObserved'],
    traceId: member(context, 'traceId'),
    spanId: member(context, 'spanId'),
    body: root['body'] ?? root['_body'],
  };
  readLog(record, resourceOf(root, reading), scopeOf(root, reading), reading);
}

function contextOf(root: JsonObject): Json | undefined {
  return root['_spanContext'] ?? root['spanContext'];
}

function member(value: Json | undefined, key: string): Json | undefined {
  return isObject(value) ? value[key] : undefined;
}

function mapped(value: Json | undefined, change: (item: JsonObject) => JsonObject): Json | undefined {
  if (!Array.isArray(value)) return value;
  return value.map((item: Json) => (isObject(item) ? change(item) : item));
}

function resourceOf(root: JsonObject, reading: Reading): ReturnType<typeof readResource> {
  const { resource } = root;
  const attributes =
    member(resource, 'attributes') ?? member(resource, '_rawAttributes') ?? member(resource, '_attributes');
  return readResource(attributes === undefined ? {} : { attributes }, reading);
}

function scopeOf(root: JsonObject, reading: Reading): ReturnType<typeof makeScope> {
  const scope = root['instrumentationScope'] ?? root['instrumentationLibrary'];
  return makeScope(member(scope, 'name'), member(scope, 'version'), reading);
}
