/**
 * What Collectors and SDKs say of their own losses, looked at again and again: files, or the metrics page of a
 * Collector. Counters are taken as they stand: what was lost once stays lost until its counter begins anew.
 */
import { readFileSync, statSync } from 'node:fs';
import { readLoss, type LossRow } from '../../evidence/loss.js';

/** A look at a page asks another process, and one at a file reads all of it. */
const EVERY_MS = 5_000;
const TIMEOUT_MS = 3_000;
/** A metrics page of a Collector is some hundred kilobytes. */
const MAX_BYTES = 16 << 20;

interface Watched {
  readonly id: string;
  readonly path: string;
  rows: readonly LossRow[];
  /** Time and length of the file that `rows` are of. */
  stamp: string;
  problem: string | undefined;
}

export class LossWatch {
  readonly #watched: readonly Watched[];
  readonly #onProblem: (text: string) => void;
  #next = 0;

  constructor(sources: readonly string[], onProblem: (text: string) => void) {
    this.#onProblem = onProblem;
    this.#watched = sources.map((path, index) => ({
      id: index === 0 ? 'loss' : `loss${index + 1}`,
      path,
      rows: [],
      stamp: '',
      problem: undefined,
    }));
  }

  get rows(): readonly LossRow[] {
    return this.#watched.flatMap(({ rows }) => rows);
  }

  /** Looks again when it is time. What cannot be read keeps what it said last, and is told of once. */
  async refresh(now: number): Promise<void> {
    if (this.#watched.length === 0 || now < this.#next) return;
    this.#next = now + EVERY_MS;
    await Promise.all(this.#watched.map((each) => this.#look(each)));
  }

  async #look(watched: Watched): Promise<void> {
    try {
      const text = /^https?:/.test(watched.path) ? await pageAt(watched.path) : this.#fileAt(watched);
      if (text === undefined) return;
      const { rows, damaged } = readLoss({ path: watched.path, text: ofAuditBranch(text) }, watched.id);
      watched.rows = rows;
      this.#say(watched, damaged[0]?.reason);
    } catch (error) {
      this.#say(watched, error instanceof Error ? error.message : String(error));
    }
  }

  /** Undefined when it is as it was. */
  #fileAt(watched: Watched): string | undefined {
    const { mtimeMs, size } = statSync(watched.path);
    const stamp = `${mtimeMs} ${size}`;
    if (stamp === watched.stamp) return undefined;
    watched.stamp = stamp;
    return readFileSync(watched.path, 'utf8');
  }

  #say(watched: Watched, problem: string | undefined): void {
    if (problem !== undefined && problem !== watched.problem) {
      this.#onProblem(`${watched.path}, which tells of losses: ${problem}`);
    }
    watched.problem = problem;
  }
}

const OF_AUDIT = /\bexporter="(?:[^"]*\/audit|load_?balancing[^"]*)"/;
const OF_EXPORTER = /\bexporter="/;

/**
 * A page of the Collector without the samples of exporters beside the audit branch: a viewing store that is down costs no
 * evidence. Exporters are known as in `collector-config`, by `/audit` in their names; a page without any stays as it is.
 */
function ofAuditBranch(text: string): string {
  if (!OF_AUDIT.test(text)) return text;
  return (
    text
      .split('\n')
      // An empty line in its place keeps the numbers of the others.
      .map((line) => (OF_EXPORTER.test(line) && !OF_AUDIT.test(line) ? '' : line))
      .join('\n')
  );
}

async function pageAt(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'error' });
  if (!response.ok) throw new Error(`answered ${response.status}`);
  const text = await response.text();
  if (text.length > MAX_BYTES) throw new Error(`a page of more than ${MAX_BYTES} bytes`);
  return text;
}
