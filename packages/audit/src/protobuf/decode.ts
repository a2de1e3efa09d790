/**
 * Protobuf to the objects of OTLP JSON, driven by the schema table. Wire format: protobuf.dev, "Encoding".
 */
import { isUtf8 } from 'node:buffer';
import { rawSpan, type RawSpan } from './raw-span.js';
import type { Field, Message, ScalarType } from './schema.js';

/** Bytes that are no message of the expected type; `offset` counts from the start of the decoded bytes. */
export class ProtobufError extends Error {
  readonly offset: number;

  constructor(reason: string, offset: number) {
    super(reason);
    this.offset = offset;
  }
}

export interface DecodeOptions {
  /** 64-bit integers as decimal text, as OTLP JSON has them, or as bigint. */
  readonly integers: 'text' | 'bigint';
  /** Keep fields that the schema does not know as `unknownFields: {number: [base64 of the value]}`. */
  readonly keepUnknown?: boolean;
  /**
   * Makes decoding lenient: a damaged span, log record or metric is dropped and told of here, a list that breaks off is
   * read as far as it goes. Offsets count from the start of the decoded bytes.
   */
  readonly onDamage?: (reason: string, offset: number) => void;
  /** Asked for each span before anything of it is decoded; spans that are not wanted are left out and counted. */
  readonly wantsSpan?: (span: RawSpan) => boolean;
}

export interface Decoded {
  readonly value: Readonly<Record<string, unknown>>;
  /** Fields of the message itself that the schema knows, in number. None in a message that is not empty: not ours. */
  readonly known: number;
  /** A string held bytes that are not UTF-8; they were read as U+FFFD. */
  readonly replaced: boolean;
  /** Spans that `wantsSpan` did not want. */
  readonly skipped: number;
}

/** Nesting of messages; attribute values may nest, but no emitter means this. */
export const MAX_DEPTH = 100;

/** @throws ProtobufError where the bytes contradict the wire format or the type of a field */
export function decodeMessage(bytes: Uint8Array, message: Message, options: DecodeOptions): Decoded {
  const decoder = new Decoder(bytes, options);
  const value = decoder.message(message, bytes.length, 0);
  return { value, known: decoder.known, replaced: decoder.replaced, skipped: decoder.skipped };
}

/** Messages that hold records, and the records themselves: the grain of what a lenient decoding gives up. */
const LISTS = new Set([
  'resourceSpans',
  'scopeSpans',
  'resourceLogs',
  'scopeLogs',
  'resourceMetrics',
  'scopeMetrics',
  'trace',
]);
const RECORDS = new Set(['spans', 'logRecords', 'metrics']);

class Decoder {
  skipped = 0;
  replaced = false;
  known = 0;
  private at = 0;
  private resource: unknown = undefined;
  private readonly bytes: Buffer;
  private readonly view: DataView;
  private readonly options: DecodeOptions;

  constructor(bytes: Uint8Array, options: DecodeOptions) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.options = options;
  }

  /** The fields up to `end`; in a lenient list of records as many as can be read. */
  message(message: Message, end: number, depth: number, list = depth === 0): Record<string, unknown> {
    const out: Record<string, unknown> = {};
    const { onDamage } = this.options;
    if (!list || onDamage === undefined) {
      this.fields(out, message, end, depth);
      return out;
    }
    try {
      this.fields(out, message, end, depth);
    } catch (error) {
      if (!(error instanceof ProtobufError)) throw error;
      onDamage(error.message, error.offset);
      this.at = end;
    }
    return out;
  }

  private fields(out: Record<string, unknown>, message: Message, end: number, depth: number): void {
    if (depth > MAX_DEPTH) throw new ProtobufError('messages nested too deeply', this.at);
    while (this.at < end) {
      const tag = this.varint32(end);
      const number = tag >>> 3;
      const wireType = tag & 7;
      if (number === 0) throw new ProtobufError('a field with number 0', this.at);
      const field = message[number];
      if (field === undefined) this.unknown(out, number, wireType, end);
      else this.field(out, field, wireType, end, depth);
      if (depth === 0 && field !== undefined) this.known += 1;
    }
  }

  private field(
    out: Record<string, unknown>,
    field: Field,
    wireType: number,
    end: number,
    depth: number,
  ): void {
    const { type, name } = field;
    if (typeof type !== 'string') {
      if (wireType !== 2) throw new ProtobufError(`'${name}' is no message`, this.at);
      if (name === 'spans' && this.unwanted(out['scope'], end)) return;
      const value = this.submessage(field.name, type(), end, depth + 1);
      if (value === undefined) return;
      if (name === 'resource') this.resource = value;
      if (field.repeated) append(out, name, value);
      // A message that comes twice is merged (protobuf.dev, "Last One Wins").
      else out[name] = typeof out[name] === 'object' ? { ...out[name], ...value } : value;
      return;
    }
    if (field.repeated && wireType === 2 && type !== 'string') {
      const stop = this.length(end);
      out[name] ??= [];
      while (this.at < stop) append(out, name, this.scalar(type, WIRE_TYPES[type], stop, name));
      return;
    }
    const value = this.scalar(type, wireType, end, name);
    if (field.repeated) append(out, name, value);
    else out[name] = value;
  }

  /** Passes over the span that begins here when nobody wants it. */
  private unwanted(scope: unknown, end: number): boolean {
    const { wantsSpan } = this.options;
    if (wantsSpan === undefined) return false;
    const start = this.at;
    const stop = this.length(end);
    const span = rawSpan(this.bytes, this.at, stop, this.resource, scope);
    if (wantsSpan(span)) {
      this.at = start;
      return false;
    }
    this.at = stop;
    this.skipped += 1;
    return true;
  }

  /** Undefined for a damaged record of a lenient decoding. */
  private submessage(
    name: string,
    message: Message,
    end: number,
    depth: number,
  ): Record<string, unknown> | undefined {
    const { onDamage } = this.options;
    if (onDamage === undefined) return this.message(message, this.length(end), depth);
    if (LISTS.has(name)) {
      const start = this.at;
      const length = this.varint32(end);
      const stop = this.at + length;
      if (stop > end) onDamage('a list that breaks off', start);
      return this.message(message, Math.min(stop, end), depth, true);
    }
    const stop = this.length(end);
    if (!RECORDS.has(name)) return this.message(message, stop, depth);
    try {
      return this.message(message, stop, depth);
    } catch (error) {
      if (!(error instanceof ProtobufError)) throw error;
      onDamage(error.message, error.offset);
      this.at = stop;
      return undefined;
    }
  }

  private scalar(type: ScalarType, wireType: number, end: number, name: string): unknown {
    if (wireType !== WIRE_TYPES[type]) throw new ProtobufError(`'${name}' has another type`, this.at);
    switch (type) {
      case 'string':
        return this.text(end);
      case 'bytes': {
        if (this.options.integers === 'text') return this.textOf('base64', end);
        const stop = this.length(end);
        const bytes = Uint8Array.from(this.bytes.subarray(this.at, stop));
        this.at = stop;
        return bytes;
      }
      case 'id':
        return this.textOf('hex', end);
      case 'bool':
        return this.varint64(end) !== 0n;
      case 'uint32':
      case 'enum':
        return Number(BigInt.asIntN(64, this.varint64(end)));
      case 'sint32': {
        const coded = this.varint32(end);
        return (coded >>> 1) ^ -(coded & 1);
      }
      case 'int64':
        return this.wide(BigInt.asIntN(64, this.varint64(end)));
      case 'uint64':
        return this.wide(this.varint64(end));
      case 'double': {
        const number = this.view.getFloat64(this.skip(8, end), true);
        // JSON has no literal for these three; OTLP JSON writes them as text.
        return Number.isFinite(number) || this.options.integers === 'bigint' ? number : String(number);
      }
      case 'fixed32':
        return this.view.getUint32(this.skip(4, end), true);
      case 'fixed64':
        return this.wide(this.view.getBigUint64(this.skip(8, end), true));
      case 'sfixed64':
        return this.wide(this.view.getBigInt64(this.skip(8, end), true));
      default:
        return type satisfies never;
    }
  }

  private wide(value: bigint): string | bigint {
    return this.options.integers === 'text' ? value.toString() : value;
  }

  private text(end: number): string {
    const stop = this.length(end);
    const start = this.at;
    const text = this.bytes.toString('utf8', start, stop);
    if (!this.replaced && text.includes('\uFFFD')) this.replaced = !isUtf8(this.bytes.subarray(start, stop));
    this.at = stop;
    return text;
  }

  private textOf(encoding: 'hex' | 'base64', end: number): string {
    const stop = this.length(end);
    const text = this.bytes.toString(encoding, this.at, stop);
    this.at = stop;
    return text;
  }

  /** The start of the next bytes of a fixed width. */
  private skip(width: number, end: number): number {
    const start = this.at;
    if (start + width > end) throw new ProtobufError('a field ends early', start);
    this.at = start + width;
    return start;
  }

  /** End of the length-delimited value that begins here. */
  private length(end: number): number {
    const start = this.at;
    const length = this.varint32(end);
    const stop = this.at + length;
    if (stop > end) throw new ProtobufError('a field is longer than its message', start);
    return stop;
  }

  private varint32(end: number): number {
    const first = this.bytes[this.at];
    if (first !== undefined && first < 0x80 && this.at < end) {
      this.at += 1;
      return first;
    }
    const start = this.at;
    const value = this.varint64(end);
    if (value > 0xffff_ffffn) throw new ProtobufError('a tag or length beyond 32 bits', start);
    return Number(value);
  }

  private varint64(end: number): bigint {
    const start = this.at;
    let low = 0;
    let high = 0n;
    for (let index = 0; index < 10; index += 1) {
      const byte = this.at < end ? this.bytes[this.at] : undefined;
      if (byte === undefined) throw new ProtobufError('a number ends early', start);
      this.at += 1;
      // Seven bits at a time: the first four groups fit an ordinary number.
      if (index < 4) low |= (byte & 0x7f) << (7 * index);
      else high |= BigInt(byte & 0x7f) << BigInt(7 * index);
      if (byte < 0x80) return BigInt.asUintN(64, high | BigInt(low));
    }
    throw new ProtobufError('a number of more than ten bytes', start);
  }

  private unknown(out: Record<string, unknown>, number: number, wireType: number, end: number): void {
    const start = this.at;
    switch (wireType) {
      case 0:
        this.varint64(end);
        break;
      case 1:
        this.skip(8, end);
        break;
      case 2:
        this.at = this.length(end);
        break;
      case 5:
        this.skip(4, end);
        break;
      default:
        // Groups (3, 4) are not in OTLP; 6 and 7 do not exist.
        throw new ProtobufError(`wire type ${wireType}`, start);
    }
    if (this.options.keepUnknown !== true) return;
    const kept = (out['unknownFields'] ??= {}) as Record<string, unknown>;
    append(kept, String(number), this.bytes.toString('base64', start, this.at));
  }
}

export const WIRE_TYPES: Readonly<Record<ScalarType, 0 | 1 | 2 | 5>> = {
  string: 2,
  bytes: 2,
  id: 2,
  bool: 0,
  double: 1,
  uint32: 0,
  sint32: 0,
  enum: 0,
  fixed32: 5,
  int64: 0,
  uint64: 0,
  fixed64: 1,
  sfixed64: 1,
};

function append(out: Record<string, unknown>, name: string, value: unknown): void {
  const list = out[name];
  if (Array.isArray(list)) list.push(value);
  else out[name] = [value];
}
