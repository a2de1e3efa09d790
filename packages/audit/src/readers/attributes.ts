/** Attribute maps, in every form in which exporters write them; aliases become the keys of the vocabulary. */
import { ATTRIBUTE_ALIASES, ATTRIBUTES, type AttributeType } from '@waybill/core';
import type { Attributes, AttributeValue } from '../model.js';
import { isObject } from './exact-json.js';
import type { Reading } from './reading.js';
import { newRecord, readAnyValue, readInt, readPlainValue } from './values.js';

const EXPORT_AGAIN = 'export this trace again; the rest of the record was read';

/** The map without entries, shared. */
export const NO_ATTRIBUTES: Attributes = Object.freeze(newRecord<AttributeValue>());

/** Attributes as a list of key and value, as a list of pairs, or as a map; aliases replaced. */
export function readAttributes(value: unknown, reading: Reading): Attributes {
  if (value === undefined || value === null) return NO_ATTRIBUTES;
  const out = newRecord<AttributeValue>();
  if (Array.isArray(value)) {
    if (value.length === 0) return NO_ATTRIBUTES;
    for (const item of value as readonly unknown[]) {
      if (isObject(item) && typeof item['key'] === 'string') {
        put(out, item['key'], readAnyValue(item['value']), reading);
      } else if (Array.isArray(item) && item.length === 2 && typeof item[0] === 'string') {
        put(out, item[0], readPlainValue(item[1]), reading);
      } else {
        reading.damage('an attribute without a key', EXPORT_AGAIN);
      }
    }
    return out;
  }
  if (isObject(value)) {
    for (const key of Object.keys(value)) {
      const inner = value[key];
      // In a map of columns null stands for "no such attribute".
      if (inner !== null) put(out, key, readAnyValue(inner), reading);
    }
    return out;
  }
  reading.damage('attributes that are neither a list nor a map', EXPORT_AGAIN);
  return NO_ATTRIBUTES;
}

function put(
  out: Record<string, AttributeValue>,
  key: string,
  value: AttributeValue | undefined,
  reading: Reading,
): void {
  if (value !== undefined) putAttribute(out, key, value);
  else reading.damage(`attribute '${clip(key)}' holds a value that contradicts its type`, EXPORT_AGAIN);
}

/** Puts a value under the key of the vocabulary; the key itself goes before its aliases, whichever comes first. */
export function putAttribute(out: Record<string, AttributeValue>, key: string, value: AttributeValue): void {
  const known = ATTRIBUTE_ALIASES.get(key);
  if (known === undefined) out[key] = value;
  else if (!(known in out)) out[known] = value;
}

/** A name from an export, short enough for a message. */
export function clip(name: string): string {
  return name.length > 60 ? `${name.slice(0, 60)}…` : name;
}

const TYPES: ReadonlyMap<string, AttributeType> = new Map(ATTRIBUTES.map(({ key, type }) => [key, type]));

/**
 * For formats that keep attributes as text: as `putAttribute`, with the type that the vocabulary gives the key. Lists
 * come as JSON text (Jaeger, Zipkin by the Collector) or joined by commas (Zipkin by the JavaScript SDK).
 */
export function putText(out: Record<string, AttributeValue>, key: string, value: AttributeValue): void {
  const type = typeof value === 'string' ? TYPES.get(ATTRIBUTE_ALIASES.get(key) ?? key) : undefined;
  putAttribute(out, key, type === undefined ? value : (typed(value, type) ?? value));
}

function typed(value: AttributeValue, type: AttributeType): AttributeValue | undefined {
  switch (type) {
    case 'string':
      return value;
    case 'int':
      return readInt(value);
    case 'boolean':
      return value === 'true' ? true : value === 'false' ? false : undefined;
    case 'string[]':
      return typeof value === 'string' ? listOf(value) : undefined;
    default:
      return type satisfies never;
  }
}

function listOf(text: string): readonly string[] {
  try {
    const list: unknown = JSON.parse(text);
    if (Array.isArray(list)) return list.filter((item) => typeof item === 'string');
  } catch {
    // Not JSON: joined by commas.
  }
  return text === '' ? [] : text.split(',');
}
