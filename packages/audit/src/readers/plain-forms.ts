/** The plain forms of OTLP JSON, told without converting anything; every function refuses what is of another form. */
import { readWords } from '../evidence/hex.js';
import { isObject } from './exact-json.js';

/** Kind, status and sampling in one number; undefined where one of them is of another form. */
export function headOf(kind: number, status: unknown, flags: unknown): number | undefined {
  const code = isObject(status) ? (status['code'] ?? 0) : status === undefined ? 0 : undefined;
  if (isObject(status) && !isText(status['message'])) return undefined;
  if (code !== 0 && code !== 1 && code !== 2) return undefined;
  if (!Number.isInteger(kind) || kind < 0 || kind > 5) return undefined;
  if (flags !== undefined && typeof flags !== 'number') return undefined;
  const sampling = flags === undefined || flags === 0 ? 0 : (flags & 1) === 0 ? 1 : 2;
  return kind + code * 8 + sampling * 64;
}

/** The value of an attribute in its plain form. */
export function plainValue(value: unknown): string | number | boolean | undefined {
  if (!isObject(value)) return undefined;
  const { stringValue, intValue, boolValue } = value;
  if (typeof stringValue === 'string') return stringValue;
  if (typeof intValue === 'string') return /^-?\d{1,15}$/.test(intValue) ? Number(intValue) : undefined;
  if (typeof intValue === 'number') return Number.isSafeInteger(intValue) ? intValue : undefined;
  if (typeof boolValue === 'boolean') return boolValue;
  return undefined;
}

/** A text or nothing. */
export function isText(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}

/** A count or nothing. */
export function isCount(value: unknown): boolean {
  return value === undefined || (Number.isSafeInteger(value) && Number(value) >= 0);
}

export function isPlainLink(link: unknown): boolean {
  if (!isObject(link)) return false;
  const { traceId, spanId, attributes } = link;
  return (
    typeof traceId === 'string' &&
    typeof spanId === 'string' &&
    readHex(traceId, 4, LINK_IDS, 0) &&
    readHex(spanId, 2, LINK_IDS, 4) &&
    (attributes === undefined || (Array.isArray(attributes) && attributes.every(isPlainAttribute)))
  );
}

function isPlainAttribute(item: unknown): boolean {
  return isObject(item) && typeof item['key'] === 'string' && plainValue(item['value']) !== undefined;
}

const LINK_IDS = new Uint32Array(6);

/** An id that is not all zeros, as numbers. */
export function readHex(text: string, words: number, into: Uint32Array, at: number): boolean {
  if (!readWords(text, words, into, at)) return false;
  for (let word = 0; word < words; word++) if (into[at + word] !== 0) return true;
  return false;
}

/** Seconds and nanoseconds of a decimal text of 19 digits, which every time from 2001 to 2262 has. */
export function pushTime(times: number[], value: unknown): boolean {
  if (typeof value !== 'string' || value.length !== 19) return false;
  let seconds = 0;
  for (let index = 0; index < 10; index++) {
    const digit = value.charCodeAt(index) - 0x30;
    if (digit < 0 || digit > 9) return false;
    seconds = seconds * 10 + digit;
  }
  let nanos = 0;
  for (let index = 10; index < 19; index++) {
    const digit = value.charCodeAt(index) - 0x30;
    if (digit < 0 || digit > 9) return false;
    nanos = nanos * 10 + digit;
  }
  if (seconds > 0xffff_ffff) return false;
  times.push(seconds, nanos);
  return true;
}
