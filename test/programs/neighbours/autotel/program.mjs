// Argument: `alone` without autotel's wrappers, `beside` with them around client and server.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { instrumentMcpClient } from 'autotel-mcp-instrumentation/client';
import { instrumentMcpServer } from 'autotel-mcp-instrumentation/server';
import { callOnce } from '../call-once.mjs';

const wrappers =
  process.argv[2] === 'beside'
    ? {
        wrapClient: (client) => instrumentMcpClient(client),
        wrapServer: (server) => instrumentMcpServer(server),
      }
    : {};
await callOnce({ Client, McpServer, InMemoryTransport, ...wrappers });
