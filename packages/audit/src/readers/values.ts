/**
 * The scalar forms in which exporters write the same thing: ids as hex, base64 or bytes, 64-bit integers as strings
 * or numbers, enums as numbers or names. Every function answers `undefined` for what it cannot read, so that the
 * caller names the place.
 */
import type { AttributeValue, SpanKind, StatusCode } from '../model.js';
import { exactDouble, exactInteger, isObject, isRounded } from './exact-json.js';

/**
 * Thrown when a number that must be exact came out of `JSON.parse` rounded. The record is then parsed again with
 * its integers kept; one shared object, since a stack would cost and say nothing.
 */
export const ROUNDED: Error = new Error('an integer above 2^53 was rounded');

const HEX = /^[0-9a-f]*$/;
const HEX_ANY_CASE = /^[0-9a-fA-F]*$/;
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

function zeroIsNone(hex: string): string {
  return /^0*$/.test(hex) ? '' : hex;
}

/**
 * A trace id (16 bytes) or span id (8 bytes) as lower-case hex. '' for an absent, empty or all-zero id. Hex is
 * decided by length before base64, since 32 hex digits are valid base64 too.
 */
export function readId(value: unknown, bytes: 8 | 16): string | undefined {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return idOfText(value, bytes);
  if (value instanceof Uint8Array) return idOfBytes(value, bytes);
  if (Array.isArray(value)) {
    return value.every((item) => Number.isInteger(item) && item >= 0 && item < 256)
      ? idOfBytes(Uint8Array.from(value as number[]), bytes)
      : undefined;
  }
  if (typeof value === 'number') {
    if (isRounded(value)) throw ROUNDED;
    return Number.isInteger(value) && value >= 0
      ? zeroIsNone(value.toString(16).padStart(bytes * 2, '0'))
      : undefined;
  }
  return undefined;
}

function idOfBytes(value: Uint8Array, bytes: number): string | undefined {
  if (value.length === 0) return '';
  return value.length === bytes ? zeroIsNone(Buffer.from(value).toString('hex')) : undefined;
}

function idOfText(text: string, bytes: number): string | undefined {
  if (text.length === bytes * 2) {
    if (HEX.test(text)) return text.charCodeAt(0) === 0x30 ? zeroIsNone(text) : text;
    if (HEX_ANY_CASE.test(text)) return zeroIsNone(text.toLowerCase());
  }
  if (text === '') return '';
  const integer = exactInteger(text);
  if (integer !== undefined) {
    const hex = integer.toString(16);
    return integer >= 0n && hex.length <= bytes * 2 ? zeroIsNone(hex.padStart(bytes * 2, '0')) : undefined;
  }
  if (!BASE64.test(text)) return undefined;
  const decoded = Buffer.from(text, 'base64');
  if (decoded.length === bytes) return zeroIsNone(decoded.toString('hex'));
  if (decoded.length === bytes * 2) {
    const hexText = decoded.toString('latin1').toLowerCase();
    return HEX.test(hexText) ? zeroIsNone(hexText) : undefined;
  }
  return undefined;
}

/** An id whose leading zeros may have been dropped, or that is 64 bits where 128 are expected (Jaeger, Zipkin). */
export function readShortId(value: unknown, bytes: 8 | 16): string | undefined {
  if (typeof value === 'string' && value.length < bytes * 2 && value !== '' && HEX_ANY_CASE.test(value)) {
    return zeroIsNone(value.toLowerCase().padStart(bytes * 2, '0'));
  }
  return readId(value, bytes);
}

const MAX_UINT64 = 2n ** 64n - 1n;
const DECIMAL = /^\d{1,20}$/;

/** Nanoseconds since the epoch, 0n where absent: decimal string, number, `[seconds, nanoseconds]`, or a date text. */
export function readNanos(value: unknown): bigint | undefined {
  if (typeof value === 'string') {
    const nanos = DECIMAL.test(value)
      ? BigInt(value)
      : (exactInteger(value) ?? integerOf(exactDouble(value)) ?? nanosOfDate(value));
    return nanos !== undefined && nanos >= 0n && nanos <= MAX_UINT64 ? nanos : undefined;
  }
  if (value === undefined || value === null) return 0n;
  if (typeof value === 'bigint') return value >= 0n && value <= MAX_UINT64 ? value : undefined;
  if (typeof value === 'number') {
    if (isRounded(value)) throw ROUNDED;
    return Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : undefined;
  }
  if (Array.isArray(value) && value.length === 2) {
    const [seconds, nanos] = value as readonly unknown[];
    if (Number.isSafeInteger(seconds) && Number.isSafeInteger(nanos)) {
      const total = BigInt(seconds as number) * 1_000_000_000n + BigInt(nanos as number);
      return total >= 0n && total <= MAX_UINT64 ? total : undefined;
    }
  }
  return undefined;
}

function integerOf(value: number | undefined): bigint | undefined {
  return Number.isInteger(value) ? BigInt(value ?? 0) : undefined;
}

const DATE = /^(\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})$/i;

/** RFC 3339 with up to nine digits of a second. */
function nanosOfDate(text: string): bigint | undefined {
  const match = DATE.exec(text);
  if (match === null) return undefined;
  const [, seconds = '', fraction = '', zone = ''] = match;
  const millis = Date.parse(`${seconds.replace(' ', 'T')}${zone.toUpperCase()}`);
  if (Number.isNaN(millis)) return undefined;
  return BigInt(millis) * 1_000_000n + BigInt(fraction.padEnd(9, '0'));
}

/** Microseconds (Jaeger, Zipkin) as nanoseconds; undefined for what is no non-negative integer. */
export function readMicros(value: unknown): bigint | undefined {
  const micros = readNanos(value);
  return micros === undefined ? undefined : micros * 1_000n;
}

const KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'] as const;

/** A span kind by number, `SPAN_KIND_CLIENT`, `Client` or `client`; what is unknown is unspecified. */
export function readKind(value: unknown): SpanKind {
  if (typeof value === 'number')
    return value >= 0 && value <= 5 && Number.isInteger(value) ? (value as SpanKind) : 0;
  if (typeof value !== 'string') return 0;
  const name = value.toLowerCase().replace(/^span_kind_/, '');
  const found = KINDS.findIndex((kind) => kind === name);
  return found < 0 ? 0 : (found as SpanKind);
}

const STATUS_CODES = ['unset', 'ok', 'error'] as const;

/** A status code by number, `STATUS_CODE_ERROR`, `Error` or `ERROR`; what is unknown is unset. */
export function readStatusCode(value: unknown): StatusCode {
  if (typeof value === 'number') return value === 1 || value === 2 ? value : 0;
  if (typeof value !== 'string') return 0;
  const name = value.toLowerCase().replace(/^status_code_/, '');
  const found = STATUS_CODES.findIndex((code) => code === name);
  return found < 0 ? 0 : (found as StatusCode);
}

/** A count such as `droppedEventsCount`; 0 where absent or unreadable. */
export function readCount(value: unknown): number {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : 0;
}

const SMALL_INT = /^-?\d+$/;

/** A 64-bit integer as number where that is exact, else as bigint. */
export function readInt(value: unknown): number | bigint | undefined {
  if (typeof value === 'number') {
    if (isRounded(value)) throw ROUNDED;
    return Number.isSafeInteger(value) ? value : undefined;
  }
  if (typeof value === 'bigint') return narrow(value);
  if (typeof value !== 'string') return undefined;
  // Up to 15 digits are exact as they are.
  if (value.length <= 15 && SMALL_INT.test(value)) return Number(value);
  const exact = /^-?\d{1,20}$/.test(value) ? BigInt(value) : exactInteger(value);
  return exact === undefined ? undefined : narrow(exact);
}

export function narrow(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function readDouble(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return undefined;
  const exact = exactDouble(value);
  if (exact !== undefined) return exact;
  const trimmed = value.trim();
  if (trimmed === 'NaN') return NaN;
  const number = Number(trimmed);
  return trimmed === '' || Number.isNaN(number) ? undefined : number;
}

/** Nesting beyond which a value is cut to null: no emitter means it, and recursion must end. */
const MAX_DEPTH = 64;

/** A value of an attribute map without OTLP types. */
export function readPlainValue(value: unknown, depth = 0): AttributeValue | undefined {
  switch (typeof value) {
    case 'string': {
      const exact = exactInteger(value);
      return exact === undefined ? (exactDouble(value) ?? value) : narrow(exact);
    }
    case 'number':
      if (isRounded(value)) throw ROUNDED;
      return value;
    case 'boolean':
      return value;
    case 'bigint':
      return narrow(value);
    default:
  }
  if (value === null || value === undefined || depth > MAX_DEPTH) return null;
  if (value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map((item) => readPlainValue(item, depth + 1) ?? null);
  if (!isObject(value)) return undefined;
  const out = newRecord<AttributeValue>();
  for (const key of Object.keys(value)) out[key] = readPlainValue(value[key], depth + 1) ?? null;
  return out;
}

/**
 * The `AnyValue` of OTLP JSON, in camelCase or snake_case; a bare value (no `stringValue` and so on around it) is
 * taken as it is. Undefined when the value contradicts its type.
 */
export function readAnyValue(value: unknown, depth = 0): AttributeValue | undefined {
  if (!isObject(value)) return readPlainValue(value, depth);
  // Nearly all values are text, and most others integers: both without a list of keys.
  const text = value['stringValue'];
  if (typeof text === 'string') return text;
  const int = value['intValue'];
  if (int !== undefined) return readInt(int);
  if (depth > MAX_DEPTH) return null;
  for (const key of Object.keys(value)) {
    const inner = value[key];
    switch (key) {
      case 'stringValue':
      case 'string_value':
        return typeof inner === 'string' ? inner : undefined;
      case 'boolValue':
      case 'bool_value':
        return typeof inner === 'boolean' ? inner : undefined;
      case 'intValue':
      case 'int_value':
        return readInt(inner);
      case 'doubleValue':
      case 'double_value':
        return readDouble(inner);
      case 'arrayValue':
      case 'array_value': {
        const values = isObject(inner) ? (inner['values'] ?? []) : inner;
        if (!Array.isArray(values)) return undefined;
        return values.map((item) => readAnyValue(item, depth + 1) ?? null);
      }
      case 'kvlistValue':
      case 'kvlist_value': {
        const pairs = isObject(inner) ? (inner['values'] ?? []) : inner;
        if (!Array.isArray(pairs)) return undefined;
        const out = newRecord<AttributeValue>();
        for (const pair of pairs) {
          if (isObject(pair) && typeof pair['key'] === 'string') {
            out[pair['key']] = readAnyValue(pair['value'], depth + 1) ?? null;
          }
        }
        return out;
      }
      case 'bytesValue':
      case 'bytes_value':
        if (inner instanceof Uint8Array) return inner;
        return typeof inner === 'string' ? Buffer.from(inner, 'base64') : undefined;
      default:
    }
  }
  return Object.keys(value).length === 0 ? null : readPlainValue(value, depth);
}

type RecordConstructor = new () => object;
const PlainRecord = function PlainRecord() {} as unknown as RecordConstructor & { prototype: object };
PlainRecord.prototype = Object.freeze(Object.create(null) as object);

/**
 * An empty map that inherits nothing, so that no key of an export ('__proto__', 'constructor') means anything. A
 * constructor with an empty prototype keeps V8's fast properties, which `Object.create(null)` gives up.
 */
export function newRecord<T>(): Record<string, T> {
  return new PlainRecord() as Record<string, T>;
}
