/** A chunk of a reply: milliseconds after the chunk before it (or the headers), and its text with placeholders. */
export type TimedText = readonly [delayMs: number, text: string];

/** As `TimedText`, or bytes that leave as they are: replies that no text can be. */
export type TimedChunk = readonly [delayMs: number, chunk: string | Uint8Array];

/** How a reply ends: in due form (`fin`), by a TCP reset (`rst`), or never (`hold`). */
export type ReplyEnd = 'fin' | 'rst' | 'hold';

/**
 * What a Streamable HTTP server does on the wire for one `tools/call`. Placeholders: `$ID` is the id of the request as
 * JSON, `$STR` the id as a JSON string, `$TOK` its progress token (the id where it has none), `$PATH` in a header the
 * path of the request.
 */
export interface HttpReply {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly chunks?: readonly TimedChunk[];
  readonly end: ReplyEnd;
  /** No byte of a reply is sent; `end` then says what becomes of the connection. */
  readonly before_headers?: boolean;
  /** With `fin`: the connection is closed (TCP FIN) with the HTTP message unfinished. */
  readonly truncate?: boolean;
  /** Milliseconds between the last chunk and the end. */
  readonly end_delay_ms?: number;
  /** Milliseconds before the status line. */
  readonly headers_delay_ms?: number;
  /** Announces the length in bytes of this text, whatever is sent. */
  readonly content_length_of?: string;
  /** Reply to the request that follows the redirect. */
  readonly second?: HttpReply;
  /** Reply to the first GET that carries `Last-Event-ID`. */
  readonly get?: HttpReply;
}

/** What a stdio server does for one `tools/call`: `lines` get a newline each, `chunks` none. */
export interface StdioReply {
  readonly lines?: readonly TimedText[];
  readonly chunks?: readonly TimedText[];
  /** Once all is written: stay (the default), exit, kill itself with SIGKILL, or close stdout and live on. */
  readonly after?: 'stay' | 'exit' | 'kill' | 'close_stdout';
  readonly exit_code?: number;
  /** Nothing is written until this many calls are in; `$FIRST_ID` and `$SECOND_ID` are then their ids. */
  readonly calls?: number;
}

/** What a legacy HTTP+SSE server (2024-11-05) does for one `tools/call`: on its POST, and on the GET stream. */
export interface LegacyReply {
  readonly order: 'post_first' | 'stream_first';
  readonly post: {
    readonly delay_ms?: number;
    readonly status?: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
    /** The connection is closed (TCP FIN) before any byte. */
    readonly cut?: boolean;
  };
  readonly stream: Pick<HttpReply, 'chunks' | 'truncate' | 'end_delay_ms'> & { readonly end: ReplyEnd };
  /** Chunks for the stream that is then the newest; delays count from the answer to the POST. */
  readonly next_stream?: { readonly chunks: readonly TimedText[] };
}

/** The parts of a `tools/call` that placeholders stand for. */
export interface CallIds {
  readonly id: string | number;
  readonly progressToken?: string | number;
}

/** Puts the ids of a call in the place of `$ID`, `$STR` and `$TOK`. */
export function fillIds(text: string, { id, progressToken }: CallIds): string {
  return text
    .replaceAll('$STR', () => JSON.stringify(String(id)))
    .replaceAll('$ID', () => JSON.stringify(id))
    .replaceAll('$TOK', () => JSON.stringify(progressToken ?? id));
}

const ok =
  '{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"complete","content":[{"type":"text","text":"ok"}]}}';

/** Replies to begin with; spread them to change one thing. */
export const REPLIES: {
  readonly json: HttpReply;
  readonly sse: HttpReply;
  readonly stdio: StdioReply;
  readonly legacy: LegacyReply;
} = {
  json: { status: 200, headers: { 'content-type': 'application/json' }, chunks: [[0, ok]], end: 'fin' },
  sse: {
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    chunks: [[0, `event: message\ndata: ${ok}\n\n`]],
    end: 'fin',
  },
  stdio: { lines: [[0, ok]] },
  legacy: {
    order: 'post_first',
    post: { status: 202, body: 'Accepted' },
    stream: { chunks: [[0, `event: message\ndata: ${ok}\n\n`]], end: 'hold' },
  },
};
