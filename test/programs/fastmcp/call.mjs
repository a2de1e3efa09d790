// One tool call of SDK v1 to a server given as JSON: { url } or { command, args }, with { tool, arguments }.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const { url, command, args, env, tool, arguments: input } = JSON.parse(process.argv[2]);
const client = new Client({ name: 'caller', version: '1' });
await client.connect(transport());
console.log(JSON.stringify(await client.callTool({ name: tool, arguments: input })));
await client.close();

function transport() {
  if (url === undefined) return new StdioClientTransport({ command, args, env: { ...process.env, ...env } });
  if (url.endsWith('/sse')) return new SSEClientTransport(new URL(url));
  return new StreamableHTTPClientTransport(new URL(url));
}
