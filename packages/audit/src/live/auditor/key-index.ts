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
const FIRST_PAGES = 16;

export class KeyIndex {
  readonly #file: string;
  #fd: number;
  #pages: number;
  readonly #page: Buffer = Buffer.alloc(PAGE);

  constructor(file: string) {
    this.#file = file;
    this.#fd = openSync(file, constantsOf(file), 0o600);
    const pages = fstatSync(this.#fd).size / PAGE;
    this.#pages = Number.isInteger(Math.log2(pages)) ? pages : FIRST_PAGES;
    ftruncateSync(this.#fd, this.#pages * PAGE);
  }

  /** Offset of the frame; undefined when no closed group has the key. */
  get(key: number): number | undefined {
    const page = this.#load(pageOf(key, this.#pages));
    for (let at = 0; at < PAGE; at += ENTRY) {
      const value = page.readDoubleLE(at + 8);
      if (value === 0) return undefined;
      if (page.readDoubleLE(at) === key) return value - 1;
    }
    return undefined;
  }

  set(key: number, offset: number): void {
    const number = pageOf(key, this.#pages);
    const page = this.#load(number);
    for (let at = 0; at < PAGE; at += ENTRY) {
      const value = page.readDoubleLE(at + 8);
      if (value !== 0 && page.readDoubleLE(at) !== key) continue;
      page.writeDoubleLE(key, at);
      page.writeDoubleLE(offset + 1, at + 8);
      writeSync(this.#fd, page, at, ENTRY, number * PAGE + at);
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

  #load(number: number): Buffer {
    const read = readSync(this.#fd, this.#page, 0, PAGE, number * PAGE);
    if (read < PAGE) this.#page.fill(0, read);
    return this.#page;
  }

  /** Entries of page n go to n or n + pages; the new table takes the name when it is on disk. */
  #double(): void {
    const next = `${this.#file}.next`;
    const fd = openSync(next, 'w+', 0o600);
    const pages = this.#pages * 2;
    ftruncateSync(fd, pages * PAGE);
    for (let number = 0; number < this.#pages; number += 1) {
      const from = this.#load(number);
      const halves = [Buffer.alloc(PAGE), Buffer.alloc(PAGE)] as const;
      const used = [0, 0];
      for (let at = 0; at < PAGE && from.readDoubleLE(at + 8) !== 0; at += ENTRY) {
        const half = pageOf(from.readDoubleLE(at), pages) === number ? 0 : 1;
        const place = used[half] ?? 0;
        from.copy(halves[half], place, at, at + ENTRY);
        used[half] = place + ENTRY;
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
