import { JsonScanner } from './json-scanner.js';
import { SseDecoder, type SseRest } from './sse-decoder.js';
import type { ChannelEnd, ChannelObserver, ChannelPosition, Payload, SharedChannel } from './types.js';

const LINE_FEED = 0x0a;
const LINE_BREAK = Uint8Array.of(LINE_FEED);

/** An event stream read for its payloads: what each event is, as far as that can be told without keeping it. */
export class SsePayloads {
  readonly #decoder: SseDecoder;
  #scanner = new JsonScanner();
  #bytes = 0;
  #events = 0;

  constructor(onPayload: (payload: Payload) => void, maxEventBytes: number | undefined) {
    this.#decoder = new SseDecoder(
      {
        data: (bytes, start, end) => this.#scanner.push(bytes, start, end),
        dataLineBreak: () => this.#scanner.push(LINE_BREAK),
        dispatch: ({ name, dataBytes, overLimit }) => {
          this.#events++;
          const sketch = this.#scanner.sketch();
          this.#scanner = new JsonScanner();
          onPayload({ eventName: name, bytes: dataBytes, overLimit, sketch });
        },
      },
      maxEventBytes === undefined ? {} : { maxEventBytes },
    );
  }

  get bytes(): number {
    return this.#bytes;
  }
  get events(): number {
    return this.#events;
  }
  chunk(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    this.#decoder.push(chunk);
  }
  rest(): SseRest {
    return this.#decoder.rest();
  }
  pending(): Payload | undefined {
    const rest = this.#decoder.rest();
    if (!rest.midEvent) return undefined;
    const { name, dataBytes, overLimit } = rest.head;
    return { eventName: name, bytes: dataBytes, overLimit, sketch: this.#scanner.sketch() };
  }
}

/** Newline-delimited JSON (MCP stdio), read for its payloads. Empty lines are no payload. */
class LinePayloads {
  readonly #onPayload: (payload: Payload) => void;
  #scanner = new JsonScanner();
  #bytes = 0;
  #lineBytes = 0;
  #lines = 0;

  constructor(onPayload: (payload: Payload) => void) {
    this.#onPayload = onPayload;
  }

  get bytes(): number {
    return this.#bytes;
  }
  get lines(): number {
    return this.#lines;
  }
  chunk(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    let at = 0;
    while (at < chunk.length) {
      const lineEnd = chunk.indexOf(LINE_FEED, at);
      const end = lineEnd < 0 ? chunk.length : lineEnd;
      this.#scanner.push(chunk, at, end);
      this.#lineBytes += end - at;
      if (lineEnd < 0) return;
      const payload = this.pending();
      this.#lineBytes = 0;
      this.#scanner = new JsonScanner();
      if (payload !== undefined) {
        this.#lines++;
        this.#onPayload(payload);
      }
      at = end + 1;
    }
  }
  pending(): Payload | undefined {
    const sketch = this.#scanner.sketch();
    if (sketch.state === 'empty') return undefined;
    return { eventName: 'message', bytes: this.#lineBytes, overLimit: false, sketch };
  }
}

/**
 * Opens the reading of a channel that several calls share: `sse` for the GET stream of legacy HTTP+SSE, `line` for the
 * pipe of stdio. Give it every chunk once; `CallReading.attach` connects the calls. Nothing throws; memory is one bit per
 * level of nesting and one observer per open call.
 */
export function openSharedChannel(kind: SharedChannel['kind']): SharedChannel {
  const observers = new Set<ChannelObserver>();
  const onPayload = (payload: Payload): void => {
    for (const observer of observers) observer.payload(payload);
  };
  const sse = kind === 'sse' ? new SsePayloads(onPayload, undefined) : undefined;
  const line = new LinePayloads(onPayload);
  return {
    kind,
    chunk: (chunk) => (sse ?? line).chunk(chunk),
    end(how: ChannelEnd) {
      for (const observer of observers) observer.ended(how);
    },
    observe(observer) {
      observers.add(observer);
      return () => observers.delete(observer);
    },
    position: (): ChannelPosition =>
      sse === undefined
        ? { bytes: line.bytes, units: line.lines, pending: line.pending() }
        : { bytes: sse.bytes, units: sse.events, pending: sse.pending() },
  };
}
