// A FastMCP server over stdio, or over HTTP when the first argument says so.
import { FastMCP } from 'fastmcp';
import { z } from 'zod';

const server = new FastMCP({ name: 'greeter', version: '1.0.0' });
server.addTool({
  name: 'greet',
  description: 'Greets by name',
  parameters: z.object({ name: z.string() }),
  execute: async ({ name }) => `Hello, ${name}`,
});
await server.start(
  process.argv[2] === 'http'
    ? { transportType: 'httpStream', httpStream: { port: 0, host: '127.0.0.1' } }
    : { transportType: 'stdio' },
);
