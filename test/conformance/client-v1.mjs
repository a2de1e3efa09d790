import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { play } from './scenarios.mjs';

let transport;
await play({
  async open(url, { capabilities, answerElicitation, authProvider }) {
    const client = new Client({ name: 'caller', version: '1.0.0' }, { capabilities });
    if (answerElicitation !== undefined) client.setRequestHandler(ElicitRequestSchema, answerElicitation);
    transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
    await client.connect(transport);
    return {
      listTools: () => client.listTools(),
      callTool: (params) => client.callTool(params),
      close: () => client.close(),
    };
  },
  isUnauthorized: (error) => error instanceof UnauthorizedError,
  finish: (code) => transport.finishAuth(code),
});
