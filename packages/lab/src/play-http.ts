import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fillIds, type CallIds, type HttpReply, type ReplyEnd, type TimedChunk } from './transcript.js';

/** Stops everything that is being played, when the server closes. */
export interface Playing {
  readonly signal: AbortSignal;
}

/** Plays a reply on a response; resolves when its end was played, rejects with an AbortError when the server closes. */
export async function playHttpReply(
  response: ServerResponse,
  reply: HttpReply,
  ids: CallIds,
  path: string,
  { signal }: Playing,
): Promise<void> {
  if (reply.before_headers === true) {
    await pause(reply.end_delay_ms ?? 0, signal);
    endConnection(response, reply.end);
    return;
  }
  await pause(reply.headers_delay_ms ?? 0, signal);
  const headers = Object.entries(reply.headers ?? {}).map(([name, value]) => [
    name,
    value.replaceAll('$PATH', path),
  ]);
  if (reply.content_length_of !== undefined) {
    headers.push(['content-length', String(Buffer.byteLength(fillIds(reply.content_length_of, ids)))]);
  }
  response.writeHead(reply.status ?? 200, Object.fromEntries(headers) as Record<string, string>);
  response.flushHeaders();
  await playChunks(response, reply.chunks ?? [], ids, { signal });
  await playEnd(response, reply, { signal });
}

export async function playChunks(
  response: ServerResponse,
  chunks: readonly TimedChunk[],
  ids: CallIds,
  { signal }: Playing,
): Promise<void> {
  for (const [delay, chunk] of chunks) {
    await pause(delay, signal);
    response.write(typeof chunk === 'string' ? fillIds(chunk, ids) : chunk);
  }
}

export async function playEnd(
  response: ServerResponse,
  { end, end_delay_ms: delay = 0, truncate }: Pick<HttpReply, 'end' | 'end_delay_ms' | 'truncate'>,
  { signal }: Playing,
): Promise<void> {
  await pause(delay, signal);
  if (end === 'fin' && truncate !== true) response.end();
  else endConnection(response, end);
}

/** Ends the connection below HTTP. A reset waits for what was written, or the peer would never see it. */
function endConnection(response: ServerResponse, end: ReplyEnd): void {
  const { socket } = response;
  if (socket === null) return;
  switch (end) {
    case 'hold':
      return;
    case 'fin':
      socket.end();
      return;
    case 'rst':
      socket.write('', () => setImmediate(() => socket.resetAndDestroy()));
      return;
    default:
      end satisfies never;
  }
}

/** No timer for a delay of nothing, so that such chunks leave in one turn. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await sleep(ms, undefined, { signal });
  else signal.throwIfAborted();
}
