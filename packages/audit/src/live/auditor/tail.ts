/** Follows a file of records: gives what is whole and new, and starts again when another file took its name. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { beginsFrame } from '../../readers/sniff.js';
import { FRAME_HEAD, MAX_FRAME } from '../form.js';

/** Where the next unread record begins. */
export interface Place {
  /** In bytes. */
  readonly offset: number;
  /** Number of that line, from 1; in a file of frames always 1, since their places are offsets. */
  readonly line: number;
  /** Inode of the file that the place is in, as text; '' before the file was seen. */
  readonly file: string;
}

export interface Piece {
  /** Whole records: lines with the last newline, frames with their lengths. */
  readonly bytes: Buffer;
  readonly from: Place;
}

export const START: Place = { offset: 0, line: 1, file: '' };

/** Lines, or messages with their length before them. */
export type TailForm = 'lines' | 'frames';

/** One piece is read and judged before the event loop turns again. */
const PIECE = 1 << 19;
/** A record of a request can be as large as the receiver lets bodies be. */
const MAX_PIECE = 1 << 29;
const LAST = 64;
/** Enough of a frame to know it by. */
const HEAD = 256;
const NEWLINE = 0x0a;

export class Tail {
  readonly path: string;
  readonly #form: TailForm;
  #next: Place;
  /** The last bytes that were read; a file that has others in their place is another one with the same inode. */
  #last: Buffer = Buffer.alloc(0);
  /** Bytes beyond `#next` at the last look. */
  #behind = 0;

  constructor(path: string, from: Place = START, form: TailForm = 'lines') {
    this.path = path;
    this.#form = form;
    this.#next = from;
  }

  get next(): Place {
    return this.#next;
  }

  get behind(): number {
    return this.#behind;
  }

  /**
   * The next whole records; undefined when there are none.
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
    if (this.#last.length > 0) return before.equals(this.#last);
    // After a restart all that is known is that a line ended there, or that a frame begins there if there is one.
    return this.#form === 'lines' ? before[read - 1] === NEWLINE : beginsOrEnds(fd, offset);
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
      const whole = this.#form === 'lines' ? wholeLines(buffer, read) : wholeFrames(buffer, read);
      if (whole > 0) {
        const bytes = buffer.subarray(0, whole);
        this.#last = Buffer.from(bytes.subarray(-LAST));
        const lines = this.#form === 'lines' ? countLines(bytes) : 0;
        this.#next = { ...from, offset: from.offset + bytes.length, line: from.line + lines };
        return { bytes, from };
      }
      if (from.offset + wanted >= end) return undefined;
    }
    return undefined;
  }
}

function wholeLines(buffer: Buffer, length: number): number {
  return length === 0 ? 0 : buffer.lastIndexOf(NEWLINE, length - 1) + 1;
}

/** Bytes up to the end of the last whole frame; what is no frame goes with what is before the next one. */
function wholeFrames(buffer: Buffer, length: number): number {
  let at = 0;
  while (at + FRAME_HEAD <= length) {
    const size = buffer.readUInt32BE(at);
    if (size > MAX_FRAME) {
      at += 1;
      while (at + FRAME_HEAD < length && !beginsFrame(buffer.subarray(at, length), MAX_FRAME)) at += 1;
      continue;
    }
    if (at + FRAME_HEAD + size > length) break;
    at += FRAME_HEAD + size;
  }
  return at;
}

function beginsOrEnds(fd: number, offset: number): boolean {
  const head = Buffer.alloc(HEAD);
  const read = readSync(fd, head, 0, HEAD, offset);
  return read === 0 || beginsFrame(head.subarray(0, read), MAX_FRAME);
}

function countLines(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) lines += 1;
  return lines;
}
