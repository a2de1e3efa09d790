/** Lines of the small inputs beside the traces, read in pieces: a file of any size needs the memory of one line. */
import { closeSync, openSync, readSync } from 'node:fs';

/** A path, or text that is in memory already. */
export type RecordSource = string | { readonly path: string; readonly text: string };

export function pathOf(source: RecordSource): string {
  return typeof source === 'string' ? source : source.path;
}

export interface LinesRead {
  readonly bytes: number;
  /** Why the file could not be read to its end. */
  readonly problem: string | undefined;
}

const CHUNK = 1 << 18;
/** No record beside the traces is near this size. */
const MAX_LINE = 1 << 20;

/** Calls `line` for every line that is not blank, with its number from 1. Never throws for what the file is. */
export function readLines(source: RecordSource, line: (text: string, number: number) => void): LinesRead {
  if (typeof source !== 'string') {
    const splitter = new Splitter(line);
    const bytes = Buffer.from(source.text);
    splitter.push(bytes);
    splitter.end();
    return { bytes: bytes.length, problem: undefined };
  }
  let file: number | undefined;
  let total = 0;
  try {
    file = openSync(source, 'r');
    const splitter = new Splitter(line);
    const buffer = Buffer.allocUnsafe(CHUNK);
    for (;;) {
      const size = readSync(file, buffer, 0, CHUNK, null);
      if (size === 0) break;
      total += size;
      splitter.push(buffer.subarray(0, size));
    }
    splitter.end();
    return { bytes: total, problem: undefined };
  } catch (error) {
    return { bytes: total, problem: error instanceof Error ? error.message : String(error) };
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

class Splitter {
  readonly #line: (text: string, number: number) => void;
  #rest: Buffer[] = [];
  #restSize = 0;
  #number = 0;
  constructor(line: (text: string, number: number) => void) {
    this.#line = line;
  }

  push(bytes: Buffer): void {
    let from = 0;
    for (;;) {
      const to = bytes.indexOf(0x0a, from);
      if (to === -1) break;
      this.#emit(bytes.subarray(from, to));
      from = to + 1;
    }
    const rest = bytes.subarray(from);
    // A line beyond the limit is cut: it parses as nothing and is named as damage.
    if (rest.length > 0 && this.#restSize < MAX_LINE) {
      this.#rest.push(Buffer.from(rest));
      this.#restSize += rest.length;
    }
  }

  end(): void {
    if (this.#restSize > 0) this.#emit(Buffer.alloc(0));
  }

  #emit(last: Buffer): void {
    this.#number += 1;
    const text = (this.#rest.length === 0 ? last : Buffer.concat([...this.#rest, last])).toString('utf8');
    this.#rest = [];
    this.#restSize = 0;
    const trimmed = (this.#number === 1 ? text.replace(/^\uFEFF/, '') : text).trim();
    if (trimmed !== '') this.#line(trimmed, this.#number);
  }
}
