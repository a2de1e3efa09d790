/**
 * Whether bytes are a message that `decodeMessage` decodes, without making anything of them: what the receiver has to
 * know before it stores a request as it came. Wire format: protobuf.dev, "Encoding".
 */
import { MAX_DEPTH, WIRE_TYPES } from './decode.js';
import type { Message } from './schema.js';

/** True when the bytes are such a message and hold at least one field of it that the schema knows. */
export function isMessage(bytes: Uint8Array, message: Message): boolean {
  const walk = new Walk(bytes);
  return walk.message(message, bytes.length, 0) && walk.known;
}

/** A number that is too long, or that ends behind the end of its message. */
const BROKEN = -1;

class Walk {
  known = false;
  #at = 0;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  message(message: Message, end: number, depth: number): boolean {
    if (depth > MAX_DEPTH) return false;
    while (this.#at < end) {
      const tag = this.#varint32(end);
      const number = tag >>> 3;
      if (tag === BROKEN || number === 0) return false;
      const field = message[number];
      if (field === undefined) {
        if (!this.#skip(tag & 7, end)) return false;
        continue;
      }
      if (depth === 0) this.known = true;
      const { type } = field;
      if (typeof type !== 'string') {
        const stop = (tag & 7) === 2 ? this.#length(end) : BROKEN;
        if (stop === BROKEN || !this.message(type(), stop, depth + 1)) return false;
        continue;
      }
      if (field.repeated && (tag & 7) === 2 && type !== 'string') {
        const stop = this.#length(end);
        if (stop === BROKEN) return false;
        while (this.#at < stop) if (!this.#skip(WIRE_TYPES[type], stop)) return false;
        continue;
      }
      if ((tag & 7) !== WIRE_TYPES[type]) return false;
      if (type === 'sint32' ? this.#varint32(end) === BROKEN : !this.#skip(tag & 7, end)) return false;
    }
    return true;
  }

  #skip(wireType: number, end: number): boolean {
    switch (wireType) {
      case 0:
        return this.#pass(end);
      case 1:
        this.#at += 8;
        return this.#at <= end;
      case 2: {
        const stop = this.#length(end);
        if (stop !== BROKEN) this.#at = stop;
        return stop !== BROKEN;
      }
      case 5:
        this.#at += 4;
        return this.#at <= end;
      default:
        // Groups (3, 4) are not in OTLP; 6 and 7 do not exist.
        return false;
    }
  }

  /** Over a number of up to 64 bits. */
  #pass(end: number): boolean {
    for (let index = 0; index < 10 && this.#at < end; index += 1) {
      const byte = this.#bytes[this.#at] ?? 0;
      this.#at += 1;
      if (byte < 0x80) return true;
    }
    return false;
  }

  #length(end: number): number {
    const length = this.#varint32(end);
    return length === BROKEN || this.#at + length > end ? BROKEN : this.#at + length;
  }

  /** A number of up to 32 bits, which longer forms may write too. */
  #varint32(end: number): number {
    let value = 0;
    for (let index = 0; index < 10 && this.#at < end; index += 1) {
      const byte = this.#bytes[this.#at] ?? 0;
      this.#at += 1;
      const bits = byte & 0x7f;
      if (index > 4 ? bits !== 0 : index === 4 && bits > 0x0f) {
        // The tenth group holds one bit of 64 only; what is above it is cut off by every decoder.
        if (index < 9 || (bits & 1) !== 0) return BROKEN;
      } else if (index <= 4) value += bits * 2 ** (7 * index);
      if (byte < 0x80) return value;
    }
    return BROKEN;
  }
}
