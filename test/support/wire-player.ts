import { openSharedChannel, readCall } from '../../packages/core/src/wire/index.js';
import type {
  CallOutcome,
  CallReading,
  JsonRpcId,
  LateReading,
  SharedChannel,
} from '../../packages/core/src/wire/index.js';

/** The shapes of `test/cases/wire-open.json` and `test/cases/probes.json`. */
type TimedText = readonly [delayMs: number, text: string];
export interface HttpReply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly chunks?: readonly TimedText[];
  readonly end: 'fin' | 'rst' | 'hold';
  readonly before_headers?: boolean;
  readonly truncate?: boolean;
  readonly headers_delay_ms?: number;
  readonly second?: HttpReply;
  readonly get?: HttpReply;
}
export interface StdioReply {
  readonly lines?: readonly TimedText[];
  readonly chunks?: readonly TimedText[];
  readonly calls?: number;
  readonly then: 'stay' | 'exit' | 'kill' | 'close_stdout';
}
export interface LegacyReply {
  readonly order: 'post_first' | 'stream_first';
  readonly post: { readonly status?: number; readonly cut?: boolean };
  readonly stream: {
    readonly chunks: readonly TimedText[];
    readonly end: 'fin' | 'hold';
    readonly truncate?: boolean;
  };
  readonly next_stream?: { readonly chunks: readonly TimedText[] };
}
export interface PlayOptions {
  readonly id?: JsonRpcId;
  readonly protocolVersion?: string;
  readonly timeoutMs: number;
  readonly cancelAfterMs?: number;
  readonly sessionSent?: boolean;
  /** What the SDK's validator says of a result that it was given. */
  readonly schema?: 'output_schema' | 'structured_missing';
  /** Cuts the bytes of each body part anew. */
  readonly split?: (bytes: Uint8Array) => readonly Uint8Array[];
}
export interface Played {
  readonly outcome: CallOutcome;
  readonly late: LateReading | undefined;
}

/** Remembers the last answer: a large transcript is played a thousand times with other cuts. */
function lastOf<T>(compute: (text: string) => T): (text: string) => T {
  let last: { readonly text: string; readonly value: T } | undefined;
  return (text) => {
    if (last?.text !== text) last = { text, value: compute(text) };
    return last.value;
  };
}

const bytesOf: (text: string) => Uint8Array = lastOf((text) => new TextEncoder().encode(text));

/**
 * Plays a transcript to a reading the way an instrumented SDK would tell it, with a client of the plainest kind: it takes
 * what it can parse, compares ids as text, and waits for its timeout otherwise. Time is only counted.
 */
export class Player {
  readonly reading: CallReading;
  readonly #options: PlayOptions;
  readonly #id: JsonRpcId;
  #outcome: CallOutcome | undefined;
  #late: LateReading | undefined;
  #now = 0;

  constructor(transport: 'http' | 'legacy_sse' | 'stdio', options: PlayOptions) {
    this.#options = options;
    this.#id = options.id ?? 7;
    this.reading = readCall({
      id: this.#id,
      transport,
      protocolVersion: options.protocolVersion ?? '2025-11-25',
    });
    this.reading.handedOver();
  }

  fill(text: string): string {
    if (!text.includes('$')) return text;
    return text
      .replaceAll('$STR', JSON.stringify(String(this.#id)))
      .replaceAll('$ID', JSON.stringify(this.#id))
      .replaceAll('$TOK', JSON.stringify(this.#id));
  }

  pass(ms: number): void {
    const to = this.#now + ms;
    const { timeoutMs, cancelAfterMs } = this.#options;
    if (cancelAfterMs !== undefined && to >= cancelAfterMs && cancelAfterMs < timeoutMs)
      this.settle('aborted');
    if (to >= timeoutMs) this.settle('timed_out');
    this.#now = to;
  }

  settle(
    cause:
      | 'aborted'
      | 'timed_out'
      | 'closed'
      | 'other'
      | 'http_error'
      | 'rpc_error'
      | 'output_schema'
      | 'structured_missing',
  ): void {
    this.#outcome ??= this.reading.settle({ kind: 'rejected', cause });
  }

  deliver(message: unknown, via: 'own_stream' | 'resumed_stream' | 'other_stream' | 'line'): void {
    if (this.#outcome !== undefined) {
      this.#late ??= this.reading.late(message);
      return;
    }
    this.reading.message(message, via);
  }

  /** Settles as the client would on what it has been given. */
  react(messages: readonly unknown[]): void {
    const response = messages.find((message) => answers(message, this.#id));
    if (response === undefined || this.#outcome !== undefined) return;
    if (this.#options.schema !== undefined && 'result' in (response as object))
      this.settle(this.#options.schema);
    else if ('error' in (response as object)) this.settle('rpc_error');
    else this.#outcome = this.reading.settle({ kind: 'resolved' });
  }

  split(text: string): readonly Uint8Array[] {
    const bytes = bytesOf(this.fill(text));
    return this.#options.split?.(bytes) ?? [bytes];
  }

  http(reply: HttpReply): Played {
    if (reply.before_headers === true) {
      if (reply.end !== 'hold') {
        this.reading.transportFailure({
          code: reply.end === 'fin' ? 'UND_ERR_SOCKET' : 'ECONNRESET',
          name: 'TypeError',
          syscall: reply.end === 'fin' ? undefined : 'read',
        });
        this.settle('other');
      }
      return this.finish();
    }
    this.pass(reply.headers_delay_ms ?? 0);
    const status = reply.status ?? 200;
    const contentType = reply.headers?.['content-type'] ?? null;
    this.reading.httpResponse({
      status,
      contentType,
      retryAfter: reply.headers?.['retry-after'] ?? null,
      sessionSent: this.#options.sessionSent ?? false,
    });
    if (reply.second !== undefined) return this.http(reply.second);
    const body = (reply.chunks ?? []).map(([, text]) => this.fill(text)).join('');
    if (status < 200 || status > 299) {
      this.reading.errorBody(body);
      this.settle('http_error');
    } else if (status === 202) this.finish();
    else if (/^text\/event-stream/i.test(contentType ?? '')) this.eventStream(reply);
    else if (/^application\/json/i.test(contentType ?? '')) this.jsonBody(reply, body);
    else this.settle('other');
    return this.finish();
  }

  jsonBody(reply: HttpReply, body: string): void {
    for (const [delay, text] of reply.chunks ?? []) {
      this.pass(delay);
      for (const part of this.split(text)) this.reading.bodyChunk(part);
    }
    if (reply.end === 'hold') return;
    if (reply.end === 'rst' || reply.truncate === true) {
      this.reading.channelEnd('reset');
      this.settle('other');
      return;
    }
    this.reading.channelEnd('eof');
    let value: unknown;
    try {
      value = JSON.parse(body.replace(/^\uFEFF/, ''));
    } catch (error) {
      this.reading.jsonBodyError({ errorMessage: String(error) });
      this.settle('other');
      return;
    }
    if (this.#outcome === undefined) this.reading.jsonBody(value);
    const messages = (Array.isArray(value) ? value : [value]) as readonly unknown[];
    if (!messages.every(isStrictMessage)) {
      this.settle('other');
      return;
    }
    for (const message of messages) this.deliver(message, 'own_stream');
    this.react(messages);
  }

  eventStream(reply: HttpReply, via: 'own_stream' | 'resumed_stream' = 'own_stream'): void {
    let delivered = 0;
    let text = '';
    for (const [delay, part] of reply.chunks ?? []) {
      this.pass(delay);
      for (const bytes of this.split(part)) this.reading.sseChunk(bytes);
      text += this.fill(part);
      const messages = dispatched(text);
      for (const message of messages.slice(delivered)) this.deliver(message, via);
      delivered = messages.length;
    }
    this.react(dispatched(text));
    if (reply.end === 'hold') return;
    this.reading.channelEnd(reply.end === 'rst' || reply.truncate === true ? 'reset' : 'eof');
    if (reply.get?.status === 200) {
      this.reading.streamResumed();
      this.eventStream(reply.get, 'resumed_stream');
    }
  }

  stdio(reply: StdioReply): Played {
    const channel = openSharedChannel('line');
    this.reading.attach(channel);
    let text = '';
    for (const [delay, part] of reply.chunks ??
      (reply.lines ?? []).map(([ms, line]): TimedText => [ms, `${line}\n`])) {
      this.pass(delay);
      for (const bytes of this.split(part)) channel.chunk(bytes);
      text += this.fill(part);
    }
    const messages = text.split('\n').slice(0, -1).flatMap(parsed);
    for (const message of messages) this.deliver(message, 'line');
    this.react(messages);
    if (reply.then !== 'stay') channel.end('eof');
    if (reply.then === 'exit' || reply.then === 'kill') this.settle('closed');
    return this.finish();
  }

  legacy(reply: LegacyReply): Played {
    const channel = openSharedChannel('sse');
    channel.chunk(bytesOf('event: endpoint\ndata: /messages?sessionId=1\n\n'));
    this.reading.attach(channel);
    let reacted: readonly unknown[] = [];
    const stream = (chunks: readonly TimedText[], on: SharedChannel): void => {
      for (const [delay, text] of chunks) {
        this.pass(delay);
        for (const bytes of this.split(text)) on.chunk(bytes);
      }
      reacted = dispatched(this.fill(chunks.map(([, text]) => text).join('')));
      for (const message of reacted) this.deliver(message, 'other_stream');
    };
    const post = (): void => {
      if (reply.post.cut === true)
        this.reading.transportFailure({ code: 'UND_ERR_SOCKET', name: 'SocketError' });
      else {
        this.reading.httpResponse({
          status: reply.post.status ?? 202,
          contentType: null,
          retryAfter: null,
          sessionSent: false,
        });
      }
    };
    if (reply.order === 'post_first') post();
    stream(reply.stream.chunks, channel);
    if (reply.order === 'stream_first') post();
    this.react(reacted);
    if (reply.post.cut === true || (reply.post.status ?? 0) > 299) this.settle('other');
    if (reply.stream.end === 'fin') channel.end(reply.stream.truncate === true ? 'reset' : 'eof');
    if (reply.next_stream !== undefined) {
      const next: SharedChannel = openSharedChannel('sse');
      this.reading.attach(next);
      stream(reply.next_stream.chunks, next);
      this.react(reacted);
    }
    return this.finish();
  }

  finish(): Played {
    this.pass(Math.max(0, this.#options.timeoutMs - this.#now));
    if (this.#outcome === undefined) throw new Error('the player did not settle');
    return { outcome: this.#outcome, late: this.#late };
  }
}

function parsed(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return isStrictMessage(value) ? [value] : [];
  } catch {
    return [];
  }
}

/** A second, naive reading of an event stream, for comparison with the decoder. */
const dispatched: (text: string) => readonly unknown[] = lastOf(naivelyDispatched);

function naivelyDispatched(text: string): readonly unknown[] {
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/);
  const messages: unknown[] = [];
  let name = '';
  let data: string[] = [];
  for (const line of lines.slice(0, -1)) {
    if (line === '') {
      if (data.length > 0 && (name === '' || name === 'message')) messages.push(...parsed(data.join('\n')));
      name = '';
      data = [];
    }
    const value = /^(data|event)(?:: ?(.*))?$/s.exec(line);
    if (value?.[1] === 'data') data.push(value[2] ?? '');
    else if (value?.[1] === 'event') name = value[2] ?? '';
  }
  return messages;
}

function isStrictMessage(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const keys = Object.keys(value);
  if (!('jsonrpc' in value) || value.jsonrpc !== '2.0') return false;
  if ('method' in value) return true;
  if ('error' in value && 'id' in value && value.id === null) return false;
  if ('error' in value) {
    const error = value.error as { code?: unknown } | null;
    if (!Number.isInteger(error?.code)) return false;
  }
  return keys.includes('id') && keys.length === 3 && keys.includes('result') !== keys.includes('error');
}

function answers(message: unknown, id: JsonRpcId): boolean {
  if (typeof message !== 'object' || message === null || 'method' in message) return false;
  return 'id' in message && String(message.id) === String(id);
}
