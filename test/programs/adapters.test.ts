import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request as open } from 'node:http';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ExportedSpan } from '../loading/harness.js';
import { install } from './install.js';
import { type HttpServer, ours, serve } from './support.js';

const cwd = join(import.meta.dirname, 'adapters');
let otel: string;
beforeAll(async () => {
  otel = await install(cwd);
});

const MODERN = '2026-07-28';
let id = 0;

/** The POST of a tool call as a client of that era sends it. */
function post(port: number, path: string, tool: string, modern: boolean): ClientRequest {
  const meta = modern
    ? {
        'io.modelcontextprotocol/protocolVersion': MODERN,
        'io.modelcontextprotocol/clientCapabilities': {},
      }
    : {};
  const request = open({
    host: '127.0.0.1',
    port,
    path,
    method: 'POST',
    agent: false,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': modern ? MODERN : '2025-06-18',
      ...(modern ? { 'mcp-method': 'tools/call', 'mcp-name': tool } : {}),
    },
  });
  // Whoever cuts the connection is told of it here.
  request.on('error', () => undefined);
  request.end(
    JSON.stringify({
      jsonrpc: '2.0',
      id: ++id,
      method: 'tools/call',
      params: { name: tool, arguments: {}, _meta: meta },
    }),
  );
  return request;
}

async function answerOf(request: ClientRequest): Promise<IncomingMessage> {
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.on('error', () => undefined);
  return response;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The server span of the one call of `tool`, once the server has flushed. */
function callOf(server: HttpServer, tool: string): ExportedSpan {
  const [found, ...others] = ours(server.spans).filter(
    ({ kind, name }) => kind === 'server' && name === `tools/call ${tool}`,
  );
  if (found === undefined || others.length > 0) throw new Error(`not one span of ${tool}`);
  return found;
}

const stagesOf = (span: ExportedSpan): readonly string[] =>
  span.events.map((name) => name.replace('waybill.server.', ''));

describe('a reply over HTTP, by adapter', () => {
  it.each([
    ['node:http, SDK 1.32.2', 'node-v1', 'dropped'],
    ['node:http, SDK 2.4.0', 'node-v2', 'cut'],
    ['node:http, SDK 2.4.0, 2026-07-28', 'node-modern', 'dropped'],
    ['Express 4 with a body parser, SDK 1.32.2', 'express4-v1', 'dropped'],
    ['Express 5 with a body parser, SDK 1.32.2', 'express5-v1', 'dropped'],
    ['@modelcontextprotocol/express', 'express-v2', 'cut'],
    ['@modelcontextprotocol/express, 2026-07-28', 'express-modern', 'dropped'],
    ['Hono, SDK 2.4.0', 'hono-v2', 'cut'],
    ['@modelcontextprotocol/hono, 2026-07-28', 'hono-modern', 'dropped'],
    ['@modelcontextprotocol/fastify', 'fastify-v2', 'cut'],
    ['@modelcontextprotocol/fastify, 2026-07-28', 'fastify-modern', 'dropped'],
  ])('%s: taken, cut on its way, and dropped for a client that had gone', async (_title, adapter, lost) => {
    const modern = adapter.endsWith('modern');
    const server = await serve({ cwd, args: ['server.mjs', adapter] }, [otel]);
    try {
      const taken = await answerOf(post(server.port, '/mcp', 'quick', modern));
      expect(taken.statusCode).toBe(200);
      taken.resume();
      await once(taken, 'end');
      // Gone while the handler runs.
      const gone = post(server.port, '/mcp', 'slow', modern);
      await pause(500);
      gone.destroy();
      // Gone with the first bytes of what no socket takes at once.
      const begun = await answerOf(post(server.port, '/mcp', 'big', modern));
      await once(begun, 'readable');
      begun.destroy();
      await pause(1200);
    } finally {
      await server.stop();
    }
    const taken = callOf(server, 'quick');
    expect(taken.attributes).toMatchObject({
      'waybill.reply.state': 'flushed',
      'waybill.outcome': 'TOOL_SUCCESS',
      'client.address': '127.0.0.1',
    });
    expect(stagesOf(taken).slice(-2)).toEqual(['result_sent', 'result_flushed']);
    const gone = callOf(server, 'slow');
    expect(gone.attributes['waybill.reply.state']).toBe(lost);
    expect(stagesOf(gone)).toContain('handler_returned');
    expect(stagesOf(gone)).toContain('result_dropped');
    expect(stagesOf(gone)).not.toContain('result_flushed');
    const begun = callOf(server, 'big');
    expect(begun.attributes['waybill.reply.state']).toBe('cut');
    expect(stagesOf(begun).slice(-2)).toEqual(['result_sent', 'result_dropped']);
  });
});

describe('a reply over HTTP+SSE, by adapter', () => {
  it.each([
    ['SSEServerTransport of SDK 1.32.2', 'sse-v1'],
    ['@modelcontextprotocol/server-legacy', 'sse-server-legacy'],
  ])('%s: handed over, and dropped for a client that had gone', async (_title, adapter) => {
    const server = await serve({ cwd, args: ['server.mjs', adapter] }, [otel]);
    try {
      const listening = open({ host: '127.0.0.1', port: server.port, path: '/mcp', agent: false });
      listening.on('error', () => undefined);
      listening.end();
      const stream = await answerOf(listening);
      stream.setEncoding('utf8');
      let seen = '';
      stream.on('data', (chunk: string) => (seen += chunk));
      const said = async (pattern: RegExp): Promise<string> => {
        for (let waited = 0; waited < 5000; waited += 10) {
          const match = pattern.exec(seen);
          if (match !== null) return match[1] ?? '';
          await pause(10);
        }
        throw new Error(`${String(pattern)} is not in: ${seen}`);
      };
      const path = await said(/data: (\S+)/);
      (await answerOf(post(server.port, path, 'quick', false))).resume();
      await said(/"text":"(done)"/);
      (await answerOf(post(server.port, path, 'slow', false))).resume();
      await pause(200);
      stream.destroy();
      await pause(1200);
    } finally {
      await server.stop();
    }
    const taken = callOf(server, 'quick');
    expect(taken.attributes).toMatchObject({
      'waybill.reply.state': 'handed_over',
      'client.address': '127.0.0.1',
    });
    expect(stagesOf(taken).at(-1)).toBe('result_sent');
    const gone = callOf(server, 'slow');
    expect(gone.attributes['waybill.reply.state']).toBe('dropped');
    expect(stagesOf(gone)).toContain('result_dropped');
  });
});
