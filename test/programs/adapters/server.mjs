// One MCP server behind the web framework that the first argument names. `slow` answers after a while, `big` with what
// no socket takes at once, `quick` at once.
import { createServer } from 'node:http';
import { serve as serveHono } from '@hono/node-server';
import { createMcpExpressApp } from '@modelcontextprotocol/express';
import { createMcpFastifyApp } from '@modelcontextprotocol/fastify';
import { createMcpHonoApp } from '@modelcontextprotocol/hono';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport as SSEServerTransportV1 } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  McpServer,
  WebStandardStreamableHTTPServerTransport,
  createMcpHandler,
} from '@modelcontextprotocol/server';
import { SSEServerTransport } from '@modelcontextprotocol/server-legacy/sse';
import express from 'express';
import express4 from 'express-4';
import { Hono } from 'hono';

const text = (value) => ({ content: [{ type: 'text', text: value }] });
const tools = {
  quick: async () => text('done'),
  slow: async () => {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    return text('done');
  },
  big: async () => text('x'.repeat(64 << 20)),
};
const withTools = (server) => {
  for (const [name, tool] of Object.entries(tools)) server.registerTool(name, {}, tool);
  return server;
};
const makeV1 = () => withTools(new McpServerV1({ name: 's1', version: '1' }));
const makeV2 = () => withTools(new McpServer({ name: 's2', version: '1' }));

const v1 = async (request, response, body) => {
  const transport = new StreamableHTTPServerTransport({});
  await makeV1().connect(transport);
  await transport.handleRequest(request, response, body);
};
const v2 = async (request, response, body) => {
  const transport = new NodeStreamableHTTPServerTransport({});
  await makeV2().connect(transport);
  await transport.handleRequest(request, response, body);
};
const handler = createMcpHandler(makeV2);
const modern = toNodeHandler(handler);

const onNode = (serve) => createServer((request, response) => void serve(request, response)).listen(0);
const onExpress = (app, serve) => {
  app.post('/mcp', (request, response) => void serve(request, response, request.body));
  app.listen(0);
};
const onHono = (app, serve) => {
  app.post('/mcp', (context) => serve(context.req.raw));
  serveHono({ fetch: app.fetch, port: 0 });
};
const onFastify = async (serve) => {
  const app = createMcpFastifyApp();
  app.post('/mcp', (request, reply) => {
    reply.hijack();
    void serve(request.raw, reply.raw, request.body);
  });
  await app.listen({ port: 0 });
};
/** HTTP+SSE of 2024-11-05: a stream to listen on, and a place to post to. */
const onEventStream = (Transport, make) => {
  const open = new Map();
  return onNode(async (request, response) => {
    const { searchParams } = new URL(request.url, 'http://local');
    if (request.method === 'GET') {
      const transport = new Transport('/mcp', response);
      open.set(transport.sessionId, transport);
      await make().connect(transport);
    } else {
      await open.get(searchParams.get('sessionId'))?.handlePostMessage(request, response);
    }
  });
};

const servers = {
  'node-v1': () => onNode(v1),
  'node-v2': () => onNode(v2),
  'node-modern': () => onNode(modern),
  'express4-v1': () => onExpress(express4().use(express4.json()), v1),
  'express5-v1': () => onExpress(express().use(express.json()), v1),
  'express-v2': () => onExpress(createMcpExpressApp(), v2),
  'express-modern': () => onExpress(createMcpExpressApp(), modern),
  'hono-v2': () =>
    onHono(new Hono(), async (request) => {
      const transport = new WebStandardStreamableHTTPServerTransport({});
      await makeV2().connect(transport);
      return transport.handleRequest(request);
    }),
  'hono-modern': () => onHono(createMcpHonoApp(), (request) => handler.fetch(request)),
  'fastify-v2': () => onFastify(v2),
  'fastify-modern': () => onFastify(modern),
  'sse-v1': () => onEventStream(SSEServerTransportV1, makeV1),
  'sse-server-legacy': () => onEventStream(SSEServerTransport, makeV2),
};
await servers[process.argv[2]]();
