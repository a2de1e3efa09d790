/**
 * The operations of a report in their order, made when they are asked for: a report over a million spans is written
 * out one operation at a time.
 */
import { compareText } from './evidence/rows.js';
import type { JudgedOperation, Verdicts } from './evidence/index.js';
import type { ReportOperation, ReportOperations } from './report.js';
import type { Operation, Run } from './rule.js';
import { hashOf } from './evidence/clusters.js';

/** Up to this number a report holds its operations as an ordinary array. */
const HELD = 2_000;

/** Up to this number of operations a run is held while its rules look at it. */
const HELD_RUN = 1_000;

/** In the place of the hash of a run; hashes are not negative. */
const UNREAD = -1;
const NO_RUN = -2;

/** Where each operation is found again: its group, its place there, its start, its run. 24 bytes each. */
export class OperationIndex {
  readonly #verdicts: Verdicts;
  #groups: Uint32Array;
  #places: Uint32Array;
  #starts: BigUint64Array;
  #runs: Float64Array;
  #length = 0;
  /** Hashes of the runs that somebody wants to see. */
  readonly #wantedRuns = new Set<number>();
  #order: Uint32Array | undefined;
  #cached: { readonly group: number; readonly operations: readonly JudgedOperation[] } | undefined;

  constructor(verdicts: Verdicts) {
    this.#verdicts = verdicts;
    // Nearly every group is one operation.
    const capacity = Math.max(16, verdicts.groups);
    this.#groups = new Uint32Array(capacity);
    this.#places = new Uint32Array(capacity);
    this.#starts = new BigUint64Array(capacity);
    this.#runs = new Float64Array(capacity);
  }

  get length(): number {
    return this.#length;
  }

  /** The next operation, in the order of the groups. A run that is not given is read when it is asked for. */
  add(group: number, place: number, startTimeUnixNano: bigint, runId?: string): void {
    const index = this.#length++;
    if (index === this.#groups.length) this.#grow();
    this.#groups[index] = group;
    this.#places[index] = place;
    this.#starts[index] = startTimeUnixNano;
    this.#runs[index] = runId === undefined ? UNREAD : hashOf(runId, 0);
  }

  /** Somebody looks at the whole run. */
  wantRun(runId: string): void {
    this.#wantedRuns.add(hashOf(runId, 0));
  }

  /** Numbers of the operations by the start of their first call, then by key. */
  order(): Uint32Array {
    return (this.#order ??= this.#sorted());
  }

  #sorted(): Uint32Array {
    const starts = this.#starts;
    const order = Uint32Array.from({ length: this.#length }, (_, index) => index);
    // Rounded, but never out of order: the exact times are looked at only where these are equal.
    const rounded = Float64Array.from(starts, Number);
    // Keys are read again only where two operations start at one time, which is nearly never.
    const keys = new Map<number, string>();
    const keyOf = (index: number): string => {
      const known = keys.get(index);
      if (known !== undefined) return known;
      const key = this.get(index).group.key;
      keys.set(index, key);
      return key;
    };
    return order.sort((a, b) => {
      const difference = (rounded[a] ?? 0) - (rounded[b] ?? 0);
      if (difference !== 0) return difference;
      const [one, two] = [starts[a] ?? 0n, starts[b] ?? 0n];
      if (one !== two) return one < two ? -1 : 1;
      return a === b ? 0 : compareText(keyOf(a), keyOf(b));
    });
  }

  get(index: number): JudgedOperation {
    const group = this.#groups[index] ?? 0;
    if (this.#cached?.group !== group) {
      this.#cached = { group, operations: this.#verdicts.judge(group) };
    }
    const found = this.#cached.operations[this.#places[index] ?? 0];
    if (found === undefined) throw new RangeError(`there is no operation ${index}`);
    return found;
  }

  /** Every wanted run with its operations in order; a run's operations are made one after the other. */
  *runs(): Generator<Run> {
    if (this.#wantedRuns.size === 0) return;
    this.#readRuns();
    const byRun = this.order()
      .slice()
      .sort((a, b) => (this.#runs[a] ?? 0) - (this.#runs[b] ?? 0));
    let from = 0;
    while (from < byRun.length) {
      const hash = this.#runs[byRun[from] ?? 0] ?? 0;
      let to = from + 1;
      while (to < byRun.length && this.#runs[byRun[to] ?? 0] === hash) to += 1;
      if (this.#wantedRuns.has(hash)) yield this.#run(byRun.subarray(from, to));
      from = to;
    }
  }

  #readRuns(): void {
    for (let index = 0; index < this.#length; index++) {
      if (this.#runs[index] !== UNREAD) continue;
      const group = this.#groups[index] ?? 0;
      const brief = this.#verdicts.brief(group);
      const runId = brief === undefined ? this.get(index).group.runId : brief.runId();
      this.#runs[index] = runId === undefined ? NO_RUN : hashOf(runId, 0);
    }
  }

  /** A small run is made once for all rules, a large one again for each. */
  #run(members: Uint32Array): Run {
    const runId = this.get(members[0] ?? 0).group.runId ?? '';
    let held: readonly Operation[] | undefined;
    const operations = (): Iterable<Operation> => {
      if (members.length > HELD_RUN) return this.#operationsOf(members, runId);
      held ??= [...this.#operationsOf(members, runId)];
      return held;
    };
    return { runId, operations };
  }

  *#operationsOf(members: Uint32Array, runId: string): Generator<Operation> {
    for (const member of members) {
      const { group, operation } = this.get(member);
      if (group.runId === runId) yield operation;
    }
  }

  #grow(): void {
    const capacity = this.#groups.length * 2;
    const [groups, places, starts, runs] = [this.#groups, this.#places, this.#starts, this.#runs];
    this.#groups = new Uint32Array(capacity);
    this.#places = new Uint32Array(capacity);
    this.#starts = new BigUint64Array(capacity);
    this.#runs = new Float64Array(capacity);
    this.#groups.set(groups);
    this.#places.set(places);
    this.#starts.set(starts);
    this.#runs.set(runs);
  }
}

/** The operations for a report: held where they are few, else made as they are read. */
export function reportOperations(
  index: OperationIndex,
  make: (judged: JudgedOperation) => ReportOperation,
): ReportOperations {
  const list = new LazyOperations(index, make);
  return index.length <= HELD ? [...list] : list;
}

class LazyOperations implements ReportOperations {
  readonly #index: OperationIndex;
  readonly #make: (judged: JudgedOperation) => ReportOperation;

  constructor(index: OperationIndex, make: (judged: JudgedOperation) => ReportOperation) {
    this.#index = index;
    this.#make = make;
  }

  get length(): number {
    return this.#index.length;
  }

  *[Symbol.iterator](): Generator<ReportOperation, undefined> {
    for (const number of this.#index.order()) yield this.#make(this.#index.get(number));
    return undefined;
  }

  at(place: number): ReportOperation | undefined {
    const number = this.#index.order().at(place);
    return number === undefined ? undefined : this.#make(this.#index.get(number));
  }

  find(test: (operation: ReportOperation) => boolean): ReportOperation | undefined {
    for (const operation of this) if (test(operation)) return operation;
    return undefined;
  }

  filter(test: (operation: ReportOperation) => boolean): readonly ReportOperation[] {
    const found: ReportOperation[] = [];
    for (const operation of this) if (test(operation)) found.push(operation);
    return found;
  }

  map<T>(make: (operation: ReportOperation) => T): readonly T[] {
    const made: T[] = [];
    for (const operation of this) made.push(make(operation));
    return made;
  }

  slice(from: number, to?: number): readonly ReportOperation[] {
    const order = this.#index.order().subarray(from, to);
    return Array.from(order, (number) => this.#make(this.#index.get(number)));
  }
}
