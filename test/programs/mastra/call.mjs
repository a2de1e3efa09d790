// The tool of a stdio server as a Mastra tool, executed as an agent would.
import { MCPClient } from '@mastra/mcp';

const client = new MCPClient({
  servers: {
    everything: {
      command: process.execPath,
      args: ['node_modules/@modelcontextprotocol/server-everything/dist/index.js'],
      env: { ...process.env },
    },
  },
});
const tools = await client.listTools();
console.log(JSON.stringify(await tools.everything_echo.execute({ message: 'hi' }, {})));
await client.disconnect();
