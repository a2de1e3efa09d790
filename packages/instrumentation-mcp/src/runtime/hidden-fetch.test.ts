/**
 * Transports whose fetch function cannot be replaced: the SDK before 1.15, which has no `_fetch`, and 1.x that follows
 * redirects itself. The old versions themselves run in test/matrix.
 */
import type { ServerResponse } from 'node:http';
import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import * as v1Http from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { SpanKind } from '@opentelemetry/api';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Harness, stagesOf, startHarness } from '../../test-support/harness.js';
import { bodyOf, listen } from '../../test-support/http.js';

let harness: Harness;
beforeAll(() => {
  harness = startHarness([v1Client, v1Http]);
});
afterEach(() => harness.reset());
afterAll(() => harness.stop());

type Reply = (response: ServerResponse, id: unknown, path: string | undefined) => void;

const message = (id: unknown): string =>
  JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'done' }] } });
const json =
  (status: number, body: (id: unknown) => string): Reply =>
  (response, id) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(body(id));
  };

const HIDDEN = [
  {
    what: 'without a fetch of its own',
    make: (url: URL) => {
      const transport = new v1Http.StreamableHTTPClientTransport(url);
      Reflect.deleteProperty(transport, '_fetch');
      return transport;
    },
  },
  {
    what: 'that follows redirects',
    make: (url: URL) => new v1Http.StreamableHTTPClientTransport(url, { redirectPolicy: 'follow' }),
  },
];

const REPLIES: readonly {
  readonly what: string;
  readonly reply: Reply;
  readonly outcome: string;
  readonly stages: readonly string[];
  readonly status?: number;
  readonly timeout?: number;
}[] = [
  {
    what: 'a JSON body',
    reply: json(200, message),
    outcome: 'TOOL_SUCCESS',
    stages: ['client.sent', 'client.result_received'],
    status: 200,
  },
  {
    what: 'an event stream',
    reply: (response, id) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`event: message\ndata: ${message(id)}\n\n`);
    },
    outcome: 'TOOL_SUCCESS',
    stages: ['client.sent', 'client.result_received'],
    status: 200,
  },
  {
    what: 'a stream that ends without a result',
    reply: (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': nothing\n\n');
    },
    outcome: 'STREAM_INCOMPLETE closed_before_response',
    stages: ['client.sent', 'client.stream_closed', 'client.timeout', 'client.cancel_sent'],
    status: 200,
    timeout: 300,
  },
  {
    what: 'a redirect as one hand-over',
    reply: (response, id, path) => {
      if (path === '/other') json(200, message)(response, id, path);
      else response.writeHead(307, { location: '/other' }).end();
    },
    outcome: 'TOOL_SUCCESS',
    stages: ['client.sent', 'client.result_received'],
    status: 200,
  },
  {
    what: '503',
    reply: json(503, () => '{}'),
    outcome: 'HTTP_ERROR',
    stages: ['client.sent', 'client.failed'],
    status: 503,
  },
  {
    what: 'a body that is not JSON',
    reply: json(200, () => '{nope'),
    outcome: 'MALFORMED_JSON syntax',
    stages: ['client.sent', 'client.failed'],
    status: 200,
  },
  {
    what: 'a reset',
    reply: (response) => {
      response.socket?.resetAndDestroy();
    },
    outcome: 'TRANSPORT_ERROR reset',
    stages: ['client.sent', 'client.failed'],
  },
];

describe.each(HIDDEN)('a transport $what', ({ make }) => {
  it.each(REPLIES)('tells $what', async ({ reply, outcome, stages, status, timeout }) => {
    const running = await listen(async (request, response) => {
      if (request.method !== 'POST') {
        response.writeHead(405).end();
        return;
      }
      const { id, method } = JSON.parse(await bodyOf(request)) as { id?: unknown; method: string };
      if (method === 'tools/call') reply(response, id, request.url);
      else if (id === undefined) response.writeHead(202).end();
      else {
        const result = {
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 's', version: '1' },
        };
        json(200, () => JSON.stringify({ jsonrpc: '2.0', id, result }))(response, id, request.url);
      }
    });
    const client = new v1Client.Client({ name: 'c', version: '1' });
    await client.connect(make(running.url));
    await client.callTool({ name: 't' }, undefined, { timeout: timeout ?? 20_000 }).catch(() => undefined);
    await client.close();
    await running.close();
    const [span, ...others] = harness
      .spans()
      .filter(({ kind, name }) => kind === SpanKind.CLIENT && name.startsWith('tools/call'));
    expect(others).toEqual([]);
    const { 'waybill.outcome': seen, 'waybill.outcome_reason': reason } = span?.attributes ?? {};
    expect([seen, ...(reason === undefined ? [] : [reason])].join(' ')).toBe(outcome);
    expect(span && stagesOf(span)).toEqual(stages);
    expect(span?.attributes['http.response.status_code']).toBe(status);
  });
});
