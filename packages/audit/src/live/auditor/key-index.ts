/**
 * From a key to the frame of the closed group that has it, on disk: the memory of the process does not grow with what
 * is closed. A hash table of pages that doubles when a page is full; the operating system caches the pages.
 */
import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  writeSync,
} from 'node:fs';

const ENTRY = 16;
const PAGE = 4096;
/** A key and an offset plus one, which is 0 in a place that is free; in the byte order of the machine. */
const NUMBERS = PAGE / 8;
const FIRST_PAGES = 16;

export class KeyIndex {
  readonly #file: string;
  #fd: number;
  #pages: number;
  readonly #entries = new Float64Array(NUMBERS);
  readonly #page: Uint8Array = new Uint8Array(this.#entries.buffer);

  constructor(file: string) {
    this.#file = file;
    this.#fd = openSync(file, constantsOf(file), 0o600);
    const pages = fstatSync(this.#fd).size / PAGE;
    this.#pages = Number.isInteger(Math.log2(pages)) ? pages : FIRST_PAGES;
    ftruncateSync(this.#fd, this.#pages * PAGE);
  }

  /** Offset of the frame; undefined when no closed group has the key. */
  get(key: number): number | undefined {
    const entries = this.#load(pageOf(key, this.#pages));
    for (let at = 0; at < NUMBERS; at += 2) {
      const value = entries[at + 1] ?? 0;
      if (value === 0) return undefined;
      if (entries[at] === key) return value - 1;
    }
    return undefined;
  }

  set(key: number, offset: number): void {
    const number = pageOf(key, this.#pages);
    const entries = this.#load(number);
    for (let at = 0; at < NUMBERS; at += 2) {
      const value = entries[at + 1] ?? 0;
      if (value !== 0 && entries[at] !== key) continue;
      entries[at] = key;
      entries[at + 1] = offset + 1;
      writeSync(this.#fd, this.#page, at * 8, ENTRY, number * PAGE + at * 8);
      return;
    }
    this.#double();
    this.set(key, offset);
  }

  sync(): void {
    fsyncSync(this.#fd);
  }

  close(): void {
    closeSync(this.#fd);
  }

  #load(number: number): Float64Array {
    const read = readSync(this.#fd, this.#page, 0, PAGE, number * PAGE);
    if (read < PAGE) this.#page.fill(0, read);
    return this.#entries;
  }

  /** Entries of page n go to n or n + pages; the new table takes the name when it is on disk. */
  #double(): void {
    const next = `${this.#file}.next`;
    const fd = openSync(next, 'w+', 0o600);
    const pages = this.#pages * 2;
    ftruncateSync(fd, pages * PAGE);
    for (let number = 0; number < this.#pages; number += 1) {
      const from = this.#load(number);
      const halves = [new Float64Array(NUMBERS), new Float64Array(NUMBERS)] as const;
      const used = [0, 0];
      for (let at = 0; at < NUMBERS && from[at + 1] !== 0; at += 2) {
        const half = pageOf(from[at] ?? 0, pages) === number ? 0 : 1;
        const place = used[half] ?? 0;
        halves[half].set(from.subarray(at, at + 2), place);
        used[half] = place + 2;
      }
      writeSync(fd, halves[0], 0, PAGE, number * PAGE);
      writeSync(fd, halves[1], 0, PAGE, (number + this.#pages) * PAGE);
    }
    fsyncSync(fd);
    renameSync(next, this.#file);
    closeSync(this.#fd);
    this.#fd = fd;
    this.#pages = pages;
  }
}

function constantsOf(file: string): 'r+' | 'w+' {
  try {
    closeSync(openSync(file, 'r'));
    return 'r+';
  } catch {
    return 'w+';
  }
}

/** Keys are hashes of 53 bits already. */
function pageOf(key: number, pages: number): number {
  return key % pages;
}
