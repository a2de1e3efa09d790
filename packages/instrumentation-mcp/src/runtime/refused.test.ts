import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import * as v1Http from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as v1Mcp from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import * as v2Client from '@modelcontextprotocol/client';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import * as v2Server from '@modelcontextprotocol/server';
import { SpanKind } from '@opentelemetry/api';
import {
  ATTR_OUTCOME,
  ATTR_OUTCOME_REASON,
  ATTR_RPC_RESPONSE_STATUS_CODE,
  METHOD_TOOLS_CALL,
} from '@waybill/core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Harness, startHarness } from '../../test-support/harness.js';
import { type Running, listen } from '../../test-support/http.js';

let harness: Harness;
beforeAll(() => {
  harness = startHarness([v1Client, v1Http, v1Mcp, v2Client, v2Server]);
});
afterEach(() => harness.reset());
afterAll(() => harness.stop());

const done = async (): Promise<{ content: { type: 'text'; text: string }[] }> => ({
  content: [{ type: 'text', text: 'done' }],
});

interface Server extends Running {
  /** From now on no session is known any more, as after a restart. */
  forgetSessions(): void;
}
interface SessionTransport {
  handleRequest: StreamableHTTPServerTransport['handleRequest'];
}

/** A server with sessions, as the SDKs' examples have it: one transport a session, 404 for the rest by the transport. */
async function withSessions(open: (newSession: () => string) => Promise<SessionTransport>): Promise<Server> {
  const sessions = new Map<string, SessionTransport>();
  let orphan: SessionTransport | undefined;
  const running = await listen(async (request, response) => {
    const id = request.headers['mcp-session-id']?.toString();
    const known = id === undefined ? undefined : sessions.get(id);
    if (known !== undefined) return known.handleRequest(request, response);
    if (id !== undefined && orphan !== undefined) return orphan.handleRequest(request, response);
    const session = crypto.randomUUID();
    const transport = await open(() => session);
    sessions.set(session, transport);
    orphan = transport;
    return transport.handleRequest(request, response);
  });
  return { ...running, close: () => running.close(), forgetSessions: () => sessions.clear() };
}
const serveV1 = (): Promise<Server> =>
  withSessions(async (sessionIdGenerator) => {
    const server = new v1Mcp.McpServer({ name: 's1', version: '1' });
    server.registerTool('t', {}, done);
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator });
    await server.connect(transport);
    return transport;
  });
const serveV2 = (): Promise<Server> =>
  withSessions(async (sessionIdGenerator) => {
    const server = new v2Server.McpServer({ name: 's2', version: '1' });
    server.registerTool('t', { inputSchema: z.object({}) }, done);
    const transport = new NodeStreamableHTTPServerTransport({ sessionIdGenerator });
    await server.connect(transport);
    return transport;
  });
const serveModern = async (): Promise<Running> =>
  listen(
    toNodeHandler(
      v2Server.createMcpHandler(() => {
        const server = new v2Server.McpServer({ name: 's3', version: '1' });
        server.registerTool('t', { inputSchema: z.object({}) }, done);
        return server;
      }),
    ),
  );

const CALL = { jsonrpc: '2.0', id: 1, method: METHOD_TOOLS_CALL, params: { name: 't', arguments: {} } };
const GOOD = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2025-11-25',
};
interface Refusal {
  readonly title: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Without the session that was opened. */
  readonly session?: string | null;
  readonly status: number;
}
const REFUSALS: readonly Refusal[] = [
  { title: 'a body that is no JSON', body: '{"jsonrpc":', status: 400 },
  { title: 'a message that is no JSON-RPC', body: '{"id":1,"method":"tools/call"}', status: 400 },
  { title: 'a body of another type', headers: { 'content-type': 'text/plain' }, status: 415 },
  { title: 'a client that takes no event stream', headers: { accept: 'application/json' }, status: 406 },
  { title: 'an unknown session', session: 'gone', status: 404 },
  { title: 'no session', session: null, status: 400 },
  { title: 'an unknown version', headers: { 'mcp-protocol-version': '1999-01-01' }, status: 400 },
];

const serverSpans = () =>
  harness
    .spans()
    .filter((span) => span.kind === SpanKind.SERVER)
    .map(({ name }) => name);
const post = (url: URL, headers: Record<string, string>, body: string): Promise<Response> =>
  fetch(url, { method: 'POST', headers, body });

/** Opens a session by hand: no client of an SDK would send what is refused here. */
async function openSession(url: URL): Promise<string> {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'raw', version: '1' },
  };
  const response = await post(url, GOOD, JSON.stringify({ ...CALL, method: 'initialize', params }));
  await response.text();
  const session = response.headers.get('mcp-session-id') ?? '';
  await post(
    url,
    { ...GOOD, 'mcp-session-id': session },
    '{"jsonrpc":"2.0","method":"notifications/initialized"}',
  );
  return session;
}

describe.each([
  ['SDK 1.x', serveV1],
  ['SDK 2.x', serveV2],
] as const)('a server of %s', (_name, serve) => {
  it.each(REFUSALS)(
    '$title is refused with $status before the protocol: no span, no stage',
    async (refusal) => {
      const running = await serve();
      const opened = await openSession(running.url);
      const { body = JSON.stringify(CALL), headers = {}, session = opened, status } = refusal;
      const response = await post(
        running.url,
        { ...GOOD, ...(session === null ? {} : { 'mcp-session-id': session }), ...headers },
        body,
      );
      await response.text();
      expect(response.status).toBe(status);
      // The call that follows shows that the server is seen.
      const good = await post(running.url, { ...GOOD, 'mcp-session-id': opened }, JSON.stringify(CALL));
      expect(await good.text()).toContain('done');
      await harness.tool('server');
      expect(serverSpans()).toEqual(['initialize', 'tools/call t']);
      await running.close();
    },
  );
});

describe('a server of 2026-07-28', () => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const call = { ...CALL, params: { ...CALL.params, _meta: meta } };
  const headers = {
    ...GOOD,
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': METHOD_TOOLS_CALL,
    'mcp-name': 't',
  };
  it.each([
    ['a body that is no JSON', headers, '{"jsonrpc":', 400],
    ['a request whose header names another tool', { ...headers, 'mcp-name': 'other' }, call, 400],
    ['a request whose header names another method', { ...headers, 'mcp-method': 'tools/list' }, call, 400],
    [
      'a version that is not spoken',
      { ...headers, 'mcp-protocol-version': '2031-01-01' },
      { ...call, params: { ...call.params, _meta: { ...meta, [Object.keys(meta)[0] ?? '']: '2031-01-01' } } },
      400,
    ],
    ['a body of another type', { ...headers, 'content-type': 'text/plain' }, call, 415],
  ] as const)('%s is refused before the protocol: no span, no stage', async (_title, sent, body, status) => {
    const running = await serveModern();
    const response = await post(running.url, sent, typeof body === 'string' ? body : JSON.stringify(body));
    await response.text();
    expect(response.status).toBe(status);
    const good = await post(running.url, headers, JSON.stringify(call));
    expect(await good.text()).toContain('done');
    await harness.tool('server');
    expect(serverSpans()).toEqual(['tools/call t']);
    await running.close();
  });
});

describe.each([
  [
    'SDK 1.x',
    serveV1,
    () => new v1Client.Client({ name: 'c', version: '1' }),
    v1Http.StreamableHTTPClientTransport,
  ],
  [
    'SDK 2.x',
    serveV2,
    () => new v2Client.Client({ name: 'c', version: '1' }),
    v2Client.StreamableHTTPClientTransport,
  ],
] as const)('a client of %s whose session the server has lost', (_name, serve, make, Transport) => {
  it('has an HTTP_ERROR of its own, and the server has no span of the call', async () => {
    const running = await serve();
    const client = make();
    await client.connect(new Transport(running.url));
    running.forgetSessions();
    await openSession(running.url);
    await expect(client.callTool({ name: 't', arguments: {} })).rejects.toThrow(/Session not found/);
    const span = await harness.tool('client');
    expect(span.attributes).toMatchObject({
      [ATTR_OUTCOME]: 'HTTP_ERROR',
      [ATTR_OUTCOME_REASON]: 'session_lost',
      'http.response.status_code': 404,
      'error.type': '404',
    });
    expect(span.attributes).toHaveProperty([ATTR_RPC_RESPONSE_STATUS_CODE]);
    expect(serverSpans()).not.toContain('tools/call t');
    await client.close();
    await running.close();
  });
});
