import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { play } from './scenarios.mjs';

let transport;
await play({
  async open(url, { capabilities, answerElicitation, authProvider }) {
    const client = new Client({ name: 'caller', version: '1.0.0' }, { capabilities });
    if (answerElicitation !== undefined) client.setRequestHandler('elicitation/create', answerElicitation);
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
