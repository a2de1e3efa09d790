const { Client, InMemoryTransport, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');
const { NodeStreamableHTTPServerTransport, toNodeHandler } = require('@modelcontextprotocol/node');
const { McpServer, createMcpHandler } = require('@modelcontextprotocol/server');
const { StdioServerTransport } = require('@modelcontextprotocol/server/stdio');
const { z } = require('zod');
const { asV2, play } = require('./play.cjs');

void play(
  asV2({
    Client,
    HttpServerTransport: NodeStreamableHTTPServerTransport,
    InMemoryTransport,
    McpServer,
    StdioClientTransport,
    StdioServerTransport,
    StreamableHTTPClientTransport,
    createMcpHandler,
    toNodeHandler,
    z,
  }),
);
