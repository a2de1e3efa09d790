// The same server inside a run of the framework, whose trace is to be the run of the call.
import { MCPServerStdio, getCurrentTrace, withTrace } from '@openai/agents-core';
import { McpInstrumentation } from '@waybill/instrumentation-mcp';
import { fromOpenAIAgents } from '@waybill/instrumentation-mcp/resolvers';

new McpInstrumentation({ resolveIds: fromOpenAIAgents({ getCurrentTrace }) });
const server = new MCPServerStdio({
  command: process.execPath,
  args: ['node_modules/@modelcontextprotocol/server-everything/dist/index.js'],
  env: { ...process.env },
});
await server.connect();
await withTrace('greeting', async (trace) => {
  await server.callTool('echo', { message: 'hi' });
  console.log(trace.traceId);
});
await server.close();
