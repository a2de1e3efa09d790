/** A map that forgets its oldest entries: nothing of a long-lived process may grow with its calls. */
export class BoundedMap<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  /** Stores `value` as the newest entry and drops the oldest one over the limit. */
  set(key: K, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#limit) return;
    const oldest = this.#entries.keys().next();
    if (oldest.done !== true) this.#entries.delete(oldest.value);
  }

  delete(key: K): boolean {
    return this.#entries.delete(key);
  }

  values(): IterableIterator<V> {
    return this.#entries.values();
  }
}

/** Up to this many entries are searched one by one. */
const FEW = 16;

/**
 * A map of what is under way, in the order of insertion: mostly a handful. A `Map` that is set and deleted for each call
 * leaves its old tables behind, which hold on to the calls of the past until the whole heap is collected.
 */
export class OpenMap<K, V> {
  readonly #keys: K[] = [];
  readonly #values: V[] = [];
  #many: Map<K, V> | undefined;

  get size(): number {
    return this.#many?.size ?? this.#keys.length;
  }

  get(key: K): V | undefined {
    if (this.#many !== undefined) return this.#many.get(key);
    const at = this.#keys.indexOf(key);
    return at === -1 ? undefined : this.#values[at];
  }

  set(key: K, value: V): void {
    if (this.#many !== undefined) {
      this.#many.set(key, value);
      return;
    }
    const at = this.#keys.indexOf(key);
    if (at !== -1) this.#values[at] = value;
    else if (this.#keys.length === FEW) this.#grow(key, value);
    else {
      this.#keys.push(key);
      this.#values.push(value);
    }
  }

  delete(key: K): void {
    if (this.#many !== undefined) {
      this.#many.delete(key);
      if (this.#many.size === 0) this.#many = undefined;
      return;
    }
    const at = this.#keys.indexOf(key);
    if (at === -1) return;
    this.#keys.splice(at, 1);
    this.#values.splice(at, 1);
  }

  oldest(): V | undefined {
    if (this.#many === undefined) return this.#values[0];
    const [first] = this.#many.values();
    return first;
  }

  /** As they are now: what is added or deleted meanwhile changes nothing. */
  values(): readonly V[] {
    return this.#many === undefined ? [...this.#values] : [...this.#many.values()];
  }

  #grow(key: K, value: V): void {
    const many = new Map<K, V>();
    for (const [at, known] of this.#keys.entries()) many.set(known, this.#values[at] as V);
    this.#many = many.set(key, value);
    this.#keys.length = 0;
    this.#values.length = 0;
  }
}

/** The newest entries, in a ring: written for each call, searched only for what is out of the ordinary. */
export class RecentMap<K, V> {
  readonly #limit: number;
  readonly #entries: { readonly key: K; readonly value: V }[] = [];
  #next = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  set(key: K, value: V): void {
    this.#entries[this.#next] = { key, value };
    this.#next = (this.#next + 1) % this.#limit;
  }

  /** The newest value of the key. */
  get(key: K): V | undefined {
    const count = this.#entries.length;
    for (let back = 1; back <= count; back++) {
      const entry = this.#entries[(this.#next - back + count) % count];
      if (entry?.key === key) return entry.value;
    }
    return undefined;
  }
}
