// Modules evaluated a second time, as development servers do by a query: those of the SDK, and the plugin with a second
// instrumentation.
import { asV2, play } from './play.cjs';

const again = (specifier) => import(`${import.meta.resolve(specifier)}?again`);
const SCOPE = '@modelcontextprotocol';
await import(`${SCOPE}/client`);

if (process.env.MATRIX_RELOAD_PLUGIN) {
  const { McpInstrumentation } = await again('@waybill/instrumentation-mcp');
  void new McpInstrumentation();
}
const { Client, InMemoryTransport, StreamableHTTPClientTransport } = await again(`${SCOPE}/client`);
const { StdioClientTransport } = await again(`${SCOPE}/client/stdio`);
const { NodeStreamableHTTPServerTransport, toNodeHandler } = await again(`${SCOPE}/node`);
const { McpServer, createMcpHandler } = await again(`${SCOPE}/server`);
const { StdioServerTransport } = await again(`${SCOPE}/server/stdio`);
const { z } = await import('zod');

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
