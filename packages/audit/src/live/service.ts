/** What the receiver does with one request. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import { AppendLog } from './append-log.js';
import { unpackWithin } from './body.js';
import { Budget } from './budget.js';
import { convert, encodingOf, type Conversion, type Encoding } from './convert.js';
import { Attempts } from './attempts.js';
import { FRAMES, LINES } from './form.js';
import { mayRead } from './host.js';
import { Quarantine, type QuarantinedBody } from './quarantine.js';
import {
  respondError,
  respondJson,
  respondPage,
  respondSuccess,
  respondLater,
  type PartialSuccess,
} from './respond.js';
import { SIGNALS, signalOfPath, type Signal, type SignalName } from './signals.js';
import type { ReceiverOptions, ReceiverStats } from './types.js';

const MEBIBYTE = 1 << 20;

/** What a sender declares; quoted in notes only. */
interface Declared {
  readonly signal: Signal | undefined;
  readonly contentType: string;
  readonly contentEncoding: string;
}

type Intake =
  | { readonly kind: 'body'; readonly body: Buffer }
  | { readonly kind: 'quarantined'; readonly file: string }
  /** More than there is room for, from a sender that did not announce it. */
  | { readonly kind: 'too much' }
  | { readonly kind: 'gone' };

/** Takes requests in, stores them, answers. */
export class Service {
  /** By the name of the file. */
  private readonly logs: ReadonlyMap<string, AppendLog>;
  private readonly quarantine: Quarantine;
  private readonly options: ReceiverOptions;
  private readonly maxBodyBytes: number;
  private readonly maxUnpackedBytes: number;
  private readonly maxPendingBytes: number;
  private readonly unpacking: Budget;
  private readonly retryAfterSeconds: number;
  private pendingBytes = 0;
  private requests = 0;
  private quarantined = 0;
  private refused = 0;
  private slowed = 0;
  private readonly stored: Record<SignalName, number> = { traces: 0, logs: 0, metrics: 0 };
  private failure: string | undefined;
  private readonly attempts = new Attempts();

  constructor(directory: string, options: ReceiverOptions) {
    this.options = options;
    this.logs = new Map(
      SIGNALS.flatMap(({ file, frames }) => [
        [file, new AppendLog(path.join(directory, file), LINES)],
        [frames, new AppendLog(path.join(directory, frames), FRAMES)],
      ]),
    );
    this.quarantine = new Quarantine(directory);
    this.maxBodyBytes = options.maxBodyBytes ?? 64 * MEBIBYTE;
    this.maxUnpackedBytes = options.maxUnpackedBytes ?? 256 * MEBIBYTE;
    this.maxPendingBytes = options.maxPendingBytes ?? 256 * MEBIBYTE;
    this.unpacking = new Budget(this.maxUnpackedBytes);
    this.retryAfterSeconds = options.retryAfterSeconds ?? 5;
  }

  stats(): ReceiverStats {
    const { requests, quarantined, refused, slowed, pendingBytes } = this;
    return { requests, stored: { ...this.stored }, quarantined, refused, slowed, pendingBytes };
  }

  committed(file: string): number | undefined {
    return this.logs.get(file)?.committed;
  }

  async close(): Promise<void> {
    await Promise.all([...this.logs.values()].map((log) => log.close()));
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = (request.url ?? '/').split('?', 1)[0] ?? '/';
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    if (request.method === 'GET' || request.method === 'HEAD') {
      this.handleGet(target, request.headers.host, response);
      return;
    }
    if (request.method !== 'POST') {
      response.setHeader('allow', 'POST');
      respondJson(response, 405, { error: 'only POST is taken here' });
      return;
    }
    const { origin } = request.headers;
    if (origin !== undefined && !(this.options.allowedOrigins ?? []).includes(origin)) {
      request.resume();
      respondError(
        response,
        403,
        'json',
        'requests of web pages are not taken unless their origin is allowed',
      );
      return;
    }
    this.requests += 1;
    await this.handleExport(request, response, {
      signal: signalOfPath(target),
      contentType: request.headers['content-type'] ?? '',
      contentEncoding: request.headers['content-encoding'] ?? '',
    });
  }

  private handleGet(target: string, host: string | undefined, response: ServerResponse): void {
    const isHealth = target === '/healthz' || target === '/readyz';
    if (!isHealth && !mayRead(host, this.options.host ?? '127.0.0.1')) {
      respondJson(response, 421, {
        error: 'ask by address or as localhost: this name is not of this machine',
      });
      return;
    }
    const page = this.options.pages?.(target);
    // A receiver that cannot write says so itself.
    if (page !== undefined && !(target === '/readyz' && this.failure !== undefined)) {
      respondPage(response, page);
      return;
    }
    if (isHealth) {
      if (this.failure === undefined) respondJson(response, 200, { status: 'ok' });
      else respondJson(response, 503, { status: 'cannot write', reason: this.failure });
      return;
    }
    if (signalOfPath(target) !== undefined) {
      response.setHeader('allow', 'POST');
      respondJson(response, 405, { error: 'only POST is taken here' });
      return;
    }
    respondJson(response, 404, {
      error: 'send OTLP to /v1/traces, /v1/logs or /v1/metrics; health is at /healthz',
    });
  }

  private async handleExport(
    request: IncomingMessage,
    response: ServerResponse,
    declared: Declared,
  ): Promise<void> {
    let encoding: Encoding = declared.contentType.includes('protobuf') ? 'protobuf' : 'json';
    let held = 0;
    let release = (): void => undefined;
    try {
      const announced = Number(request.headers['content-length'] ?? 0);
      if (this.pendingBytes + Math.min(announced, this.maxBodyBytes) > this.maxPendingBytes) {
        request.resume();
        this.refuse(response, 429, encoding, 'too many requests at one time');
        return;
      }
      const intake = await this.takeIn(request, declared, (bytes) => {
        held += bytes;
        this.pendingBytes += bytes;
      });
      if (intake.kind === 'gone') return;
      if (intake.kind === 'too much') {
        this.refuse(response, 429, encoding, 'too many requests at one time');
        return;
      }
      if (intake.kind === 'quarantined') {
        this.succeed(
          response,
          encoding,
          declared.signal,
          quarantinedPartial(`a body of more than ${this.maxBodyBytes} bytes`),
        );
        return;
      }
      const { body } = intake;
      const within = await unpackWithin(
        body,
        declared.contentEncoding,
        this.maxUnpackedBytes,
        this.unpacking,
      );
      ({ release } = within);
      const { unpacked } = within;
      if (unpacked.kind === 'unreadable') {
        await this.setAside(body, declared, unpacked.reason);
        this.succeed(response, encoding, declared.signal, quarantinedPartial(unpacked.reason));
        return;
      }
      const actual = encodingOf(declared.contentType, unpacked.body);
      if (!declared.contentType.includes('protobuf') && !declared.contentType.includes('json'))
        encoding = actual;
      const partial = await this.store(unpacked.body, body, actual, declared);
      this.succeed(response, encoding, declared.signal, partial);
    } catch (error) {
      this.failure = error instanceof Error ? error.message : String(error);
      this.refuse(response, 503, encoding, `cannot write: ${this.failure}`);
    } finally {
      release();
      this.pendingBytes -= held;
    }
  }

  private async store(
    body: Buffer,
    asSent: Buffer,
    encoding: Encoding,
    declared: Declared,
  ): Promise<PartialSuccess | undefined> {
    const converted = convertSafely(body, encoding, declared.signal);
    if (converted.kind === 'undecodable') {
      await this.setAside(asSent, declared, converted.reason);
      return quarantinedPartial(converted.reason);
    }
    const { kind, signal, record, lossy } = converted;
    if (lossy)
      await this.setAside(asSent, declared, 'text that is not UTF-8; stored with U+FFFD in its place');
    const file = kind === 'frame' ? signal.frames : signal.file;
    if (record !== undefined && (await this.append(file, record, asSent, declared)) === 'set aside') {
      return quarantinedPartial('it could not be stored again and again');
    }
    this.stored[signal.name] += 1;
    this.options.onEvent?.({ kind: 'stored', signal: signal.name, bytes: record?.length ?? 0 });
    if (declared.signal === signal) return undefined;
    return { rejected: 0, message: `stored, but ${signal.name} belong to ${signal.path}` };
  }

  /** A body that fails again and again in one way would hold its sender for ever: then it is set aside. */
  private async append(
    file: string,
    record: Buffer,
    asSent: Buffer,
    declared: Declared,
  ): Promise<'stored' | 'set aside'> {
    try {
      await this.logs.get(file)?.append(record);
      return 'stored';
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      // A full disk is nobody's fault and passes.
      if (why.startsWith('ENOSPC') || why.startsWith('EDQUOT')) throw error;
      if (this.attempts.failed(record, why) < (this.options.maxAttempts ?? 5)) throw error;
      await this.setAside(asSent, declared, `could not be stored (${why})`);
      this.attempts.forget(record, why);
      return 'set aside';
    }
  }

  private async takeIn(
    request: IncomingMessage,
    declared: Declared,
    hold: (bytes: number) => void,
  ): Promise<Intake> {
    const chunks: Buffer[] = [];
    let length = 0;
    let aside: QuarantinedBody | undefined;
    let tooMuch = false;
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) {
        if (tooMuch) continue;
        length += chunk.length;
        if (aside !== undefined) await aside.write(chunk);
        else if (this.pendingBytes + chunk.length > this.maxPendingBytes) {
          // The rest is read and let go: an answer before the end of the request is one that few clients see.
          tooMuch = true;
          hold(-chunks.splice(0).reduce((sum, early) => sum + early.length, 0));
        } else {
          chunks.push(chunk);
          hold(chunk.length);
          if (length > this.maxBodyBytes) {
            aside = await this.quarantine.begin(new Date());
            for (const early of chunks.splice(0)) await aside.write(early);
          }
        }
      }
    } catch (error) {
      await aside?.discard();
      if (request.errored !== null || request.aborted) return { kind: 'gone' };
      throw error;
    }
    if (tooMuch) return { kind: 'too much' };
    if (aside === undefined) return { kind: 'body', body: Buffer.concat(chunks) };
    await this.finishAside(aside, declared, `a body of more than ${this.maxBodyBytes} bytes`);
    return { kind: 'quarantined', file: aside.file };
  }

  private async setAside(body: Buffer, declared: Declared, reason: string): Promise<void> {
    const aside = await this.quarantine.begin(new Date());
    try {
      await aside.write(body);
      await this.finishAside(aside, declared, reason);
    } catch (error) {
      await aside.discard();
      throw error;
    }
  }

  private async finishAside(aside: QuarantinedBody, declared: Declared, reason: string): Promise<void> {
    await aside.finish({
      reason,
      receivedAt: new Date().toISOString(),
      signal: declared.signal?.name ?? 'unknown',
      contentType: declared.contentType.slice(0, 200),
      contentEncoding: declared.contentEncoding.slice(0, 200),
    });
    this.quarantined += 1;
    this.options.onEvent?.({ kind: 'quarantined', file: aside.file, reason });
  }

  private succeed(
    response: ServerResponse,
    encoding: Encoding,
    signal: Signal | undefined,
    partial: PartialSuccess | undefined,
  ): void {
    this.failure = undefined;
    const [traces] = SIGNALS;
    const answered = signal ?? traces;
    if (answered !== undefined) respondSuccess(response, encoding, answered, partial);
  }

  /** 429: what is asked of it is more than it takes at one time, and less would do. 503: it can take nothing. */
  private refuse(response: ServerResponse, status: 429 | 503, encoding: Encoding, reason: string): void {
    if (status === 429) this.slowed += 1;
    else this.refused += 1;
    this.options.onEvent?.({ kind: 'refused', status, reason });
    respondLater(response, status, encoding, reason, this.retryAfterSeconds);
  }
}

/** How many spans it held cannot be known, so one stands for "some". */
function quarantinedPartial(reason: string): PartialSuccess {
  return { rejected: 1, message: `kept in quarantine, not judged: ${reason}` };
}

/** A body that breaks the conversion itself would break it again: it is set aside, not asked for once more. */
function convertSafely(body: Buffer, encoding: Encoding, signal: Signal | undefined): Conversion {
  try {
    return convert(body, encoding, signal);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { kind: 'undecodable', reason: `cannot be converted (${why})` };
  }
}
