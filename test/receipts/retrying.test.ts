import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { retryAdvice, retrying } from '@waybill/receipts';
import type { RetryingOptions } from '@waybill/receipts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

interface Message {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: { readonly protocolVersion?: string; readonly _meta?: Readonly<Record<string, unknown>> };
}

/** Answers everything but tools/call at once; `statuses` says how each tools/call is answered. */
let server: Server;
let statuses: number[];
let calls: Message[];
beforeEach(async () => {
  calls = [];
  server = createServer((request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(405).end();
      return;
    }
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const message = JSON.parse(text) as Message;
      if (message.id === undefined) {
        response.writeHead(202).end();
        return;
      }
      if (message.method === 'tools/call') calls.push(message);
      const status = message.method === 'tools/call' ? (statuses.shift() ?? 200) : 200;
      if (status !== 200) {
        response.writeHead(status).end();
        return;
      }
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer(message) }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
});

function answer({ method, params }: Message): object {
  switch (method) {
    case 'initialize':
      return {
        result: {
          protocolVersion: params?.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 's', version: '1' },
        },
      };
    case 'tools/list':
      return { result: { tools: [{ name: 't', inputSchema: { type: 'object' } }] } };
    case 'tools/call':
      return { result: { content: [{ type: 'text', text: 'ok' }] } };
    default:
      return { error: { code: -32601, message: 'unknown' } };
  }
}

const url = (): URL => new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
const clients = {
  'SDK 1.x': async (options: RetryingOptions) => {
    const client = new ClientV1({ name: 'c', version: '1' });
    await client.connect(new TransportV1(url()));
    return retrying(client, options);
  },
  'SDK 2.x': async (options: RetryingOptions) => {
    const client = new ClientV2({ name: 'c', version: '1' });
    await client.connect(new TransportV2(url()));
    return retrying(client, options);
  },
};
const quick = { baseDelayMs: 1, deduplicates: true } as const;

describe.each(Object.entries(clients))('retrying a real client, %s', (_, connect) => {
  it('a read answered 503 and then 200 is two requests under one operation id, and one result', async () => {
    statuses = [503];
    const client = await connect({ tool: () => ({ effectKind: 'read', contract: quick }) });
    const result = await client.callTool({ name: 't', arguments: {} });
    expect(result).toMatchObject({ content: [{ type: 'text', text: 'ok' }] });
    expect(calls).toHaveLength(2);
    expect(new Set(calls.map((call) => call.id)).size).toBe(2);
    const ids = calls.map((call) => call.params?.['_meta']?.['io.waybill/operationId']);
    expect(typeof ids[0]).toBe('string');
    expect(ids[1]).toBe(ids[0]);
    await client.close();
  });

  it('a write of which nothing is promised is sent once', async () => {
    statuses = [503];
    const client = await connect({ tool: () => ({ effectKind: 'write' }) });
    const error: unknown = await client.callTool({ name: 't', arguments: {} }).catch((e: unknown) => e);
    expect(retryAdvice(error)).toMatchObject({ decision: 'reconcile_first' });
    expect(calls).toHaveLength(1);
    await client.close();
  });
});
