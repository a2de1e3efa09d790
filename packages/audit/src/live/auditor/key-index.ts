/**
 * From a key to the frame of the closed group that has it, on disk: the memory of the process does not grow with what
 * is closed. A hash table of pages that doubles when a page is full; the operating system caches the pages.
 *
 * Nearly every question is about a key that no closed group has, and a filter of a fixed size answers it without the
 * disk. New keys wait in memory and go to their pages together: a process that is killed loses those since the last
 * `sync`, and reads the evidence of their groups again from the place that was noted with it.
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

const PAGE = 4096;
/** A key and an offset plus one, which is 0 in a place that is free; in the byte order of the machine. */
const NUMBERS = PAGE / 8;
const FIRST_PAGES = 16;
/** A bound of memory, and of how long one flush takes. */
const MAX_PENDING = 16_384;
/** Bits of the filter (8 MiB): at ten million keys one question of twenty still goes to the disk. */
const FILTER_BITS = 2 ** 26;
const PROBES = 3;

export class KeyIndex {
  readonly #file: string;
  #fd: number;
  #pages: number;
  readonly #entries = new Float64Array(NUMBERS);
  readonly #page: Uint8Array = new Uint8Array(this.#entries.buffer);
  readonly #filter: Uint8Array = new Uint8Array(FILTER_BITS / 8);
  readonly #pending = new Map<number, number>();

  constructor(file: string) {
    this.#file = file;
    this.#fd = openSync(file, constantsOf(file), 0o600);
    const pages = fstatSync(this.#fd).size / PAGE;
    this.#pages = Number.isInteger(Math.log2(pages)) ? pages : FIRST_PAGES;
    ftruncateSync(this.#fd, this.#pages * PAGE);
    for (let number = 0; number < this.#pages; number += 1) {
      const entries = this.#load(number);
      for (let at = 0; at < NUMBERS && entries[at + 1] !== 0; at += 2) this.#remember(entries[at] ?? 0);
    }
  }

  /** Offset of the frame; undefined when no closed group has the key. */
  get(key: number): number | undefined {
    const pending = this.#pending.get(key);
    if (pending !== undefined) return pending;
    if (!this.#mayHave(key)) return undefined;
    const entries = this.#load(pageOf(key, this.#pages));
    for (let at = 0; at < NUMBERS; at += 2) {
      const value = entries[at + 1] ?? 0;
      if (value === 0) return undefined;
      if (entries[at] === key) return value - 1;
    }
    return undefined;
  }

  set(key: number, offset: number): void {
    this.#pending.set(key, offset);
    this.#remember(key);
    if (this.#pending.size >= MAX_PENDING) this.#flush();
  }

  /** Every key that was set is on disk when this returns. */
  sync(): void {
    this.#flush();
    fsyncSync(this.#fd);
  }

  close(): void {
    this.#flush();
    closeSync(this.#fd);
  }

  #remember(key: number): void {
    for (let probe = 0; probe < PROBES; probe += 1) {
      const bit = bitOf(key, probe);
      this.#filter[bit >>> 3] = (this.#filter[bit >>> 3] ?? 0) | (1 << (bit & 7));
    }
  }

  #mayHave(key: number): boolean {
    for (let probe = 0; probe < PROBES; probe += 1) {
      const bit = bitOf(key, probe);
      if (((this.#filter[bit >>> 3] ?? 0) & (1 << (bit & 7))) === 0) return false;
    }
    return true;
  }

  /** One read and one write for all the keys of a page. */
  #flush(): void {
    let left = [...this.#pending];
    while (left.length > 0) {
      const pages = byPage(left, this.#pages);
      left = [];
      for (const [number, keys] of pages) {
        const entries = this.#load(number);
        for (const [key, offset] of keys) {
          const place = placeOf(entries, key);
          if (place === undefined) left.push([key, offset]);
          else entries.set([key, offset + 1], place);
        }
        writeSync(this.#fd, this.#page, 0, PAGE, number * PAGE);
      }
      if (left.length > 0) this.#double();
    }
    this.#pending.clear();
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

type Entry = readonly [key: number, offset: number];

function byPage(entries: readonly Entry[], pages: number): ReadonlyMap<number, readonly Entry[]> {
  const groups = new Map<number, Entry[]>();
  for (const entry of entries) {
    const number = pageOf(entry[0], pages);
    const held = groups.get(number);
    if (held === undefined) groups.set(number, [entry]);
    else held.push(entry);
  }
  return groups;
}

/** Where the key stands or may stand; undefined in a page that is full. */
function placeOf(entries: Float64Array, key: number): number | undefined {
  for (let at = 0; at < NUMBERS; at += 2) {
    if (entries[at + 1] === 0 || entries[at] === key) return at;
  }
  return undefined;
}

function bitOf(key: number, probe: number): number {
  return ((key % FILTER_BITS) + probe * (Math.floor(key / FILTER_BITS) | 1)) % FILTER_BITS;
}

/** Keys are hashes of 53 bits already. */
function pageOf(key: number, pages: number): number {
  return key % pages;
}
