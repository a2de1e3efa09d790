import { Client, InMemoryTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { asV2, play } from './play.cjs';

await play(
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
