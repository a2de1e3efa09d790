// The tool of a stdio server as a LangChain tool, invoked as an agent would.
import { MultiServerMCPClient } from '@langchain/mcp-adapters';

const client = new MultiServerMCPClient({
  mcpServers: {
    everything: {
      transport: 'stdio',
      command: process.execPath,
      args: ['node_modules/@modelcontextprotocol/server-everything/dist/index.js'],
      env: { ...process.env },
    },
  },
});
const tools = await client.getTools();
const echo = tools.find(({ name }) => name === 'echo');
console.log(JSON.stringify(await echo.invoke({ message: 'hi' })));
await client.close();
