// A session of mcp-use on a stdio server, without an agent or a model.
import { MCPClient } from 'mcp-use/client';

const client = new MCPClient({
  mcpServers: {
    everything: {
      command: process.execPath,
      args: ['node_modules/@modelcontextprotocol/server-everything/dist/index.js'],
      env: { ...process.env },
    },
  },
});
const session = await client.createSession('everything');
console.log(JSON.stringify(await session.callTool('echo', { message: 'hi' })));
await client.closeAllSessions();
