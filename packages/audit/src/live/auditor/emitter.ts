/**
 * Sends events to an OTLP/HTTP endpoint, in their order, from the file that holds them: nothing is kept in memory while
 * the endpoint is down. What was taken is noted on disk; between the answer and the note a crash sends one request
 * again, with the same event ids.
 */
import { closeSync, fdatasync, openSync, readFileSync, writeSync } from 'node:fs';
import { parseEvent, type StateEvent } from './events.js';
import { logsOf, spansOf } from './otlp.js';
import { START, Tail } from './tail.js';

export interface EmitterOptions {
  readonly eventFile: string;
  /** Where the place of the next event is noted. */
  readonly progressFile: string;
  /** Base URL; `/v1/logs` and `/v1/traces` are added. */
  readonly endpoint: string;
  /** Sent with every request, for instance an authorization. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly verdictSpans: boolean;
  readonly version: string;
  readonly now: () => number;
  readonly onProblem: (text: string) => void;
}

export interface EmitterStats {
  /** Events that the endpoint has taken since the start of the process. */
  readonly sent: number;
  readonly failures: number;
  /** Events that the endpoint refused for good; they stay in the file. */
  readonly refused: number;
  /** Bytes of events that wait. */
  readonly waitingBytes: number;
}

type Answer =
  | { readonly kind: 'taken' }
  | { readonly kind: 'later'; readonly why: string; readonly afterMs: number | undefined }
  | { readonly kind: 'refused'; readonly why: string };

const MAX_EVENTS = 256;
/** Of the number in the progress file: it is written over in place. */
const WIDTH = 20;
const TIMEOUT_MS = 10_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;

export class Emitter {
  readonly #options: EmitterOptions;
  readonly #tail: Tail;
  /** Read and not yet taken, each with the place of the event behind it. */
  #queue: { readonly event: StateEvent | undefined; readonly end: number }[] = [];
  readonly #progress: number;
  #pause = 0;
  #notBefore = 0;
  #sent = 0;
  #failures = 0;
  #refused = 0;

  constructor(options: EmitterOptions) {
    this.#options = options;
    this.#tail = new Tail(options.eventFile, { ...START, offset: noted(options.progressFile) });
    closeSync(openSync(options.progressFile, 'a', 0o600));
    this.#progress = openSync(options.progressFile, 'r+');
  }

  stats(): EmitterStats {
    return {
      sent: this.#sent,
      failures: this.#failures,
      refused: this.#refused,
      waitingBytes: this.#tail.behind + (this.#queue.length > 0 ? 1 : 0),
    };
  }

  /** Sends what there is; steps must not overlap. Never throws for what the endpoint does. */
  async step(): Promise<void> {
    if (this.#options.now() < this.#notBefore) return;
    for (;;) {
      if (this.#queue.length === 0) {
        const piece = this.#tail.read();
        if (piece === undefined) return;
        let end = piece.from.offset;
        this.#queue = piece.bytes
          .toString('latin1')
          .split('\n')
          .slice(0, -1)
          .map((line) => {
            end += line.length + 1;
            return { event: parseEvent(Buffer.from(line, 'latin1').toString('utf8')), end };
          });
      }
      while (this.#queue.length > 0) if (!(await this.#sendSome())) return;
    }
  }

  async #sendSome(size = MAX_EVENTS): Promise<boolean> {
    const batch = this.#queue.slice(0, size);
    const events = batch.map(({ event }) => event).filter((event) => event !== undefined);
    const answer = await this.#send(events);
    switch (answer.kind) {
      case 'taken':
        this.#queue.splice(0, batch.length);
        this.#note(batch.at(-1)?.end ?? 0);
        this.#sent += events.length;
        this.#pause = 0;
        return true;
      case 'later':
        this.#failures += 1;
        this.#pause = Math.min(Math.max(this.#pause * 2, FIRST_PAUSE_MS), LONGEST_PAUSE_MS);
        this.#notBefore = this.#options.now() + (answer.afterMs ?? this.#pause);
        if (this.#failures === 1 || this.#pause === LONGEST_PAUSE_MS) {
          this.#options.onProblem(`events wait on disk: ${answer.why}`);
        }
        return false;
      case 'refused':
        // One bad event must not hold the others: the request is halved until it is alone.
        if (batch.length > 1) return this.#sendSome(Math.ceil(batch.length / 2));
        this.#refused += 1;
        this.#queue.splice(0, 1);
        this.#note(batch.at(-1)?.end ?? 0);
        this.#options.onProblem(
          `an event was refused and stays in ${this.#options.eventFile}: ${answer.why}`,
        );
        return true;
      default:
        return answer satisfies never;
    }
  }

  /** At once for a process that is killed; on disk soon after, for a machine that stops. */
  #note(offset: number): void {
    writeSync(this.#progress, `${String(offset).padStart(WIDTH)}\n`, 0);
    fdatasync(this.#progress, () => undefined);
  }

  close(): void {
    closeSync(this.#progress);
  }

  async #send(events: readonly StateEvent[]): Promise<Answer> {
    if (events.length === 0) return { kind: 'taken' };
    const { version, verdictSpans } = this.#options;
    const answer = await this.#post('/v1/logs', logsOf(events, version));
    if (answer.kind !== 'taken' || !verdictSpans) return answer;
    const spans = spansOf(events, version);
    return spans === undefined ? answer : this.#post('/v1/traces', spans);
  }

  async #post(path: string, body: object): Promise<Answer> {
    const url = `${this.#options.endpoint.replace(/\/$/, '')}${path}`;
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { ...this.#options.headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      await response.arrayBuffer();
      if (response.ok) return { kind: 'taken' };
      const why = `${url} answered ${response.status}`;
      // 400 and 413 speak of the body; any other answer may be another one later (OTLP/HTTP, "Failures").
      if (response.status === 400 || response.status === 413) return { kind: 'refused', why };
      const after = Number(response.headers.get('retry-after') ?? Number.NaN);
      return {
        kind: 'later',
        why,
        afterMs: Number.isFinite(after) ? Math.min(after, 300) * 1000 : undefined,
      };
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      return {
        kind: 'later',
        why: `${url}: ${cause instanceof Error ? cause.message : String(cause)}`,
        afterMs: undefined,
      };
    }
  }
}

/** The place that an earlier process noted. */
function noted(file: string): number {
  try {
    const offset = Number(readFileSync(file, 'utf8'));
    return Number.isSafeInteger(offset) && offset > 0 ? offset : 0;
  } catch {
    return 0;
  }
}
