/**
 * Groups of related evidence that may still grow. A group that is closed is on disk alone; evidence that bears on it
 * brings it back.
 */
import { identityOf, keysOf, type Item } from './items.js';

/** What was last said of an operation. */
export interface OperationState {
  readonly digest: string;
  readonly revision: number;
  readonly verdict: string;
  /** Fingerprints of its findings. */
  readonly findings: readonly string[];
}

/** A group as it stands on disk. */
export interface ClosedGroup {
  readonly items: readonly Item[];
  readonly keys: readonly number[];
  readonly states: ReadonlyMap<string, OperationState>;
}

export interface OpenGroup {
  items: Item[];
  keys: Set<number>;
  waits: Set<number>;
  states: Map<string, OperationState>;
  /** Milliseconds of the clock of this process. */
  opened: number;
  touched: number;
  /** First byte, by source, of what is not yet on disk as a closed group. */
  from: Map<string, { readonly offset: number; readonly line: number }>;
  /** Identities of what came from disk; undefined for a group that was never closed. */
  known: Set<string> | undefined;
}

export interface ClosedStore {
  find(key: number): ClosedGroup | undefined;
}

export class OpenGroups {
  readonly #store: ClosedStore;
  readonly #byKey = new Map<number, OpenGroup>();
  readonly #waiting = new Map<number, Set<OpenGroup>>();
  /** In the order in which they were last touched. */
  readonly #groups = new Set<OpenGroup>();
  #items = 0;

  constructor(store: ClosedStore) {
    this.#store = store;
  }

  get size(): number {
    return this.#groups.size;
  }

  get items(): number {
    return this.#items;
  }

  /** Longest untouched first. */
  [Symbol.iterator](): Iterator<OpenGroup> {
    return this.#groups.values();
  }

  add(
    item: Item,
    source: string,
    from: { readonly offset: number; readonly line: number },
    now: number,
  ): void {
    const { shared, joins, waits } = keysOf(item);
    const related = new Set<OpenGroup>();
    for (const key of [...shared, ...joins]) {
      const group = this.#byKey.get(key) ?? this.#reopen(key, now);
      if (group !== undefined) related.add(group);
    }
    for (const key of shared) for (const group of this.#waiting.get(key) ?? []) related.add(group);
    const group = this.#merge(related) ?? this.#create(now);
    this.#groups.delete(group);
    this.#groups.add(group);
    for (const key of shared) this.#own(group, key);
    if (waits !== undefined && !this.#byKey.has(waits)) this.#wait(group, waits);
    if (group.known !== undefined) {
      const identity = identityOf(item);
      if (group.known.has(identity)) return;
      group.known.add(identity);
    }
    group.items.push(item);
    this.#items += 1;
    group.touched = now;
    const earlier = group.from.get(source);
    if (earlier === undefined || from.offset < earlier.offset) group.from.set(source, from);
  }

  remove(group: OpenGroup): void {
    if (!this.#groups.delete(group)) return;
    this.#items -= group.items.length;
    for (const key of group.keys) if (this.#byKey.get(key) === group) this.#byKey.delete(key);
    for (const key of group.waits) {
      const waiting = this.#waiting.get(key);
      waiting?.delete(group);
      if (waiting?.size === 0) this.#waiting.delete(key);
    }
  }

  #create(now: number): OpenGroup {
    const group: OpenGroup = {
      items: [],
      keys: new Set(),
      waits: new Set(),
      states: new Map(),
      opened: now,
      touched: now,
      from: new Map(),
      known: undefined,
    };
    this.#groups.add(group);
    return group;
  }

  #reopen(key: number, now: number): OpenGroup | undefined {
    const closed = this.#store.find(key);
    if (closed === undefined) return undefined;
    const related = new Set<OpenGroup>();
    for (const each of closed.keys) {
      const open = this.#byKey.get(each);
      if (open !== undefined) related.add(open);
    }
    const group = this.#create(now);
    for (const item of closed.items) group.items.push(item);
    this.#items += group.items.length;
    group.known = new Set(closed.items.map(identityOf));
    group.states = new Map(closed.states);
    for (const each of closed.keys) this.#own(group, each);
    related.add(group);
    return this.#merge(related);
  }

  #own(group: OpenGroup, key: number): void {
    group.keys.add(key);
    this.#byKey.set(key, group);
  }

  #wait(group: OpenGroup, key: number): void {
    group.waits.add(key);
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) this.#waiting.set(key, new Set([group]));
    else waiting.add(group);
  }

  #merge(groups: ReadonlySet<OpenGroup>): OpenGroup | undefined {
    const [largest, ...others] = [...groups].sort((a, b) => b.items.length - a.items.length);
    if (largest === undefined) return undefined;
    for (const other of others) {
      this.remove(other);
      this.#absorb(largest, other);
    }
    return largest;
  }

  #absorb(group: OpenGroup, other: OpenGroup): void {
    const known = group.known ?? other.known;
    if (known !== undefined) {
      group.known = new Set(group.items.map(identityOf));
      other.items = other.items.filter((item) => !group.known?.has(identityOf(item)));
      for (const item of other.items) group.known.add(identityOf(item));
    }
    for (const item of other.items) group.items.push(item);
    this.#items += other.items.length;
    for (const key of other.keys) this.#own(group, key);
    for (const key of other.waits) this.#wait(group, key);
    for (const [key, state] of other.states) {
      const held = group.states.get(key);
      if (held === undefined || held.revision < state.revision) group.states.set(key, state);
    }
    group.opened = Math.min(group.opened, other.opened);
    group.touched = Math.max(group.touched, other.touched);
    for (const [source, from] of other.from) {
      const held = group.from.get(source);
      if (held === undefined || from.offset < held.offset) group.from.set(source, from);
    }
  }
}
