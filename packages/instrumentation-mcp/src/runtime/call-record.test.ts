import { readFileSync } from 'node:fs';
import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import * as v1Http from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import * as v1Mcp from '@modelcontextprotocol/sdk/server/mcp.js';
import * as v2Client from '@modelcontextprotocol/client';
import { trace } from '@opentelemetry/api';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Harness, startHarness } from '../../test-support/harness.js';
import { rawPeer } from '../../test-support/http.js';

const schema: object = JSON.parse(
  readFileSync(new URL('../../schemas/call-record-1.json', import.meta.url), 'utf8'),
);
const validate = new Ajv2020({ allowUnionTypes: true }).compile(schema);

let harness: Harness;
beforeAll(() => {
  harness = startHarness([v1Client, v1Http, v1Mcp, v2Client], { diagnosticRecord: true });
});
afterEach(() => harness.reset());
afterAll(() => harness.stop());

/** The bodies of all records, each checked against the published schema. */
const records = (): Record<string, unknown>[] =>
  harness.logs
    .filter((record) => record.eventName === 'waybill.call')
    .map(({ body }) => {
      const errors = validate(body)
        ? []
        : validate.errors?.map((error) => `${error.instancePath} ${error.message}`);
      expect(errors, JSON.stringify(body)).toEqual([]);
      return body as Record<string, unknown>;
    });

const connectV1 = async (url: URL) => {
  const client = new v1Client.Client({ name: 'till', version: '1.2' });
  await client.connect(new v1Http.StreamableHTTPClientTransport(url));
  return {
    call: (timeout = 150) =>
      client.callTool({ name: 't', arguments: { secret: 'hush' } }, undefined, { timeout }),
    close: () => client.close(),
  };
};
const connectV2 = async (url: URL) => {
  const client = new v2Client.Client({ name: 'till', version: '1.2' });
  await client.connect(new v2Client.StreamableHTTPClientTransport(url));
  return {
    call: (timeout = 150) => client.callTool({ name: 't', arguments: { secret: 'hush' } }, { timeout }),
    close: () => client.close(),
  };
};

const json = (response: ServerResponse, id: unknown, body: object, status = 200): void => {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id, ...body }));
};
type Answer = (id: unknown, response: ServerResponse, url: string | undefined) => void;

const answers: readonly [string, Answer, object][] = [
  [
    'a result',
    (id, response) => json(response, id, { result: { content: [{ type: 'text', text: 'private' }] } }),
    { outcome: 'TOOL_SUCCESS', outcome_layer: 'application', outcome_source: 'wire', posts: 1, flags: [] },
  ],
  [
    'a JSON-RPC error',
    (id, response) => {
      const message = 'no account cus_N9f3kQ2x of anna@mail.example, see https://h.example/x?t=s3cret';
      json(response, id, { error: { code: -32050, message, data: { account: 'cus_N9f3kQ2x', tries: 3 } } });
    },
    {
      outcome: 'JSONRPC_ERROR',
      error: {
        code: -32050,
        message: 'no account <id> of <email>, see https://h.example/x?<query>',
        data: { account: 'string', tries: 'number' },
      },
    },
  ],
  [
    '503 with Retry-After',
    (_id, response) => {
      response.writeHead(503, { 'retry-after': '2' }).end('order 123456 is busy');
    },
    { outcome: 'HTTP_ERROR', http_statuses: [503], retry_after_ms: 2000 },
  ],
  [
    'a stream that ends without a result',
    (_id, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': hi\n\n');
    },
    {
      outcome: 'STREAM_INCOMPLETE',
      outcome_reason: 'closed_before_response',
      content_type: 'text/event-stream',
      stream: { kind: 'sse', events: 0, bytes: 6, final_response: false, end: 'eof' },
    },
  ],
  [
    'a reset',
    (_id, response) => {
      response.socket?.resetAndDestroy();
    },
    { outcome: 'TRANSPORT_ERROR', http_statuses: [], error: { errno: 'ECONNRESET' } },
  ],
];

describe.each([
  ['SDK 1.x', connectV1, '@modelcontextprotocol/sdk'],
  ['SDK 2.x', connectV2, '@modelcontextprotocol/client'],
] as const)('the record of a call by %s', (_name, connect, sdk) => {
  it.each(answers)(
    'after %s says what was seen, and follows the schema',
    async (_title, answer, expected) => {
      const peer = await rawPeer((rpc, response, request) => {
        if (rpc.method === 'tools/call') answer(rpc.id, response, request.url);
        else response.writeHead(405).end();
      });
      const client = await connect(peer.url);
      await client.call().catch(() => undefined);
      const span = await harness.tool('client');
      const all = records();
      expect(all).toHaveLength(1);
      expect(all[0]).toMatchObject({
        ...expected,
        v: 'waybill/call/1',
        client: 'till@1.2',
        sdk,
        protocol_version: '2025-11-25',
        transport: 'http',
        method: 'tools/call',
        tool: 't',
        rpc_id_type: 'number',
        attempt: 1,
        call_id: span.attributes['waybill.call.id'],
        operation_id: span.attributes['waybill.operation.id'],
        operation_source: 'generated',
        run_id: span.attributes['waybill.run.id'],
      });
      const text = JSON.stringify(all);
      for (const secret of ['hush', 'private', 'N9f3', 'anna', 's3cret', '123456']) {
        expect(text).not.toContain(secret);
      }
      const context = harness.logs.find((record) => record.eventName === 'waybill.call')?.context;
      expect(context && trace.getSpanContext(context)?.spanId).toBe(span.spanContext().spanId);
      await client.close();
      await peer.close();
    },
  );

  it('after a redirect is one for each leg, the last with all POSTs of the request', async () => {
    const peer = await rawPeer((rpc, response, request) => {
      if (rpc.method !== 'tools/call') response.writeHead(405).end();
      else if (request.url === '/mcp') response.writeHead(307, { location: '/other' }).end();
      else json(response, rpc.id, { result: { content: [] } });
    });
    const client = await connect(peer.url);
    await client.call(10_000);
    const [first, second, ...others] = records();
    expect(others).toEqual([]);
    expect(first).toMatchObject({ posts: 1, http_statuses: [307], outcome: 'HTTP_ERROR', attempt: 1 });
    expect(second).toMatchObject({
      posts: 2,
      http_statuses: [307, 200],
      retry_origin: 'redirect',
      outcome: 'TOOL_SUCCESS',
      attempt: 2,
      operation_id: first?.['operation_id'],
    });
    expect(second?.['call_id']).not.toBe(first?.['call_id']);
    await client.close();
    await peer.close();
  });
});

describe('records', () => {
  it('are not made unless asked for, and speak of POSTs over HTTP only', async () => {
    const server = new v1Mcp.McpServer({ name: 's', version: '1' });
    server.registerTool('t', {}, async () => ({ content: [] }));
    const client = new v1Client.Client({ name: 'c', version: '1' });
    const [a, b] = InMemoryTransport.createLinkedPair();
    await Promise.all([server.connect(b), client.connect(a)]);
    await client.callTool({ name: 't' });
    const [record] = records();
    expect(record).toMatchObject({ transport: 'memory', outcome: 'TOOL_SUCCESS' });
    expect(record).not.toHaveProperty('posts');
    harness.reset();
    harness.config = {};
    await client.callTool({ name: 't' });
    expect(records()).toEqual([]);
    await client.close();
  });
});
