// The tool called by a node of a graph, whose thread is to be the run of the call.
import { AsyncLocalStorageProviderSingleton } from '@langchain/core/singletons';
import { Annotation, START, StateGraph } from '@langchain/langgraph';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { McpInstrumentation } from '@waybill/instrumentation-mcp';
import { fromLangGraph } from '@waybill/instrumentation-mcp/resolvers';

new McpInstrumentation({ resolveIds: fromLangGraph(AsyncLocalStorageProviderSingleton) });
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
const graph = new StateGraph(Annotation.Root({ said: Annotation() }))
  .addNode('greet', async () => ({ said: JSON.stringify(await echo.invoke({ message: 'hi' })) }))
  .addEdge(START, 'greet')
  .compile();
const { said } = await graph.invoke({}, { configurable: { thread_id: 'thread-7' } });
console.log(said);
await client.close();
