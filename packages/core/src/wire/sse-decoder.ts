/**
 * Framing of `text/event-stream` as the HTML standard has it (section 9.2.6, "Interpreting an event stream"): lines end
 * with CR, LF or CRLF also across chunks, one byte order mark is skipped, several `data` lines are joined by a line feed,
 * an event without `event` is a `message`, an event that no blank line ends is never dispatched.
 *
 * The data of an event is handed on in slices of the chunk it came in, so a large event is never held here.
 */
export interface SseSink {
  /** Part of the data of the current event: `bytes[start, end)`, valid only during the call. */
  data(bytes: Uint8Array, start: number, end: number): void;
  /** A further `data` line begins: the standard joins the two by one line feed. */
  dataLineBreak(): void;
  /** A blank line ended an event that has data. */
  dispatch(event: SseEventHead): void;
  /** A blank line ended a block without data: nothing is dispatched and a name that it had is forgotten. */
  discard?(): void;
  /** `event`, `id`, `retry` and comments; the value is cut at 1,024 bytes. */
  field?(name: 'event' | 'id' | 'retry' | 'comment', value: string): void;
}

export interface SseEventHead {
  /** `message` when the event has no name. */
  readonly name: string;
  /** Last `id` seen on the stream so far, as in `Last-Event-ID`; empty when none. */
  readonly lastEventId: string;
  /** Bytes of data, line feeds between lines included. */
  readonly dataBytes: number;
  /** The data is longer than the limit; the sink got only the first `maxEventBytes` of it. */
  readonly overLimit: boolean;
}

export interface SseDecoderOptions {
  /** Data bytes of one event above which it counts as over the limit. Default: no limit. */
  readonly maxEventBytes?: number;
}

/** What is left when the stream ends, or so far. */
export interface SseRest {
  /** Lines of an event that no blank line has ended, or an unfinished line. */
  readonly midEvent: boolean;
  /** The event that is not dispatched has data. */
  readonly hasData: boolean;
  readonly head: SseEventHead;
  /** There are lines, and none is a field or comment of an event stream: the body is something else. */
  readonly unframed: boolean;
  readonly bom: boolean;
  /** Reconnection time in milliseconds, where the stream gave one. */
  readonly retryMs: number | undefined;
}

type Field = 'data' | 'event' | 'id' | 'retry' | 'comment' | 'unknown';
const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const BOM: readonly number[] = [0xef, 0xbb, 0xbf];
const MAX_VALUE = 1_024;
/** `event` and `retry` are the longest names; one byte more tells a longer, unknown one. */
const MAX_NAME = 6;
const FIELDS: ReadonlyMap<string, Field> = new Map<string, Field>([
  ['data', 'data'],
  ['event', 'event'],
  ['id', 'id'],
  ['retry', 'retry'],
  ['', 'comment'],
]);

/** Incremental decoder; `push` any split of the bytes gives the same calls but for the slices of `data`. */
export class SseDecoder {
  readonly #sink: SseSink;
  readonly #maxEventBytes: number;
  #bomMatched: 0 | 1 | 2 | 3 | 'past' = 0;
  #bom = false;
  #skipLineFeed = false;
  /** Bytes of the current line so far; 0 at its start. */
  #lineBytes = 0;
  #field: Field | undefined;
  #name = '';
  #value: number[] = [];
  #afterColon = false;
  #framed = false;
  #foreignLine = false;
  #eventBegun = false;
  #dataLines = 0;
  #dataBytes = 0;
  #eventName = '';
  #lastEventId = '';
  #retryMs: number | undefined;

  constructor(sink: SseSink, options: SseDecoderOptions = {}) {
    this.#sink = sink;
    this.#maxEventBytes = options.maxEventBytes ?? Number.POSITIVE_INFINITY;
  }

  push(chunk: Uint8Array): void {
    let at = this.#bomMatched === 'past' ? 0 : this.#matchBom(chunk);
    // Both searches are native; each position is kept, so that no byte is searched twice.
    let nextLineFeed = -2;
    let nextReturn = -2;
    while (at < chunk.length) {
      if (this.#skipLineFeed) {
        this.#skipLineFeed = false;
        if (chunk[at] === LF) {
          at++;
          continue;
        }
      }
      if (nextLineFeed !== -1 && nextLineFeed < at) nextLineFeed = chunk.indexOf(LF, at);
      if (nextReturn !== -1 && nextReturn < at) nextReturn = chunk.indexOf(CR, at);
      const lineEnd = earlier(nextLineFeed, nextReturn);
      if (lineEnd < 0) {
        this.#linePart(chunk, at, chunk.length);
        return;
      }
      this.#linePart(chunk, at, lineEnd);
      this.#endLine();
      this.#skipLineFeed = chunk[lineEnd] === CR;
      at = lineEnd + 1;
    }
  }

  /** What no blank line has ended. At the end of a stream the standard drops it. */
  rest(): SseRest {
    return {
      midEvent: this.#eventBegun || (this.#lineBytes > 0 && this.#field !== 'comment'),
      hasData: this.#dataLines > 0,
      head: this.#head(),
      unframed: !this.#framed && (this.#foreignLine || this.#beginsForeignLine()),
      bom: this.#bom,
      retryMs: this.#retryMs,
    };
  }

  #matchBom(chunk: Uint8Array): number {
    let at = 0;
    while (this.#bomMatched !== 'past' && at < chunk.length) {
      const matched = this.#bomMatched;
      if (matched < 3 && chunk[at] === BOM[matched]) {
        at++;
        this.#bomMatched = (matched + 1) as 1 | 2 | 3;
        if (this.#bomMatched === 3) {
          this.#bom = true;
          this.#bomMatched = 'past';
        }
      } else {
        this.#bomMatched = 'past';
        if (matched > 0) this.#linePart(Uint8Array.from(BOM), 0, matched);
      }
    }
    return at;
  }

  #linePart(bytes: Uint8Array, start: number, end: number): void {
    let at = start;
    this.#lineBytes += end - start;
    while (this.#field === undefined && at < end) {
      const byte = bytes[at++] ?? 0;
      if (byte === COLON) this.#beginValue(FIELDS.get(this.#name) ?? 'unknown');
      else if (this.#name.length < MAX_NAME) this.#name += String.fromCharCode(byte);
      else this.#beginValue('unknown');
    }
    if (this.#field === undefined || at === end) return;
    if (this.#afterColon) {
      this.#afterColon = false;
      if (bytes[at] === SPACE) at++;
    }
    if (at === end || this.#field === 'unknown') return;
    if (this.#field === 'data') this.#data(bytes, at, end);
    else {
      for (let i = at; i < end && this.#value.length < MAX_VALUE; i++) this.#value.push(bytes[i] ?? 0);
    }
  }

  #beginValue(field: Field): void {
    this.#field = field;
    this.#afterColon = true;
    this.#eventBegun ||= field !== 'comment' && field !== 'unknown';
    this.#framed ||= field !== 'unknown';
    this.#foreignLine ||= field === 'unknown';
    if (field !== 'data') return;
    if (this.#dataLines++ > 0) {
      if (this.#dataBytes++ < this.#maxEventBytes) this.#sink.dataLineBreak();
    }
  }

  #data(bytes: Uint8Array, start: number, end: number): void {
    const room = this.#maxEventBytes - this.#dataBytes;
    this.#dataBytes += end - start;
    if (room > 0) this.#sink.data(bytes, start, Math.min(end, start + room));
  }

  #endLine(): void {
    if (this.#lineBytes === 0) {
      this.#endEvent();
      return;
    }
    // A line without a colon is a field with an empty value; an empty name can only be a comment.
    if (this.#field === undefined) this.#beginValue(FIELDS.get(this.#name) ?? 'unknown');
    this.#endField();
    this.#lineBytes = 0;
    this.#field = undefined;
    this.#name = '';
    this.#value = [];
    this.#afterColon = false;
  }

  #endField(): void {
    const field = this.#field;
    if (field === undefined || field === 'data' || field === 'unknown') return;
    const value = textOf(this.#value);
    if (field === 'event') this.#eventName = value;
    else if (field === 'id' && !value.includes('\0')) this.#lastEventId = value;
    else if (field === 'retry' && /^\d+$/.test(value)) this.#retryMs = Number(value);
    this.#sink.field?.(field, value);
  }

  #endEvent(): void {
    if (this.#dataLines > 0) this.#sink.dispatch(this.#head());
    else this.#sink.discard?.();
    this.#eventBegun = false;
    this.#dataLines = 0;
    this.#dataBytes = 0;
    this.#eventName = '';
  }

  #beginsForeignLine(): boolean {
    if (this.#lineBytes === 0 || this.#field !== undefined) return false;
    return ![...FIELDS.keys()].some((name) => name.startsWith(this.#name));
  }

  #head(): SseEventHead {
    return {
      name: this.#eventName === '' ? 'message' : this.#eventName,
      lastEventId: this.#lastEventId,
      dataBytes: this.#dataBytes,
      overLimit: this.#dataBytes > this.#maxEventBytes,
    };
  }
}

function textOf(bytes: readonly number[]): string {
  return bytes.every((byte) => byte < 0x80)
    ? String.fromCharCode(...bytes)
    : new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(bytes));
}

function earlier(a: number, b: number): number {
  if (a < 0) return b;
  return b < 0 ? a : Math.min(a, b);
}
