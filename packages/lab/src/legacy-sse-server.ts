import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { cannedAnswer, parseMessage, toolCall, type PeerIdentity, type ToolCall } from './canned.js';
import { listen, type RecordedRequest } from './http-listener.js';
import { playChunks, playEnd } from './play-http.js';
import { REPLIES, type LegacyReply } from './transcript.js';

export interface LegacySseServerOptions extends PeerIdentity {
  /** What a `tools/call` gets. Default: 202 for the POST, the result on the stream. */
  readonly reply?: LegacyReply | ((call: ToolCall) => LegacyReply | Promise<LegacyReply>);
}

export interface LegacySseServer {
  /** `http://127.0.0.1:<port>/sse` */
  readonly url: string;
  readonly port: number;
  readonly requests: readonly RecordedRequest[];
  readonly calls: readonly ToolCall[];
  close(): Promise<void>;
}

/**
 * A peer of legacy HTTP+SSE (2024-11-05) on 127.0.0.1: every GET opens a stream whose first event names the endpoint;
 * POSTs are accepted with 202 and answered on the newest stream.
 */
export async function startLegacySseServer(options: LegacySseServerOptions = {}): Promise<LegacySseServer> {
  const calls: ToolCall[] = [];
  const streams: ServerResponse[] = [];

  const listener = await listen(async (request, response) => {
    if (request.httpMethod === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
      response.write('event: endpoint\ndata: /messages?sessionId=1\n\n');
      streams.push(response);
    } else if (request.httpMethod === 'POST') await post(request, response);
    else response.writeHead(405).end();
  });

  async function post(request: RecordedRequest, response: ServerResponse): Promise<void> {
    const message = parseMessage(request.body.toString('utf8'));
    const call = message === undefined ? undefined : toolCall(message, calls.length);
    if (call !== undefined) {
      calls.push(call);
      const { reply = REPLIES.legacy } = options;
      await play(typeof reply === 'function' ? await reply(call) : reply, call, response);
      return;
    }
    response.writeHead(202).end('Accepted');
    const answer = message === undefined ? undefined : cannedAnswer(message, options);
    if (answer !== undefined) streams.at(-1)?.write(`event: message\ndata: ${JSON.stringify(answer)}\n\n`);
  }

  async function play(reply: LegacyReply, call: ToolCall, response: ServerResponse): Promise<void> {
    const stream = streams.at(-1);
    const onStream = async (): Promise<void> => {
      if (stream !== undefined) await playChunks(stream, reply.stream.chunks ?? [], call, listener);
    };
    const onPost = async (): Promise<void> => {
      const { body = '', cut, delay_ms: delay = 0, headers = {}, status = 202 } = reply.post;
      if (delay > 0) await sleep(delay, undefined, { signal: listener.signal });
      if (cut === true) response.socket?.end();
      else response.writeHead(status, headers).end(body);
    };
    if (reply.order === 'post_first') {
      await onPost();
      await onStream();
    } else {
      await onStream();
      await onPost();
    }
    await Promise.all([
      stream === undefined ? undefined : playEnd(stream, reply.stream, listener),
      reply.next_stream === undefined ? undefined : onNewest(reply.next_stream.chunks, call),
    ]);
  }

  async function onNewest(
    chunks: NonNullable<LegacyReply['next_stream']>['chunks'],
    call: ToolCall,
  ): Promise<void> {
    for (const [delay, text] of chunks) {
      await sleep(delay, undefined, { signal: listener.signal });
      const newest = streams.at(-1);
      if (newest !== undefined) await playChunks(newest, [[0, text]], call, listener);
    }
  }

  return {
    url: `http://127.0.0.1:${listener.port}/sse`,
    port: listener.port,
    requests: listener.requests,
    calls,
    close: () => listener.close(),
  };
}
