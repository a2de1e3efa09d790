/**
 * Which records can bear on each other: those that share a call id, an operation id, a span, a parent or a receipt.
 * Each group is judged by itself, so that only one of them is ever in memory as objects. Keys are kept as hashes: two
 * that collide put two groups together, which costs a little time and changes nothing.
 */
const START = 1 << 12;
/** Share of the slots that are taken before there are more of them, and how many more. */
const FULL = 0.7;
const GROWTH = 1.5;

/** Grouping by shared keys (union-find over the numbers of the items). */
export class Clusters {
  #parents = new Uint32Array(START);
  #items = 0;
  #keys = new Float64Array(START);
  /** Item that a key was first seen with, plus one; 0 is an empty slot. */
  #firsts = new Uint32Array(START);
  #size = 0;
  #capacity = START;

  get length(): number {
    return this.#items;
  }

  /** The next item, in a group of its own. */
  add(): number {
    if (this.#items === this.#parents.length) {
      const grown = new Uint32Array(this.#items * 2);
      grown.set(this.#parents);
      this.#parents = grown;
    }
    this.#parents[this.#items] = this.#items;
    return this.#items++;
  }

  /** Puts the item into the group of everything that has this key. */
  link(item: number, key: number): void {
    if (this.#size > this.#capacity * FULL) this.#grow();
    let slot = this.#slotOf(key);
    for (;;) {
      const first = this.#firsts[slot] ?? 0;
      if (first === 0) {
        this.#keys[slot] = key;
        this.#firsts[slot] = item + 1;
        this.#size += 1;
        return;
      }
      if (this.#keys[slot] === key) {
        this.#join(item, first - 1);
        return;
      }
      slot = slot + 1 === this.#capacity ? 0 : slot + 1;
    }
  }

  /** As `link`, but a key that nothing has stays unknown: parents that are no calls group nothing. */
  linkKnown(item: number, key: number): void {
    for (let slot = this.#slotOf(key); ; slot = slot + 1 === this.#capacity ? 0 : slot + 1) {
      const first = this.#firsts[slot] ?? 0;
      if (first === 0) return;
      if (this.#keys[slot] === key) {
        this.#join(item, first - 1);
        return;
      }
    }
  }

  /** The groups: items in the order of their groups, and where each group begins. */
  finish(): { readonly items: Uint32Array; readonly starts: Uint32Array } {
    const count = this.#items;
    const sizes = new Uint32Array(count + 1);
    for (let item = 0; item < count; item++) {
      const root = this.#root(item);
      sizes[root] = (sizes[root] ?? 0) + 1;
    }
    let groups = 0;
    let next = 0;
    const places = new Uint32Array(count);
    for (let root = 0; root < count; root++) {
      places[root] = next;
      next += sizes[root] ?? 0;
      if (sizes[root] !== 0) groups += 1;
    }
    const starts = new Uint32Array(groups + 1);
    let group = 0;
    for (let root = 0; root < count; root++) if (sizes[root] !== 0) starts[group++] = places[root] ?? 0;
    starts[groups] = count;
    const items = new Uint32Array(count);
    for (let item = 0; item < count; item++) {
      const root = this.#root(item);
      const place = places[root] ?? 0;
      items[place] = item;
      places[root] = place + 1;
    }
    this.#keys = new Float64Array(0);
    this.#firsts = new Uint32Array(0);
    return { items, starts };
  }

  #root(item: number): number {
    let at = item;
    for (;;) {
      const parent = this.#parents[at] ?? at;
      if (parent === at) return at;
      const above = this.#parents[parent] ?? parent;
      this.#parents[at] = above;
      at = above;
    }
  }

  /** The lower number is the root, so that groups come in the order of their first items. */
  #join(a: number, b: number): void {
    const [one, two] = [this.#root(a), this.#root(b)];
    if (one < two) this.#parents[two] = one;
    else if (two < one) this.#parents[one] = two;
  }

  #slotOf(key: number): number {
    return Math.floor((mixed(key) / 0x1_0000_0000) * this.#capacity);
  }

  #grow(): void {
    const [keys, firsts] = [this.#keys, this.#firsts];
    const capacity = Math.ceil(keys.length * GROWTH);
    this.#capacity = capacity;
    this.#keys = new Float64Array(capacity);
    this.#firsts = new Uint32Array(capacity);
    for (let i = 0; i < keys.length; i++) {
      const first = firsts[i] ?? 0;
      if (first === 0) continue;
      const key = keys[i] ?? 0;
      let slot = this.#slotOf(key);
      while (this.#firsts[slot] !== 0) slot = slot + 1 === this.#capacity ? 0 : slot + 1;
      this.#keys[slot] = key;
      this.#firsts[slot] = first;
    }
  }
}

/** 32 bits of a key. */
function mixed(key: number): number {
  return (Math.imul((key % 0x1_0000_0000) | 0, 0x9e37_79b1) ^ (key / 0x1_0000_0000)) >>> 0;
}

/** The same of a span id and its trace id as numbers: four of the trace at the beginning, two of the span at `at`. */
export function hashOfSpan(ids: Uint32Array, at: number, seed: number): number {
  let one = 0xdead_beef ^ seed;
  let two = 0x41c6_ce57 ^ seed;
  for (let i = 0; i < 6; i++) {
    const word = ids[i < 4 ? i : at + i - 4] ?? 0;
    one = Math.imul(one ^ word, 0x9e37_79b1);
    one ^= one >>> 15;
    two = Math.imul(two ^ word, 0x5f35_6495);
    two ^= two >>> 13;
  }
  return finished(one, two);
}

/** 53 bits of a text (cyrb53 by bryc, public domain): for grouping only, never for identity. */
export function hashOf(text: string, seed: number): number {
  let one = 0xdead_beef ^ seed;
  let two = 0x41c6_ce57 ^ seed;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    one = Math.imul(one ^ code, 0x9e37_79b1);
    two = Math.imul(two ^ code, 0x5f35_6495);
  }
  return finished(one, two);
}

function finished(first: number, second: number): number {
  const one =
    Math.imul(first ^ (first >>> 16), 0x85eb_ca6b) ^ Math.imul(second ^ (second >>> 13), 0xc2b2_ae35);
  const two = Math.imul(second ^ (second >>> 16), 0x85eb_ca6b) ^ Math.imul(one ^ (one >>> 13), 0xc2b2_ae35);
  return 4_294_967_296 * (0x1f_ffff & two) + (one >>> 0);
}
