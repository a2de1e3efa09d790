// The MCP server object that an agent is given, called as the agent's runner calls it.
import { MCPServerStdio } from '@openai/agents-core';

const server = new MCPServerStdio({
  command: process.execPath,
  args: ['node_modules/@modelcontextprotocol/server-everything/dist/index.js'],
  env: { ...process.env },
});
await server.connect();
console.log(JSON.stringify(await server.callTool('echo', { message: 'hi' })));
await server.close();
