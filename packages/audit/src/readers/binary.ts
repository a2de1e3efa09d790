/**
 * Binary inputs: messages with their length before them (the Collector's file exporter, with or without zstd inside),
 * and one bare protobuf message. Records are known by their byte offset, counted after decompression of the input.
 */
import { decodeMessage, ProtobufError, type DecodeOptions } from '../protobuf/decode.js';
import { LOGS, METRICS, TRACES, type Message } from '../protobuf/schema.js';
import { unzstdWhole, type Chunks } from './bytes.js';
import type { JsonObject } from './exact-json.js';
import { RawPeek } from './raw-peek.js';
import { readRecord } from './record.js';
import type { Reading } from './reading.js';
import { beginsFrame, frameLength, isZstd, varintAt } from './sniff.js';
import { readJsonRecord } from './text.js';

const INITIAL_BYTES = 1 << 18;
const FRAME_HEADER = 4;
/** A frame is known by its first bytes. */
const SEARCH_BYTES = 32;
const CUT = 'the writer was stopped in the middle of it, or the file was cut: export again if it matters';

interface Layout {
  /** Header and payload of the record at the start of the bytes; undefined when more bytes are needed. */
  next(bytes: Buffer): { readonly header: number; readonly length: number } | undefined | 'broken';
  /** Whether a record begins here, to go on after damage; unknown until more bytes are there. */
  begins(bytes: Buffer, final: boolean): 'yes' | 'no' | 'unknown';
}

function framed(maxRecordBytes: number): Layout {
  return {
    next(bytes) {
      if (bytes.length < FRAME_HEADER) return undefined;
      const length = frameLength(bytes);
      if (length > maxRecordBytes) return 'broken';
      if (bytes.length > FRAME_HEADER && length > 0 && bytes.length >= FRAME_HEADER + 16) {
        if (!beginsFrame(bytes, maxRecordBytes)) return 'broken';
      }
      return { header: FRAME_HEADER, length };
    },
    begins(bytes, final) {
      if (!beginsFrame(bytes, maxRecordBytes)) return 'no';
      // Bytes inside of a lost record may look like a frame; its end settles it: another one, or the end of the input.
      const end = FRAME_HEADER + frameLength(bytes);
      if (end + FRAME_HEADER < bytes.length) {
        return beginsFrame(bytes.subarray(end), maxRecordBytes) ? 'yes' : 'no';
      }
      return final && end === bytes.length ? 'yes' : 'unknown';
    },
  };
}

/** Every element of field 1 is a record: with its tag and length it is an export request of its own. */
function bare(maxRecordBytes: number): Layout {
  return {
    next(bytes) {
      if (bytes.length === 0) return undefined;
      if (bytes[0] !== 0x0a) return 'broken';
      const length = varintAt(bytes, 1);
      if (length === undefined) return bytes.length > 6 ? 'broken' : undefined;
      if (length.value > maxRecordBytes) return 'broken';
      return { header: 0, length: length.next + length.value };
    },
    begins: () => 'no',
  };
}

/** Reads a binary input to its end. */
export async function readBinary(
  chunks: Chunks,
  kind: 'framed' | 'protobuf',
  reading: Reading,
  only: ReadonlySet<number> | undefined,
): Promise<void> {
  const layout =
    kind === 'framed' ? framed(reading.limits.maxRecordBytes) : bare(reading.limits.maxRecordBytes);
  const records = new BinaryRecords(layout, reading, only);
  for await (const chunk of chunks) records.push(chunk);
  records.end();
  reading.offset = undefined;
  if (reading.format === 'otlp') reading.format = kind === 'framed' ? 'otlp-framed' : 'otlp-proto';
}

class BinaryRecords {
  private buffer: Buffer = Buffer.allocUnsafe(INITIAL_BYTES);
  private filled = 0;
  private start = 0;
  /** Byte offset in the input of `start`. */
  private offset = 0;
  /** Looks for the next record after damage. */
  private lost = false;
  private searchAt = 0;
  private signal: Message | undefined;
  private readonly layout: Layout;
  private readonly reading: Reading;
  private readonly only: ReadonlySet<number> | undefined;
  private readonly options: DecodeOptions;

  constructor(layout: Layout, reading: Reading, only: ReadonlySet<number> | undefined) {
    this.layout = layout;
    this.reading = reading;
    this.only = only;
    this.options = decodeOptions(reading);
  }

  push(chunk: Uint8Array): void {
    if (this.filled + chunk.length > this.buffer.length) {
      const needed = this.filled - this.start + chunk.length;
      const target = needed > this.buffer.length ? Buffer.allocUnsafe(needed * 2) : this.buffer;
      this.buffer.copy(target, 0, this.start, this.filled);
      this.buffer = target;
      this.filled -= this.start;
      this.start = 0;
    }
    this.buffer.set(chunk, this.filled);
    this.filled += chunk.length;
    this.drain(false);
  }

  end(): void {
    this.drain(true);
    while (this.filled > this.start && !this.lost) {
      // What is left is shorter than its own length says: a writer that stopped, or a length that is wrong.
      const rest = this.buffer.subarray(this.start, this.filled);
      const following = this.following(rest, 1, rest.length);
      this.begin();
      if (following === rest.length) this.reading.damage('the input ends in the middle of a record', CUT);
      else this.reading.damage('a record whose length is wrong', 'copy or export the file again');
      const next = this.layout.next(rest);
      if (next !== undefined && next !== 'broken') {
        const payload = rest.subarray(Math.min(next.header, following), following);
        if (payload[0] === 0x0a) this.lenient(payload, this.offset + next.header);
      }
      this.advance(following);
      this.drain(true);
    }
  }

  /** Offset below `end` at which another record begins, inside of what the one at the start says it is; else `end`. */
  private following(bytes: Buffer, from: number, end: number): number {
    for (let at = from; at < end; at += 1) {
      if (this.layout.begins(bytes.subarray(at), true) === 'yes') return at;
    }
    return end;
  }

  private begin(): void {
    this.reading.line = undefined;
    this.reading.offset = this.offset;
    this.reading.begin();
  }

  private advance(bytes: number): void {
    this.start += bytes;
    this.offset += bytes;
  }

  private drain(final: boolean): void {
    for (;;) {
      if (this.lost && !this.search(final)) return;
      const bytes = this.buffer.subarray(this.start, this.filled);
      const next = this.layout.next(bytes);
      if (next === undefined) return;
      if (next === 'broken') {
        this.begin();
        this.reading.damage(
          'bytes that begin no record',
          'copy or export the file again; what could be found after them was read',
        );
        this.lost = true;
        this.searchAt = 0;
        this.advance(1);
        continue;
      }
      const { header, length } = next;
      if (bytes.length < header + length) return;
      let end = header + length;
      if (this.only?.has(this.offset) ?? true) {
        this.begin();
        end = this.record(bytes, header, end);
      }
      this.advance(end);
    }
  }

  /** To the next bytes at which a record begins; false when more bytes are needed. */
  private search(final: boolean): boolean {
    const rest = this.buffer.subarray(this.start, this.filled);
    if (!final && rest.length < this.searchAt) return false;
    const last = final ? rest.length : rest.length - SEARCH_BYTES;
    let keep = Math.max(last, 0);
    for (let at = 0; at < last; at += 1) {
      const answer = this.layout.begins(rest.subarray(at), final);
      if (answer === 'yes') {
        this.advance(at);
        this.lost = false;
        return true;
      }
      if (answer === 'unknown') keep = Math.min(keep, at);
    }
    // What cannot be known yet is looked at again when there is twice as much of it.
    this.advance(keep);
    this.searchAt = (rest.length - keep) * 2;
    return false;
  }

  /** Reads one record and answers where it ends: a damaged one may say that it is longer than it is. */
  private record(all: Buffer, header: number, end: number): number {
    const { reading } = this;
    const payload = all.subarray(header, end);
    let bytes: Uint8Array = payload;
    if (isZstd(payload)) {
      const unpacked = unzstdWhole(payload, reading.limits.maxRecordBytes);
      if (unpacked === undefined) {
        reading.damage('a record whose zstd data is damaged', 'export again; the other records were read');
        return end;
      }
      bytes = unpacked;
    }
    if (bytes.length === 0) return end;
    if (bytes[0] === 0x7b) {
      readJsonRecord(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), reading);
      return end;
    }
    if (this.strict(bytes)) return end;
    const own = bytes === payload ? this.following(all, header, end) : end;
    this.lenient(own === end ? bytes : all.subarray(header, own), this.offset);
    return own;
  }

  /** The signal is not named in the bytes: the first that fits is kept for the records that follow. */
  private strict(bytes: Uint8Array): boolean {
    for (const message of new Set([this.signal ?? TRACES, TRACES, LOGS, METRICS])) {
      try {
        const { value, known, replaced, skipped } = decodeMessage(bytes, message, this.options);
        if (known === 0) continue;
        if (skipped > 0) this.reading.unwanted(skipped);
        this.signal = message;
        if (replaced) {
          this.reading.damage(
            'text that is not UTF-8 (read as U+FFFD)',
            'repair the emitter; the record was read',
          );
        }
        this.deliver(value, this.options.wantsSpan !== undefined);
        return true;
      } catch (error) {
        if (!(error instanceof ProtobufError)) throw error;
      }
    }
    return false;
  }

  private lenient(bytes: Uint8Array, base: number): void {
    const { reading } = this;
    const { value } = decodeMessage(bytes, this.signal ?? TRACES, {
      integers: 'bigint',
      onDamage: (reason, offset) => {
        reading.damage(
          `protobuf: ${reason} at byte ${base + offset}`,
          'export again; what else the record holds was read',
        );
      },
    });
    this.deliver(value, false);
  }

  /** @param asked whether the sink was asked for each span already */
  private deliver(value: Readonly<Record<string, unknown>>, asked: boolean): void {
    const { reading } = this;
    if (Object.keys(value).length === 0) return;
    reading.asked = asked;
    if (readRecord(value as JsonObject, reading)) reading.records += 1;
    reading.asked = false;
  }
}

function decodeOptions(reading: Reading): DecodeOptions {
  const { sink } = reading;
  if (sink.wants === undefined) return { integers: 'bigint' };
  return { integers: 'bigint', wantsSpan: (span) => sink.wants?.(new RawPeek(span)) ?? true };
}
