// The AI SDK's own client. Arguments: `plain` or `instrumented`, then the URL of a server; without one it starts
// server-everything over stdio. Over HTTP it is handed the transport of the MCP SDK, which its documentation allows.
import { createMCPClient } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as StdioTransport } from '@ai-sdk/mcp/mcp-stdio';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { instrumentTransport } from '@waybill/instrumentation-mcp';

const [, , way, url] = process.argv;
const transport =
  url === undefined
    ? new StdioTransport({
        command: process.execPath,
        args: ['node_modules/@modelcontextprotocol/server-everything/dist/index.js'],
        env: { ...process.env },
      })
    : new StreamableHTTPClientTransport(new URL(url));
const client = await createMCPClient({
  transport: way === 'instrumented' ? instrumentTransport(transport, 'client') : transport,
});
const tools = await client.tools();
console.log(JSON.stringify(await tools.echo.execute({ message: 'hi' }, { toolCallId: '1', messages: [] })));
await client.close();
