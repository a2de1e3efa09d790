import type { ServerResponse } from 'node:http';
import { cannedAnswer, parseMessage, toolCall, type PeerIdentity, type ToolCall } from './canned.js';
import { listen, type RecordedRequest } from './http-listener.js';
import { playHttpReply } from './play-http.js';
import { REPLIES, type HttpReply } from './transcript.js';

export interface FaultServerOptions extends PeerIdentity {
  /** What a `tools/call` gets: one reply for all, or one per call. Default: a JSON result. */
  readonly reply?: HttpReply | ((call: ToolCall) => HttpReply | Promise<HttpReply>);
  /** Given to the client as `Mcp-Session-Id` with the answer to `initialize`. */
  readonly sessionId?: string;
}

export interface FaultServer {
  /** `http://127.0.0.1:<port>/mcp` */
  readonly url: string;
  readonly port: number;
  /** Every request in order of arrival, also those that are still being answered. */
  readonly requests: readonly RecordedRequest[];
  /** The calls among them. */
  readonly calls: readonly ToolCall[];
  /** Replaces the plan for calls from now on. */
  plan(reply: NonNullable<FaultServerOptions['reply']>): void;
  close(): Promise<void>;
}

/**
 * A Streamable HTTP peer on 127.0.0.1 that is correct up to the first `tools/call` and then does what the transcript
 * says. Serves SDK clients of each era; notifications get 202, a GET or DELETE that no transcript speaks of gets 405.
 */
export async function startFaultServer(options: FaultServerOptions = {}): Promise<FaultServer> {
  let plan = options.reply ?? REPLIES.json;
  const calls: ToolCall[] = [];
  /** Second halves of transcripts: the request after a redirect, the GET that resumes a stream. */
  const afterRedirect: { readonly path: string; readonly reply: HttpReply }[] = [];
  const resuming: { readonly call: ToolCall; readonly reply: HttpReply }[] = [];

  const listener = await listen(async (request, response) => {
    if (request.httpMethod === 'POST') await post(request, response);
    else if (request.httpMethod === 'GET' && request.headers['last-event-id'] !== undefined)
      await resume(response);
    else response.writeHead(405).end();
  });

  async function post(request: RecordedRequest, response: ServerResponse): Promise<void> {
    const message = parseMessage(request.body.toString('utf8'));
    const call = message === undefined ? undefined : toolCall(message, calls.length);
    if (call !== undefined) {
      await answerCall(call, request, response);
      return;
    }
    const answer = message === undefined ? undefined : cannedAnswer(message, options);
    if (answer === undefined) {
      response.writeHead(202).end();
      return;
    }
    const session = message?.method === 'initialize' && options.sessionId !== undefined;
    response.writeHead(200, {
      'content-type': 'application/json',
      ...(session ? { 'mcp-session-id': options.sessionId } : {}),
    });
    response.end(JSON.stringify(answer));
  }

  async function answerCall(
    call: ToolCall,
    request: RecordedRequest,
    response: ServerResponse,
  ): Promise<void> {
    calls.push(call);
    const hop = afterRedirect.findIndex(({ path }) => path === request.path);
    const redirected = hop < 0 ? undefined : afterRedirect.splice(hop, 1)[0];
    const reply = redirected?.reply ?? (typeof plan === 'function' ? await plan(call) : plan);
    if (reply.second !== undefined) {
      const location = (reply.headers?.['location'] ?? '').replaceAll('$PATH', request.path);
      afterRedirect.push({ path: location, reply: reply.second });
    }
    if (reply.get !== undefined) resuming.push({ call, reply: reply.get });
    await playHttpReply(response, reply, call, request.path, listener);
  }

  async function resume(response: ServerResponse): Promise<void> {
    const next = resuming.shift();
    if (next === undefined) response.writeHead(405).end();
    else await playHttpReply(response, next.reply, next.call, '', listener);
  }

  return {
    url: `http://127.0.0.1:${listener.port}/mcp`,
    port: listener.port,
    requests: listener.requests,
    calls,
    plan(reply) {
      plan = reply;
    },
    close: () => listener.close(),
  };
}
