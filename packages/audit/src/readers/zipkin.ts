/**
 * Zipkin v2 JSON, best effort: spans are the elements of one array (or array of arrays). Lost: nanoseconds, links,
 * attribute types, dropped counts, flags; names may come in lower case.
 */
import type { AttributeValue, Resource, SpanEvent, StatusCode } from '../model.js';
import { putText, readAttributes } from './attributes.js';
import { isObject, type JsonObject } from './exact-json.js';
import { BARE, makeScope, text } from './otlp.js';
import type { Reading } from './reading.js';
import { newRecord, readKind, readMicros, readShortId, readStatusCode } from './values.js';

const LOSSY: readonly string[] = Object.freeze([
  'nanoseconds',
  'attribute_types',
  'links',
  'dropped_counts',
  'flags',
]);
const EXPORT_AGAIN = 'export this trace from Zipkin again; the rest of it was read';

/** `traceId` and `id`, and something that only Zipkin writes. */
export function isZipkinSpan(root: JsonObject): boolean {
  return (
    typeof root['traceId'] === 'string' &&
    typeof root['id'] === 'string' &&
    root['spanId'] === undefined &&
    (isObject(root['localEndpoint']) ||
      root['timestamp'] !== undefined ||
      root['tags'] !== undefined ||
      root['annotations'] !== undefined)
  );
}

export function readZipkinSpan(raw: JsonObject, reading: Reading): void {
  const endpoint = raw['localEndpoint'];
  const serviceName =
    isObject(endpoint) && typeof endpoint['serviceName'] === 'string' ? endpoint['serviceName'] : '';
  const resource: Resource =
    serviceName === ''
      ? BARE.resource
      : reading.resource(serviceName, () => {
          const attributes = newRecord<AttributeValue>();
          attributes['service.name'] = serviceName;
          return { attributes, serviceName };
        });
  const tags = raw['tags'];
  if (!reading.wants(raw['name'], tags, BARE.scope, resource)) return;
  const attributes = newRecord<AttributeValue>();
  let code: StatusCode = 0;
  let message = '';
  let scopeName: unknown = '';
  let scopeVersion: unknown = '';
  for (const key of isObject(tags) ? Object.keys(tags) : []) {
    const value = isObject(tags) ? tags[key] : undefined;
    if (key === 'otel.status_code') code = readStatusCode(value);
    else if (key === 'otel.status_description') message = text(value);
    else if (key === 'otel.scope.name' || key === 'otel.library.name') scopeName = value;
    else if (key === 'otel.scope.version' || key === 'otel.library.version') scopeVersion = value;
    else if (key === 'error') {
      code = 2;
      if (value !== 'true' && value !== '' && message === '') message = text(value);
    } else if (typeof value === 'string') {
      putText(attributes, key, value);
    } else reading.damage('a tag that is no text', EXPORT_AGAIN);
  }
  const traceId = shortId(raw['traceId'], 16, reading);
  const spanId = shortId(raw['id'], 8, reading);
  const start = micros(raw['timestamp'], 'timestamp', reading);
  reading.span({
    traceId,
    spanId,
    parentSpanId: shortId(raw['parentId'], 8, reading),
    traceState: '',
    name: typeof raw['name'] === 'string' ? raw['name'] : '',
    kind: readKind(raw['kind']),
    startTimeUnixNano: start,
    endTimeUnixNano: start === 0n ? 0n : start + micros(raw['duration'], 'duration', reading),
    attributes,
    events: readAnnotations(raw['annotations'], reading),
    links: [],
    status: { code, message },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
    flags: undefined,
    resource,
    scope: makeScope(scopeName, scopeVersion, reading),
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

function micros(value: unknown, what: string, reading: Reading): bigint {
  const read = readMicros(value);
  if (read !== undefined) return read;
  reading.damage(`a ${what} that is no number of microseconds`, EXPORT_AGAIN);
  return 0n;
}

/**
 * An event became `name`, or `"name": {attributes}` or `name: {attributes}`, depending on the exporter. Undefined for a
 * bare name. Read by position: a pattern with several runs of spaces would take quadratic time on a hostile text.
 */
function withAttributes(
  text: string,
): { readonly name: string; readonly attributes: JsonObject } | undefined {
  const brace = text.indexOf('{');
  if (brace === -1 || !text.endsWith('}')) return undefined;
  const head = text.slice(0, brace).trimEnd();
  if (!head.endsWith(':')) return undefined;
  const quoted = head.slice(0, -1).trimEnd();
  const name = quoted.slice(quoted.startsWith('"') ? 1 : 0, quoted.endsWith('"') ? -1 : undefined);
  if (name === '' || name.includes('"')) return undefined;
  const attributes = parseMap(text.slice(brace));
  return attributes === undefined ? undefined : { name, attributes };
}

function readAnnotations(raw: unknown, reading: Reading): readonly SpanEvent[] {
  const events: SpanEvent[] = [];
  for (const annotation of Array.isArray(raw) ? (raw as readonly unknown[]) : []) {
    if (!isObject(annotation) || typeof annotation['value'] !== 'string') {
      reading.damage('an annotation without a value', EXPORT_AGAIN);
      continue;
    }
    const timeUnixNano = micros(annotation['timestamp'], 'timestamp', reading);
    const parts = withAttributes(annotation['value']);
    events.push({
      name: parts?.name ?? annotation['value'],
      timeUnixNano,
      attributes: readAttributes(parts?.attributes, reading),
    });
  }
  return events;
}

function parseMap(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
