// Modules evaluated a second time, as development servers do by a query: those of the SDK, and the plugin with a second
// instrumentation.
import { asV1, play } from './play.cjs';

const again = (specifier) => import(`${import.meta.resolve(specifier)}?again`);
const SDK = '@modelcontextprotocol/sdk';
await import(`${SDK}/client/index.js`);

if (process.env.MATRIX_RELOAD_PLUGIN) {
  const { McpInstrumentation } = await again('@waybill/instrumentation-mcp');
  void new McpInstrumentation();
}
const { Client } = await again(`${SDK}/client/index.js`);
const { StdioClientTransport } = await again(`${SDK}/client/stdio.js`);
const { StreamableHTTPClientTransport } = await again(`${SDK}/client/streamableHttp.js`);
const { InMemoryTransport } = await again(`${SDK}/inMemory.js`);
const { McpServer } = await again(`${SDK}/server/mcp.js`);
const { StdioServerTransport } = await again(`${SDK}/server/stdio.js`);
const { StreamableHTTPServerTransport } = await again(`${SDK}/server/streamableHttp.js`);
const { z } = await import('zod');

await play(
  asV1({
    Client,
    HttpServerTransport: StreamableHTTPServerTransport,
    InMemoryTransport,
    McpServer,
    StdioClientTransport,
    StdioServerTransport,
    StreamableHTTPClientTransport,
    z,
  }),
);
