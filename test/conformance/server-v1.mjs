import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CompleteRequestSchema,
  CreateMessageResultSchema,
  ElicitResultSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { CAPABILITIES, NO_COMPLETION, fill } from './everything.mjs';
import { serve } from './serve.mjs';

serve(async (options) => {
  const transport = new StreamableHTTPServerTransport(options);
  await everything().connect(transport);
  return transport;
});

function everything() {
  const server = new McpServer({ name: 'everything', version: '1.0.0' }, { capabilities: CAPABILITIES });
  fill({
    tool: (name, inputSchema, run) =>
      server.registerTool(name, { description: name, inputSchema }, (args, extra) =>
        run(args, callOf(extra)),
      ),
    resource: (name, uri, mimeType, read) =>
      server.registerResource(name, uri, { title: name, description: name, mimeType }, ({ href }) =>
        read(href),
      ),
    template: (name, uri, mimeType, read) =>
      server.registerResource(
        name,
        new ResourceTemplate(uri, { list: undefined }),
        { title: name, description: name, mimeType },
        ({ href }, variables) => read(href, variables),
      ),
    prompt: (name, argsSchema, get) =>
      server.registerPrompt(name, { description: name, argsSchema }, (args) => get(args)),
  });
  server.server.setRequestHandler(SubscribeRequestSchema, () => ({}));
  server.server.setRequestHandler(UnsubscribeRequestSchema, () => ({}));
  server.server.setRequestHandler(CompleteRequestSchema, () => NO_COMPLETION);
  return server;
}

function callOf(extra) {
  const { _meta: meta } = extra;
  return {
    progressToken: meta?.progressToken,
    notify: (method, params) => extra.sendNotification({ method, params }),
    sample: (params) =>
      extra.sendRequest({ method: 'sampling/createMessage', params }, CreateMessageResultSchema),
    elicit: (message, requestedSchema) =>
      extra.sendRequest(
        { method: 'elicitation/create', params: { message, requestedSchema } },
        ElicitResultSchema,
      ),
    hangUp: () => extra.closeSSEStream?.(),
  };
}
