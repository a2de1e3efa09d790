/** A world around the live auditor: its files, a clock that stands still, and an endpoint that remembers. */
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { LiveAuditor, type AuditorOptions, type StateEvent } from '@waybill/audit';
import { exportOf, type CallText } from '../cli/evidence.js';

/** Later than everything in `exportOf`. */
export const T0 = 1_790_000_100_000;

/** One side of a call of `exportOf`, as a line. */
export function sideOf(side: 'client' | 'server', input: CallText): string {
  const whole: unknown = JSON.parse(exportOf(input));
  const { resourceSpans } = whole as { readonly resourceSpans: readonly unknown[] };
  return `${JSON.stringify({ resourceSpans: [resourceSpans[side === 'client' ? 0 : 1]] })}\n`;
}

export class World {
  readonly directory: string = mkdtempSync(path.join(tmpdir(), 'waybill-live-'));
  readonly events: StateEvent[] = [];
  readonly problems: string[] = [];
  now: number = T0;
  readonly #running = new Set<LiveAuditor>();

  start(options: Partial<AuditorOptions> = {}): LiveAuditor {
    const auditor = new LiveAuditor({
      directory: this.directory,
      graceMs: 60_000,
      now: () => this.now,
      onChange: (event) => this.events.push(event),
      onProblem: (text) => this.problems.push(text),
      ...options,
    });
    this.#running.add(auditor);
    return auditor;
  }

  file(name: string): string {
    return path.join(this.directory, name);
  }

  append(name: string, text: string): void {
    appendFileSync(this.file(name), text);
  }

  /** A record with its length before it, as the receiver stores protobuf; readers take JSON in a frame too. */
  appendFrame(name: string, text: string): void {
    const record = Buffer.from(text);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(record.length);
    appendFileSync(this.file(name), Buffer.concat([length, record]));
  }

  /** Everything that is on disk is read, and the clock moves. */
  async after(ms: number, auditor: LiveAuditor): Promise<void> {
    while (await auditor.step());
    this.now += ms;
    while (await auditor.step());
  }

  /** Verdicts as they were said, in order, from the file. */
  said(): readonly string[] {
    return readFileSync(this.file('.live/events.jsonl'), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line): StateEvent => JSON.parse(line))
      .map(({ operation, revision }) => `${operation?.key ?? '-'} ${revision} ${operation?.verdict ?? '-'}`);
  }

  async stop(auditor: LiveAuditor): Promise<void> {
    this.#running.delete(auditor);
    await auditor.close();
  }

  async remove(): Promise<void> {
    for (const auditor of this.#running) await auditor.close();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

export interface Taken {
  readonly path: string;
  readonly body: unknown;
}

export interface Sink {
  readonly url: string;
  readonly taken: readonly Taken[];
  /** Status of the answers from now on. */
  answer(status: number): void;
  close(): Promise<void>;
}

/** An OTLP/HTTP endpoint. */
export async function startSink(): Promise<Sink> {
  const taken: Taken[] = [];
  let status = 200;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (status === 200) {
        taken.push({ path: request.url ?? '', body: JSON.parse(Buffer.concat(chunks).toString()) });
      }
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    taken,
    answer: (next) => {
      status = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface LogBody {
  readonly resourceLogs: readonly {
    readonly scopeLogs: readonly {
      readonly logRecords: readonly {
        readonly eventName: string;
        readonly traceId?: string;
        readonly spanId?: string;
        readonly attributes: readonly {
          readonly key: string;
          readonly value: { readonly stringValue?: string };
        }[];
      }[];
    }[];
  }[];
}

/** Log records that a sink took: event name, trace and span, attributes that are text. */
export function recordsOf(sink: Sink): readonly {
  readonly name: string;
  readonly traceId: string | undefined;
  readonly spanId: string | undefined;
  readonly attributes: Readonly<Record<string, string | undefined>>;
}[] {
  return sink.taken
    .filter(({ path: target }) => target === '/v1/logs')
    .flatMap(({ body }) => (body as LogBody).resourceLogs)
    .flatMap(({ scopeLogs }) => scopeLogs)
    .flatMap(({ logRecords }) => logRecords)
    .map(({ eventName, traceId, spanId, attributes }) => ({
      name: eventName,
      traceId,
      spanId,
      attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue])),
    }));
}

export async function until(what: () => boolean | Promise<boolean>, ms = 20_000): Promise<void> {
  const end = Date.now() + ms;
  while (!(await what())) {
    if (Date.now() > end) throw new Error(`it did not come to pass in ${ms} ms`);
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
}
