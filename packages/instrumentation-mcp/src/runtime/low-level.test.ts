import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport as V1Memory } from '@modelcontextprotocol/sdk/inMemory.js';
import * as v1Mcp from '@modelcontextprotocol/sdk/server/mcp.js';
import * as v1Server from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema, McpError, ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import * as v2Client from '@modelcontextprotocol/client';
import * as v2Server from '@modelcontextprotocol/server';
import { SpanStatusCode } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import {
  ATTR_OUTCOME,
  ATTR_RPC_RESPONSE_STATUS_CODE,
  CLIENT_FAULT_CODES,
  METHOD_TOOLS_CALL,
} from '@waybill/core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Harness, stagesOf, startHarness } from '../../test-support/harness.js';

let harness: Harness;
beforeAll(() => {
  harness = startHarness([v1Client, v1Mcp, v1Server, v2Client, v2Server]);
});
afterEach(() => harness.reset());
afterAll(() => harness.stop());

type Params = Readonly<Record<string, unknown>>;
/** What a server does with a call: a handler of its own, or none. */
type Handler = (params: Params) => object;
interface Pair {
  /** Sends any parameters, also those that no client of an SDK would make. */
  send(params: Params): Promise<unknown>;
  close(): Promise<void>;
}
const info = { name: 'x', version: '1' };
const capabilities = { tools: {} };

async function joinV1(server: { connect(transport: V1Memory): Promise<void> }): Promise<Pair> {
  const client = new v1Client.Client(info);
  const [a, b] = V1Memory.createLinkedPair();
  await Promise.all([server.connect(b), client.connect(a)]);
  return {
    send: (params) => client.request({ method: METHOD_TOOLS_CALL, params }, ResultSchema),
    close: () => client.close(),
  };
}
async function joinV2(server: {
  connect(transport: v2Server.InMemoryTransport): Promise<void>;
}): Promise<Pair> {
  const client = new v2Client.Client(info);
  const [a, b] = v2Server.InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(b), client.connect(a as never)]);
  return {
    send: (params) => client.request({ method: METHOD_TOOLS_CALL, params } as never),
    close: () => client.close(),
  };
}

type Sdk = 'SDK 1.x' | 'SDK 2.x';

/** Low-level servers, which know no tools: everything is up to one handler. */
const LOW = {
  'SDK 1.x': (handler: Handler | undefined): Promise<Pair> => {
    const server = new v1Server.Server(info, { capabilities });
    if (handler !== undefined)
      server.setRequestHandler(CallToolRequestSchema, ({ params }) => handler(params));
    return joinV1(server);
  },
  'SDK 2.x': (handler: Handler | undefined): Promise<Pair> => {
    const server = new v2Server.Server(info, { capabilities });
    if (handler !== undefined)
      server.setRequestHandler(METHOD_TOOLS_CALL, ({ params }) => handler(params as Params) as never);
    return joinV2(server);
  },
} as const;
/** The same with tools that have schemas. */
const HIGH = {
  'SDK 1.x': (): Promise<Pair> => {
    const server = new v1Mcp.McpServer(info);
    server.registerTool('t', { inputSchema: { text: z.string() } }, async () => ({ content: [] }));
    return joinV1(server);
  },
  'SDK 2.x': (): Promise<Pair> => {
    const server = new v2Server.McpServer(info);
    server.registerTool('t', { inputSchema: z.object({ text: z.string() }) }, async () => ({ content: [] }));
    return joinV2(server);
  },
} as const;

const rpcError: Readonly<Record<Sdk, (code: number, message: string) => Error>> = {
  'SDK 1.x': (code, message) => new McpError(code, message),
  'SDK 2.x': (code, message) => new v2Server.ProtocolError(code, message),
};
const thrown =
  (sdk: Sdk, code: number, message: string): Handler =>
  () => {
    throw rpcError[sdk](code, message);
  };

interface Row {
  readonly title: string;
  readonly open: (sdk: Sdk) => Promise<Pair>;
  readonly params: Params;
  /** A JSON-RPC code, or the outcome of a result; by SDK where they differ. */
  readonly expected: Expected | Readonly<Record<Sdk, Expected>>;
  /** No handler was there to run. */
  readonly unhandled?: true;
}
type Expected = number | 'TOOL_SUCCESS' | 'TOOL_ERROR';
const call = { name: 't', arguments: {} };
const empty = (): object => ({ content: [] });

const ROWS: readonly Row[] = [
  {
    title: 'a handler that knows no such tool',
    open: (sdk) => LOW[sdk](thrown(sdk, -32602, 'Unknown tool: t')),
    params: call,
    expected: -32602,
  },
  {
    title: 'a handler with a code of its own',
    open: (sdk) => LOW[sdk](thrown(sdk, -32050, 'quota')),
    params: call,
    expected: -32050,
  },
  {
    title: 'a handler that throws',
    open: (sdk) =>
      LOW[sdk](() => {
        throw new Error('disk full');
      }),
    params: call,
    expected: -32603,
  },
  {
    title: 'a handler that says isError',
    open: (sdk) => LOW[sdk](() => ({ content: [], isError: true })),
    params: call,
    expected: 'TOOL_ERROR',
  },
  {
    // The SDKs put `content: []` into it before it goes out: the wire carries a valid result.
    title: 'a handler that returns nothing',
    open: (sdk) => LOW[sdk](() => ({})),
    params: call,
    expected: 'TOOL_SUCCESS',
  },
  {
    // The SDKs answer for their handler with the code of a fault of the client.
    title: 'a handler whose result is none',
    open: (sdk) => LOW[sdk](() => ({ content: 'x' })),
    params: call,
    expected: -32602,
  },
  {
    title: 'a call without a name',
    open: (sdk) => LOW[sdk](empty),
    params: { arguments: {} },
    expected: { 'SDK 1.x': -32603, 'SDK 2.x': -32602 },
  },
  {
    title: 'a call whose arguments are no object',
    open: (sdk) => LOW[sdk](empty),
    params: { name: 't', arguments: 'x' },
    expected: { 'SDK 1.x': -32603, 'SDK 2.x': -32602 },
  },
  {
    title: 'a server without a handler',
    open: (sdk) => LOW[sdk](undefined),
    params: call,
    expected: -32601,
    unhandled: true,
  },
  {
    title: 'a tool that McpServer does not have',
    open: (sdk) => HIGH[sdk](),
    params: { name: 'nope', arguments: {} },
    expected: { 'SDK 1.x': 'TOOL_ERROR', 'SDK 2.x': -32602 },
  },
  {
    title: 'arguments that McpServer refuses',
    open: (sdk) => HIGH[sdk](),
    params: { name: 't', arguments: { text: 7 } },
    expected: 'TOOL_ERROR',
  },
];

/** What the client did wrong is no error of the server. */
function spanOf(expected: Expected, side: 'client' | 'server'): object {
  const code = typeof expected === 'number' ? String(expected) : undefined;
  const outcome = typeof expected === 'number' ? 'JSONRPC_ERROR' : expected;
  const excused = side === 'server' && typeof expected === 'number' && CLIENT_FAULT_CODES.includes(expected);
  const errorType = expected === 'TOOL_ERROR' ? 'tool_error' : excused ? undefined : code;
  return {
    outcome,
    code,
    errorType,
    status: errorType === undefined ? SpanStatusCode.UNSET : SpanStatusCode.ERROR,
  };
}
const said = ({ attributes, status }: ReadableSpan): object => ({
  outcome: attributes[ATTR_OUTCOME],
  code: attributes[ATTR_RPC_RESPONSE_STATUS_CODE],
  errorType: attributes['error.type'],
  status: status.code,
});

describe.each(['SDK 1.x', 'SDK 2.x'] as const)('%s', (sdk) => {
  it.each(ROWS)('$title', async ({ expected: either, open, params, unhandled }) => {
    const pair = await open(sdk);
    await pair.send(params).catch(() => undefined);
    const [client, server] = [await harness.tool('client'), await harness.tool('server')];
    const expected = typeof either === 'object' ? either[sdk] : either;
    expect(said(client)).toEqual(spanOf(expected, 'client'));
    expect(said(server)).toEqual(spanOf(expected, 'server'));
    expect(stagesOf(client)).toEqual(['client.sent', 'client.result_received']);
    expect(stagesOf(server)).toEqual([
      'server.received',
      ...(unhandled === true ? [] : ['server.handler_started', 'server.handler_returned']),
      'server.result_sent',
    ]);
    await pair.close();
  });
});
