/** Counts over all operations, open to be rebuilt from the events. */
import type { StateEvent } from './events.js';

export interface TallyCounts {
  readonly verdicts: Readonly<Record<string, number>>;
  /** `rule` and `level`, joined by a space. */
  readonly findings: Readonly<Record<string, number>>;
}

export class EventTally {
  readonly #verdicts: Map<string, number>;
  readonly #findings: Map<string, number>;

  constructor(counts: TallyCounts = { verdicts: {}, findings: {} }) {
    this.#verdicts = new Map(Object.entries(counts.verdicts));
    this.#findings = new Map(Object.entries(counts.findings));
  }

  add(event: StateEvent): void {
    if (event.operation !== null) {
      if (event.previous !== null) add(this.#verdicts, event.previous, -1);
      add(this.#verdicts, event.operation.verdict, 1);
    }
    for (const { rule, level } of event.findings) add(this.#findings, `${rule} ${level}`, 1);
  }

  counts(): TallyCounts {
    return { verdicts: Object.fromEntries(this.#verdicts), findings: Object.fromEntries(this.#findings) };
  }
}

function add(counts: Map<string, number>, key: string, by: number): void {
  counts.set(key, (counts.get(key) ?? 0) + by);
}
