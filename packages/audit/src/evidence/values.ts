/** Attribute values as bytes; texts that repeat are kept once. */
import { deserialize, serialize } from 'node:v8';
import type { AttributeValue } from '../model.js';
import { roomOf } from './bytes.js';
import type { ByteReader, ByteWriter } from './bytes.js';

/** Beyond the limit texts are written out, so that hostile inputs cannot grow the table. */
const MAX_SHARED = 1 << 14;
const MAX_SHARED_LENGTH = 64;

const SHARED = 0;
const TEXT = 1;
const INTEGER = 2;
const FLOAT = 3;
const FALSE = 4;
const TRUE = 5;
const NULL = 6;
const LIST = 7;
const OTHER = 8;

export class ValueCoder {
  readonly #texts: string[] = [];
  readonly #numbers = new Map<string, number>();

  /** Bytes that the value takes at most. */
  room(value: AttributeValue): number {
    if (typeof value === 'string') return roomOf(value) + 1;
    if (typeof value === 'object' && value !== null) {
      return isTexts(value)
        ? value.reduce((sum, item) => sum + roomOf(item), 16)
        : serialize(value).length + 16;
    }
    return typeof value === 'bigint' ? 64 : 16;
  }

  write(out: ByteWriter, value: AttributeValue): void {
    if (typeof value === 'string') {
      const number = this.#numberOf(value);
      out.byte(number === undefined ? TEXT : SHARED);
      if (number === undefined) out.text(value);
      else out.varint(number);
    } else if (typeof value === 'number') {
      const isInteger = Number.isSafeInteger(value) && value >= 0 && !Object.is(value, -0);
      out.byte(isInteger ? INTEGER : FLOAT);
      if (isInteger) out.varint(value);
      else out.float(value);
    } else if (typeof value === 'boolean') out.byte(value ? TRUE : FALSE);
    else if (value === null) out.byte(NULL);
    else if (isTexts(value)) {
      out.byte(LIST);
      out.varint(value.length);
      for (const item of value) out.text(item);
    } else {
      out.byte(OTHER);
      out.bytes(serialize(value));
    }
  }

  read(from: ByteReader): AttributeValue {
    const kind = from.byte();
    if (kind === SHARED) return this.#texts[from.varint()] ?? '';
    if (kind === TEXT) return from.text();
    if (kind === INTEGER) return from.varint();
    if (kind === FLOAT) return from.float();
    if (kind === FALSE) return false;
    if (kind === TRUE) return true;
    if (kind === NULL) return null;
    if (kind === LIST) return Array.from({ length: from.varint() }, () => from.text());
    // Written above, and by nobody else.
    return deserialize(from.bytes()) as AttributeValue;
  }

  #numberOf(text: string): number | undefined {
    const known = this.#numbers.get(text);
    if (known !== undefined || this.#texts.length >= MAX_SHARED || text.length > MAX_SHARED_LENGTH)
      return known;
    const number = this.#texts.length;
    this.#texts.push(text);
    this.#numbers.set(text, number);
    return number;
  }
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
