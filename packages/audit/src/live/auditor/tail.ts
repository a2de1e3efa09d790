/** Follows a file of lines: gives what is whole and new, and starts again when another file took its name. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** Where the next unread line begins. */
export interface Place {
  /** In bytes. */
  readonly offset: number;
  /** Number of that line, from 1. */
  readonly line: number;
  /** Inode of the file that the place is in, as text; '' before the file was seen. */
  readonly file: string;
}

export interface Piece {
  /** Whole lines, the last newline included. */
  readonly bytes: Buffer;
  readonly from: Place;
}

export const START: Place = { offset: 0, line: 1, file: '' };

/** One piece is read and judged before the event loop turns again. */
const PIECE = 1 << 19;
/** A line of a request can be as large as the receiver lets bodies be. */
const MAX_PIECE = 1 << 29;
const LAST = 64;
const NEWLINE = 0x0a;

export class Tail {
  readonly path: string;
  #next: Place;
  /** The last bytes that were read; a file that has others in their place is another one with the same inode. */
  #last: Buffer = Buffer.alloc(0);
  /** Bytes beyond `#next` at the last look. */
  #behind = 0;

  constructor(path: string, from: Place = START) {
    this.path = path;
    this.#next = from;
  }

  get next(): Place {
    return this.#next;
  }

  get behind(): number {
    return this.#behind;
  }

  /**
   * The next whole lines; undefined when there are none.
   * @param limit bytes of the file that may be read; the rest was written and not yet acknowledged
   * @throws Error of `node:fs` when the file is there and cannot be read
   */
  read(limit: number = Number.POSITIVE_INFINITY): Piece | undefined {
    let fd: number;
    try {
      fd = openSync(this.path, 'r');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
    try {
      const { size, ino } = fstatSync(fd, { bigint: true });
      const file = String(ino);
      const isOther = this.#next.file !== '' && this.#next.file !== file;
      if (isOther || Number(size) < this.#next.offset || !this.#continues(fd)) this.#restart(file);
      else if (this.#next.file === '') this.#next = { ...this.#next, file };
      const end = Math.min(Number(size), limit);
      const piece = this.#piece(fd, end);
      this.#behind = Math.max(0, end - this.#next.offset);
      return piece;
    } finally {
      closeSync(fd);
    }
  }

  #continues(fd: number): boolean {
    const { offset } = this.#next;
    if (offset === 0) return true;
    const length = Math.max(this.#last.length, 1);
    const before = Buffer.alloc(length);
    const read = readSync(fd, before, 0, length, offset - length);
    // After a restart all that is known is that a line ended there.
    return this.#last.length === 0 ? before[read - 1] === NEWLINE : before.equals(this.#last);
  }

  #restart(file: string): void {
    this.#next = { ...START, file };
    this.#last = Buffer.alloc(0);
  }

  #piece(fd: number, end: number): Piece | undefined {
    const from = this.#next;
    for (let length = PIECE; length <= MAX_PIECE; length *= 4) {
      const wanted = Math.min(length, end - from.offset);
      if (wanted <= 0) return undefined;
      const buffer = Buffer.allocUnsafe(wanted);
      const read = readSync(fd, buffer, 0, wanted, from.offset);
      const last = buffer.lastIndexOf(NEWLINE, read - 1);
      if (last !== -1) {
        const bytes = buffer.subarray(0, last + 1);
        this.#last = Buffer.from(bytes.subarray(-LAST));
        this.#next = { ...from, offset: from.offset + bytes.length, line: from.line + countLines(bytes) };
        return { bytes, from };
      }
      if (from.offset + wanted >= end) return undefined;
    }
    return undefined;
  }
}

function countLines(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) lines += 1;
  return lines;
}
