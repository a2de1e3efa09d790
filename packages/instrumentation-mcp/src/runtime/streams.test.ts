import type { ServerResponse } from 'node:http';
import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import * as v1Sse from '@modelcontextprotocol/sdk/client/sse.js';
import * as v1Http from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as v2Client from '@modelcontextprotocol/client';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import {
  ATTR_CALL_ID,
  ATTR_FLAGS,
  ATTR_OUTCOME,
  ATTR_OUTCOME_REASON,
  METHOD_TOOLS_CALL,
} from '@waybill/core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Harness, eventually, stagesOf, startHarness } from '../../test-support/harness.js';
import { type RpcRequest, bodyOf, listen } from '../../test-support/http.js';

let harness: Harness;
beforeAll(() => {
  harness = startHarness([v1Client, v1Http, v1Sse, v2Client]);
});
afterEach(() => harness.reset());
afterAll(() => harness.stop());

const EVENT_STREAM = { 'content-type': 'text/event-stream' };
const event = (message: object, fields = ''): string =>
  `${fields}event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;
const resultFor = (id: RpcRequest['id'], text = 'x'): object => ({
  id,
  result: { content: [{ type: 'text', text }] },
});

interface Peer {
  readonly url: URL;
  /** Streams that GETs have opened, in order, each with the `Last-Event-ID` that it was asked with. */
  readonly streams: { readonly response: ServerResponse; readonly after: string | undefined }[];
  close(): Promise<void>;
}
interface Answering extends Pick<Peer, 'streams'> {
  readonly request: RpcRequest;
  readonly response: ServerResponse;
}
type Answer = (answering: Answering) => void;

const answerTo = ({ method, params }: RpcRequest): object | undefined =>
  method === 'initialize'
    ? {
        protocolVersion: params?.['protocolVersion'],
        capabilities: { tools: {} },
        serverInfo: { name: 'peer', version: '1' },
      }
    : undefined;

/** Streamable HTTP with a standalone GET stream. */
async function streamablePeer(onCall: Answer): Promise<Peer> {
  const streams: Peer['streams'] = [];
  const running = await listen(async (request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, EVENT_STREAM).flushHeaders();
      streams.push({ response, after: request.headers['last-event-id']?.toString() });
      return;
    }
    const rpc = JSON.parse(await bodyOf(request)) as RpcRequest;
    const result = answerTo(rpc);
    if (rpc.method === METHOD_TOOLS_CALL) onCall({ request: rpc, response, streams });
    else if (result === undefined) response.writeHead(202).end();
    else
      response
        .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's' })
        .end(JSON.stringify({ jsonrpc: '2.0', id: rpc.id, result }));
  });
  return { url: running.url, streams, close: () => running.close() };
}

/** HTTP+SSE of 2024-11-05: every reply comes on the newest GET stream. */
async function legacyPeer(onCall: Answer): Promise<Peer> {
  const streams: Peer['streams'] = [];
  const running = await listen(async (request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, EVENT_STREAM);
      // Clients open a stream again after this time.
      response.write(`retry: 20\nid: e${streams.length}\nevent: endpoint\ndata: /messages\n\n`);
      streams.push({ response, after: request.headers['last-event-id']?.toString() });
      return;
    }
    const rpc = JSON.parse(await bodyOf(request)) as RpcRequest;
    response.writeHead(202).end('Accepted');
    const result = answerTo(rpc);
    if (rpc.method === METHOD_TOOLS_CALL) onCall({ request: rpc, response, streams });
    else if (result !== undefined) streams.at(-1)?.response.write(event({ id: rpc.id, result }));
  });
  return { url: running.url, streams, close: () => running.close() };
}

interface TestClient {
  call(text?: string, timeout?: number): Promise<unknown>;
  close(): Promise<void>;
}
const info = { name: 'c', version: '1' };
const reconnectionOptions = {
  initialReconnectionDelay: 20,
  maxReconnectionDelay: 50,
  reconnectionDelayGrowFactor: 1,
  maxRetries: 2,
};
async function connectV1(url: URL, legacy = false): Promise<TestClient> {
  const client = new v1Client.Client(info);
  await client.connect(
    legacy
      ? new v1Sse.SSEClientTransport(url)
      : new v1Http.StreamableHTTPClientTransport(url, { reconnectionOptions }),
  );
  return {
    call: (text = 'x', timeout = 10_000) =>
      client.callTool({ name: 't', arguments: { text } }, undefined, { timeout }),
    close: () => client.close(),
  };
}
async function connectV2(url: URL, legacy = false): Promise<TestClient> {
  const client = new v2Client.Client(info);
  await client.connect(
    legacy
      ? new v2Client.SSEClientTransport(url)
      : new v2Client.StreamableHTTPClientTransport(url, { reconnectionOptions }),
  );
  return {
    call: (text = 'x', timeout = 10_000) => client.callTool({ name: 't', arguments: { text } }, { timeout }),
    close: () => client.close(),
  };
}

/** Waits for the GET stream that a client opens once it is connected. */
const streamOpened = async (peer: Peer): Promise<void> => {
  await eventually(() => peer.streams[0]);
};
const said = ({ attributes }: ReadableSpan): object => ({
  outcome: attributes[ATTR_OUTCOME],
  reason: attributes[ATTR_OUTCOME_REASON],
  flags: attributes[ATTR_FLAGS] ?? [],
});
const succeeded = (...flags: string[]): object => ({ outcome: 'TOOL_SUCCESS', reason: undefined, flags });

async function calls(count: number): Promise<readonly ReadableSpan[]> {
  await harness.tool('client', count - 1);
  return harness
    .spans()
    .filter(({ attributes }) => attributes['mcp.method.name'] === METHOD_TOOLS_CALL)
    .toSorted(
      (a, b) => Number(a.attributes['waybill.call.number']) - Number(b.attributes['waybill.call.number']),
    );
}
const lateSpan = (): Promise<ReadableSpan | undefined> =>
  eventually(() => harness.spans().find(({ name }) => name === 'waybill.late_result'));

const CLIENTS = [
  ['SDK 1.x', connectV1],
  ['SDK 2.x', connectV2],
] as const;

describe.each(CLIENTS)('%s over Streamable HTTP', (_name, connect) => {
  it('a reply on the standalone GET stream, when the stream of the POST has ended empty, is on another stream', async () => {
    const peer = await streamablePeer(({ request, response, streams }) => {
      response.writeHead(200, EVENT_STREAM).end(': nothing here\n\n');
      setTimeout(() => streams[0]?.response.write(event(resultFor(request.id))), 100);
    });
    const client = await connect(peer.url);
    await streamOpened(peer);
    expect(await client.call()).toEqual({ content: [{ type: 'text', text: 'x' }] });
    const [span] = await calls(1);
    expect(span && said(span)).toEqual(succeeded('wrong_stream'));
    expect(span && stagesOf(span)).toEqual(['client.sent', 'client.stream_closed', 'client.result_received']);
    await client.close();
    await peer.close();
  });

  it('a reply on the stream of another call is told by the call that it is for, and not by the one it came with', async () => {
    const first: { request?: RpcRequest; response?: ServerResponse } = {};
    const peer = await streamablePeer(({ request, response }) => {
      response.writeHead(200, EVENT_STREAM).flushHeaders();
      if (first.request === undefined) {
        Object.assign(first, { request, response });
        return;
      }
      response.write(event(resultFor(first.request.id, 'one')));
      response.end(event(resultFor(request.id, 'two')));
      setTimeout(() => first.response?.end(), 50);
    });
    const client = await connect(peer.url);
    const one = client.call('one');
    await eventually(() => first.request);
    const two = client.call('two');
    expect(await Promise.all([one, two])).toEqual([
      { content: [{ type: 'text', text: 'one' }] },
      { content: [{ type: 'text', text: 'two' }] },
    ]);
    expect((await calls(2)).map(said)).toEqual([succeeded('wrong_stream'), succeeded()]);
    await client.close();
    await peer.close();
  });

  it('an error without an id on the stream of a call is beside it, and the reply after it counts', async () => {
    const peer = await streamablePeer(({ request, response }) => {
      response.writeHead(200, EVENT_STREAM);
      response.write(event({ id: 4711, error: { code: -32000, message: 'of somebody else' } }));
      response.end(event(resultFor(request.id)));
    });
    const client = await connect(peer.url);
    await client.call();
    const [span] = await calls(1);
    expect(span && said(span)).toEqual(succeeded('uncorrelated_rpc_error'));
    await client.close();
    await peer.close();
  });

  it('the same reply once more, when the call has ended, is a duplicate on a span beside the call', async () => {
    const peer = await streamablePeer(({ request, response }) => {
      response.writeHead(200, EVENT_STREAM).write(event(resultFor(request.id)));
      setTimeout(() => response.end(event(resultFor(request.id))), 100);
    });
    const client = await connect(peer.url);
    await client.call();
    const [span] = await calls(1);
    const late = await lateSpan();
    expect(span && said(span)).toEqual(succeeded());
    expect(late?.attributes[ATTR_FLAGS]).toEqual(['duplicate_response']);
    expect(late?.attributes[ATTR_CALL_ID]).toBe(span?.attributes[ATTR_CALL_ID]);
    expect(late?.links[0]?.context.spanId).toBe(span?.spanContext().spanId);
    await client.close();
    await peer.close();
  });

  it('a stream that is cut after an event with an id is resumed with that id, and the call goes on', async () => {
    const peer = await streamablePeer(({ request, response, streams }) => {
      response.writeHead(200, EVENT_STREAM).write('retry: 20\nid: e7\ndata: \n\n');
      setTimeout(() => response.destroy(), 30);
      const resume = setInterval(() => {
        const resumed = streams.find(({ after }) => after !== undefined);
        if (resumed === undefined) return;
        clearInterval(resume);
        resumed.response.write(event(resultFor(request.id), 'id: e8\n'));
      }, 10);
    });
    const client = await connect(peer.url);
    await client.call();
    expect(peer.streams.map(({ after }) => after)).toContain('e7');
    const [span] = await calls(1);
    expect(span && said(span)).toEqual(succeeded('resumed'));
    expect(span && stagesOf(span)).toEqual([
      'client.sent',
      'client.stream_closed',
      'client.stream_resumed',
      'client.result_received',
    ]);
    await client.close();
    await peer.close();
  });
});

describe.each(CLIENTS)('%s over HTTP+SSE', (_name, connect) => {
  it('a stream that is cut is opened again, and the reply on the new one counts', async () => {
    const peer = await legacyPeer(({ request, streams }) => {
      streams[0]?.response.destroy();
      const resume = setInterval(() => {
        const [, again] = streams;
        if (again === undefined) return;
        clearInterval(resume);
        again.response.write(event(resultFor(request.id)));
      }, 10);
    });
    const client = await connect(peer.url, true);
    expect(await client.call()).toEqual({ content: [{ type: 'text', text: 'x' }] });
    // The SDKs put headers of their own in the place of those that hold the id of the last event.
    expect(peer.streams.map(({ after }) => after)).toEqual([undefined, undefined]);
    const [span] = await calls(1);
    expect(span && said(span)).toEqual(succeeded());
    expect(span && stagesOf(span)).toEqual([
      'client.sent',
      'client.stream_closed',
      'client.stream_resumed',
      'client.result_received',
    ]);
    await client.close();
    await peer.close();
  });

  it('a cut that only one of two calls outlives is told by that one alone', async () => {
    const peer = await legacyPeer(({ request, streams }) => {
      if (request.params?.['arguments'] === undefined) return;
      const { text } = request.params['arguments'] as { text: string };
      if (text === 'early') streams[0]?.response.write(event(resultFor(request.id)));
      else streams[0]?.response.destroy();
    });
    const client = await connect(peer.url, true);
    await client.call('early');
    await client.call('lost', 600).catch(() => undefined);
    const [early, lost] = await calls(2);
    expect(early && said(early)).toEqual(succeeded());
    expect(early && stagesOf(early)).toEqual(['client.sent', 'client.result_received']);
    expect(lost && said(lost)).toMatchObject({ outcome: 'STREAM_INCOMPLETE', reason: 'reset' });
    expect(lost && stagesOf(lost).slice(0, 2)).toEqual(['client.sent', 'client.stream_closed']);
    await client.close();
    await peer.close();
  });

  it('the same reply once more, when the call has ended, is a duplicate on a span beside the call', async () => {
    const peer = await legacyPeer(({ request, streams }) => {
      streams[0]?.response.write(event(resultFor(request.id)));
      setTimeout(() => streams[0]?.response.write(event(resultFor(request.id))), 100);
    });
    const client = await connect(peer.url, true);
    await client.call();
    const [span] = await calls(1);
    const late = await lateSpan();
    expect(span && said(span)).toEqual(succeeded());
    expect(late?.attributes[ATTR_FLAGS]).toEqual(['duplicate_response']);
    expect(late?.attributes[ATTR_CALL_ID]).toBe(span?.attributes[ATTR_CALL_ID]);
    await client.close();
    await peer.close();
  });
});
