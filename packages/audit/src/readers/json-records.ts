/**
 * Cuts a stream of bytes into top-level JSON objects, whichever way they were laid out: JSON Lines, one pretty-printed
 * document, several of them one after another, or the elements of a (nested) array. Damage costs the record that it is
 * in; the reader picks up again at the next line that begins one.
 *
 * A line that is one whole object goes to `JSON.parse` unscanned: in valid exports that is every line, and a scan of
 * every byte in JavaScript would cost a quarter of the parse. Only what is not one object per line is scanned.
 */
import type { RecordHandler, RecordProblem } from './record-handler.js';

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** RFC 7464 puts it before every text. */
const RECORD_SEPARATOR = 0x1e;

const INITIAL_BYTES = 1 << 20;
/** Broken records may cost this much work before only whole lines are believed. */
const WASTE_BYTES = 16 << 20;
/** A line that is longer is not waited for, but cut by its structure: it may be an array of everything. */
const LONG_LINE_BYTES = 8 << 20;
/** Deeper nesting than this is no trace; `JSON.parse` itself ends near the size of the stack. */
const MAX_DEPTH = 512;
/** Members that begin a record and never stand inside one. */
const RECORD_START =
  /^\{\s*"(?:resourceSpans|resource_spans|resourceLogs|resource_logs|resourceMetrics|resource_metrics|batches)"/;
const RECORD_START_BYTES = 64;

export class JsonRecords {
  private buffer: Buffer = Buffer.allocUnsafe(INITIAL_BYTES);
  private filled = 0;
  /** Start of what is not consumed yet. */
  private start = 0;
  /** Number of the line that `start` is on. */
  private line = 1;
  /** Start of the line that `start` is on, to know what stands in column 0. */
  private lineStart = true;
  /** First byte at which no newline was looked for yet. */
  private searched = 0;
  /** Objects on this line are cut by structure: it was seen to hold more than one. */
  private structural = false;
  private inObject = false;
  private scan = 0;
  private depth = 0;
  private inString = false;
  private readonly closers = new Uint8Array(MAX_DEPTH + 1);
  private skipping = false;
  /** The input has records that are one line each: what begins an object in column 0 then begins a record. */
  private lines = false;
  /** Only whole lines are taken, so that work stays linear: a document ran to the end, or much was broken. */
  private linesOnly = false;
  /** Bytes that were scanned for records that turned out broken, and are scanned again. */
  private wasted = 0;
  private problemLine = 0;
  private first = true;
  /** Arrays around the records that are open. */
  private arrays = 0;
  private readonly handler: RecordHandler;
  private readonly maxRecordBytes: number;

  constructor(handler: RecordHandler, maxRecordBytes: number) {
    this.handler = handler;
    this.maxRecordBytes = maxRecordBytes;
  }

  /** Room for the next read, so that a file is read without a copy. Follow with `filledBy`. */
  room(): { readonly buffer: Buffer; readonly offset: number; readonly length: number } {
    if (this.filled === this.buffer.length) this.makeRoom();
    return { buffer: this.buffer, offset: this.filled, length: this.buffer.length - this.filled };
  }

  filledBy(bytes: number): void {
    this.filled += bytes;
    this.drain(false);
  }

  push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) {
      const { buffer, offset, length } = this.room();
      const part = chunk.subarray(at, at + length);
      buffer.set(part, offset);
      at += part.length;
      this.filledBy(part.length);
    }
  }

  end(): void {
    this.drain(true);
  }

  private makeRoom(): void {
    if (this.start > 0) {
      this.buffer.copyWithin(0, this.start, this.filled);
      this.filled -= this.start;
      this.scan -= this.start;
      this.searched -= this.start;
      this.start = 0;
      if (this.filled < this.buffer.length / 2) return;
    }
    if (this.filled > this.maxRecordBytes) {
      this.linesOnly = true;
      this.broken('too_large', this.filled);
      this.drain(false);
      this.makeRoom();
      return;
    }
    const bigger = Buffer.allocUnsafe(this.buffer.length * 2);
    this.buffer.copy(bigger, 0, 0, this.filled);
    this.buffer = bigger;
  }

  private problem(problem: RecordProblem, end: number): void {
    // One place a line is enough to find it.
    if (this.problemLine === this.line) return;
    this.problemLine = this.line;
    this.handler.problem(problem, this.buffer.subarray(this.start, end), this.line);
  }

  private drain(final: boolean): void {
    for (;;) {
      const more = this.skipping
        ? this.skip(final)
        : this.inObject
          ? this.object(final)
          : this.between(final);
      if (!more) return;
    }
  }

  private newlineFrom(from: number): number {
    const at = this.buffer.indexOf(NEWLINE, Math.max(from, this.searched));
    if (at >= 0 && at < this.filled) return at;
    this.searched = this.filled;
    return -1;
  }

  private pastNewline(newline: number): void {
    this.start = newline + 1;
    this.searched = this.start;
    this.line += 1;
    this.lineStart = true;
    this.structural = false;
  }

  /** To the next line that begins a record. */
  private skip(final: boolean): boolean {
    if (this.start >= this.filled) return false;
    if (this.lineStart) {
      if (this.filled - this.start < RECORD_START_BYTES && !final) return false;
      if (this.resumes()) {
        this.skipping = false;
        return true;
      }
      this.lineStart = false;
    }
    const newline = this.newlineFrom(this.start);
    if (newline < 0) {
      this.start = this.filled;
      return false;
    }
    this.pastNewline(newline);
    return true;
  }

  /** A bracket in column 0, or an indented line that plainly begins a record. */
  private resumes(): boolean {
    const byte = this.buffer[this.start];
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) return true;
    let at = this.start;
    while (at < this.filled && (this.buffer[at] === SPACE || this.buffer[at] === TAB)) at += 1;
    return this.beginsRecord(at);
  }

  /** Outside of objects: separators only. */
  private between(final: boolean): boolean {
    const { buffer, filled } = this;
    while (this.start < filled) {
      const byte = buffer[this.start];
      if (byte === NEWLINE) {
        this.pastNewline(this.start);
        continue;
      }
      if (byte === OPEN_OBJECT) return this.beginObject(final);
      if (this.first && byte === 0xef) {
        if (filled - this.start < 3 && !final) return false;
        if (buffer[this.start + 1] === 0xbb && buffer[this.start + 2] === 0xbf) {
          this.start += 3;
          continue;
        }
      }
      this.first = false;
      if (isSeparator(byte)) {
        this.bracket(byte);
        if (byte !== OPEN_ARRAY) this.lineStart &&= byte === RETURN;
        else this.lineStart = false;
        this.start += 1;
        continue;
      }
      return this.unexpected(final);
    }
    if (final && this.arrays > 0 && this.problemLine === 0) this.problem('incomplete', filled);
    return false;
  }

  /** After damage an array may have been opened or closed in what was passed over: then brackets say nothing. */
  private bracket(byte: number | undefined): void {
    if (byte === OPEN_ARRAY) this.arrays += 1;
    if (byte !== CLOSE_ARRAY) return;
    if (this.arrays > 0) this.arrays -= 1;
    else if (this.problemLine === 0) this.problem('unexpected', this.start + 1);
  }

  private unexpected(final: boolean): boolean {
    const newline = this.newlineFrom(this.start);
    // Wait for the whole line, to show what it is; a line without end is shown in part.
    if (newline < 0 && !final && this.filled - this.start < INITIAL_BYTES / 2) return false;
    this.problem('unexpected', newline < 0 ? this.filled : newline);
    this.lineStart = false;
    this.skipping = true;
    return true;
  }

  private beginObject(final: boolean): boolean {
    this.first = false;
    if (!this.structural) {
      const newline = this.newlineFrom(this.start);
      if (newline < 0 && !final && this.filled - this.start < LONG_LINE_BYTES) return false;
      const end = this.trimmed(newline < 0 ? this.filled : newline);
      const whole = newline >= 0 || final;
      const wanted = this.handler.wantsLine?.(this.line) ?? true;
      if (whole && this.buffer[end - 1] === CLOSE_OBJECT && wanted) {
        if (this.handler.record(this.buffer.subarray(this.start, end), this.line, true)) {
          this.start = end;
          this.lineStart = false;
          this.lines = true;
          return true;
        }
      }
      if (this.linesOnly) return this.broken('broken', end);
    }
    this.openObject();
    return true;
  }

  private openObject(): void {
    this.inObject = true;
    this.scan = this.start;
    this.depth = 0;
    this.inString = false;
  }

  /** End of the line without white space and the separators that belong to an array around it. */
  private trimmed(end: number): number {
    let at = end;
    while (at > this.start) {
      const byte = this.buffer[at - 1];
      if (byte === CLOSE_OBJECT || !isSeparator(byte)) return at;
      at -= 1;
    }
    return at;
  }

  /** Inside an object: brackets and strings are followed until it closes. */
  private object(final: boolean): boolean {
    const { buffer, filled, closers } = this;
    let { scan, depth, inString } = this;
    while (scan < filled) {
      const byte = buffer[scan] ?? 0;
      if (byte === NEWLINE) {
        // JSON has no raw newline in a string: a quote is missing, or the writer stopped there.
        if (inString) return this.broken('broken', scan);
        if (filled - scan <= RECORD_START_BYTES && !final) break;
        if (this.beginsRecord(scan + 1)) return this.broken('incomplete', scan);
      } else if (inString) {
        if (byte === QUOTE) inString = false;
        else if (byte === BACKSLASH) scan += 1;
      } else if (byte === QUOTE) inString = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        if (depth === MAX_DEPTH) return this.broken('too_deep', scan);
        depth += 1;
        closers[depth] = byte + 2;
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        if (closers[depth] !== byte) return this.broken('broken', scan);
        depth -= 1;
        if (depth === 0) {
          this.closeObject(scan + 1);
          return true;
        }
      }
      scan += 1;
    }
    this.scan = scan;
    this.depth = depth;
    this.inString = inString;
    if (!final) return false;
    this.linesOnly = true;
    return this.broken('incomplete', filled);
  }

  private closeObject(end: number): void {
    const bytes = this.buffer.subarray(this.start, end);
    const wanted = this.handler.wantsLine?.(this.line) ?? true;
    if (wanted && !this.handler.record(bytes, this.line, false)) this.problem('broken', end);
    for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) this.line += 1;
    this.start = end;
    this.searched = Math.max(this.searched, end);
    this.lineStart = false;
    this.inObject = false;
    // More may follow on this line; to try it as a whole again and again would be quadratic.
    this.structural = true;
  }

  private beginsRecord(at: number): boolean {
    if (at >= this.filled || this.buffer[at] !== OPEN_OBJECT) return false;
    if (this.lines && this.buffer[at + 1] === QUOTE) return true;
    const end = Math.min(at + RECORD_START_BYTES, this.filled);
    return RECORD_START.test(this.buffer.toString('latin1', at, end));
  }

  /** Reports what is there of the record and goes on at the next line. */
  private broken(problem: RecordProblem, end: number): boolean {
    this.problem(problem, end);
    this.wasted += end - this.start;
    if (this.wasted > WASTE_BYTES) this.linesOnly = true;
    this.inObject = false;
    this.skipping = true;
    const newline = this.buffer.indexOf(NEWLINE, this.start);
    if (newline < 0 || newline >= this.filled) {
      this.start = this.filled;
      this.lineStart = false;
      return false;
    }
    this.pastNewline(newline);
    return true;
  }
}

function isSeparator(byte: number | undefined): boolean {
  return (
    byte === SPACE ||
    byte === TAB ||
    byte === RETURN ||
    byte === NEWLINE ||
    byte === COMMA ||
    byte === OPEN_ARRAY ||
    byte === CLOSE_ARRAY ||
    byte === RECORD_SEPARATOR
  );
}
