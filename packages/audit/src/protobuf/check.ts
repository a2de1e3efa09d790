/**
 * Whether bytes are a message that `decodeMessage` decodes, without making anything of them: what the receiver has to
 * know before it stores a request as it came. Wire format: protobuf.dev, "Encoding".
 */
import { MAX_DEPTH, WIRE_TYPES } from './decode.js';
import type { Message } from './schema.js';

/** True when the bytes are such a message and hold at least one field of it that the schema knows. */
export function isMessage(bytes: Uint8Array, message: Message): boolean {
  return walk(bytes, 0, bytes.length, message, 0) !== BROKEN && holdsKnown(bytes, message);
}

/** In place of a position or a number. */
const BROKEN = -1;

/** The end of the message that begins at `at`, or BROKEN. On the way of every request: one byte is no call. */
function walk(bytes: Uint8Array, start: number, end: number, message: Message, depth: number): number {
  if (depth > MAX_DEPTH) return BROKEN;
  let at = start;
  while (at < end) {
    let tag = bytes[at] ?? 0;
    if (tag < 0x80) at += 1;
    else {
      tag = numberAt(bytes, at, end);
      at = afterNumber(bytes, at, end);
      if (tag === BROKEN) return BROKEN;
    }
    const number = tag >>> 3;
    const wireType = tag & 7;
    if (number === 0) return BROKEN;
    const field = message[number];
    if (field === undefined) {
      at = afterValue(bytes, at, end, wireType);
    } else if (wireType === 2) {
      const { type } = field;
      let length = at < end ? (bytes[at] ?? 0) : BROKEN;
      if (length >= 0 && length < 0x80) at += 1;
      else {
        length = numberAt(bytes, at, end);
        at = afterNumber(bytes, at, end);
      }
      if (length === BROKEN || at + length > end) return BROKEN;
      if (typeof type !== 'string') at = walk(bytes, at, at + length, type(), depth + 1);
      else if (field.repeated && type !== 'string') {
        at = afterPacked(bytes, at, at + length, WIRE_TYPES[type], type === 'sint32');
      } else if (WIRE_TYPES[type] === 2) at += length;
      else return BROKEN;
    } else {
      if (typeof field.type !== 'string' || WIRE_TYPES[field.type] !== wireType) return BROKEN;
      if (field.type === 'sint32' && numberAt(bytes, at, end) === BROKEN) return BROKEN;
      at = afterValue(bytes, at, end, wireType);
    }
    if (at === BROKEN) return BROKEN;
  }
  return at;
}

/** Whether a field of the whole message is one of the schema; the message is known to be whole. */
function holdsKnown(bytes: Uint8Array, message: Message): boolean {
  let at = 0;
  while (at < bytes.length) {
    const tag = numberAt(bytes, at, bytes.length);
    if (message[tag >>> 3] !== undefined) return true;
    at = afterValue(bytes, afterNumber(bytes, at, bytes.length), bytes.length, tag & 7);
  }
  return false;
}

function afterPacked(
  bytes: Uint8Array,
  start: number,
  end: number,
  wireType: number,
  isShort: boolean,
): number {
  let at = start;
  while (at < end) {
    if (isShort && numberAt(bytes, at, end) === BROKEN) return BROKEN;
    at = afterValue(bytes, at, end, wireType);
    if (at === BROKEN) return BROKEN;
  }
  return at;
}

function afterValue(bytes: Uint8Array, at: number, end: number, wireType: number): number {
  switch (wireType) {
    case 0:
      return afterNumber(bytes, at, end);
    case 1:
      return at + 8 > end ? BROKEN : at + 8;
    case 2: {
      const length = numberAt(bytes, at, end);
      const stop = afterNumber(bytes, at, end) + length;
      return length === BROKEN || stop > end ? BROKEN : stop;
    }
    case 5:
      return at + 4 > end ? BROKEN : at + 4;
    default:
      // Groups (3, 4) are not in OTLP; 6 and 7 do not exist.
      return BROKEN;
  }
}

/** The position behind a number of up to 64 bits. */
function afterNumber(bytes: Uint8Array, at: number, end: number): number {
  for (let index = at; index < at + 10 && index < end; index += 1) {
    if ((bytes[index] ?? 0) < 0x80) return index + 1;
  }
  return BROKEN;
}

/** A number of up to 32 bits, which longer forms may write too. */
function numberAt(bytes: Uint8Array, at: number, end: number): number {
  let value = 0;
  for (let index = 0; index < 10 && at + index < end; index += 1) {
    const byte = bytes[at + index] ?? 0;
    const bits = byte & 0x7f;
    if (index > 4 ? bits !== 0 : index === 4 && bits > 0x0f) {
      // The tenth group holds one bit of 64 only; what is above it is cut off by every decoder.
      if (index < 9 || (bits & 1) !== 0) return BROKEN;
    } else if (index <= 4) value += bits * 2 ** (7 * index);
    if (byte < 0x80) return value;
  }
  return BROKEN;
}
