// Argument `modern`: the stateless handler that speaks 2026-07-28 beside the older versions.
import { createServer } from 'node:http';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, ResourceTemplate, createMcpHandler } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { CAPABILITIES, NO_COMPLETION, fill } from './everything.mjs';
import { ask } from './interaction.mjs';
import { isLocal, serve } from './serve.mjs';

if (process.argv[2] === 'modern') {
  const handle = toNodeHandler(createMcpHandler(everything));
  const http = createServer((request, response) => {
    if (isLocal(request)) void handle(request, response);
    else response.writeHead(403).end('Forbidden host');
  });
  http.listen(0, '127.0.0.1', () => console.log(http.address().port));
} else {
  serve(async (options) => {
    const transport = new NodeStreamableHTTPServerTransport(options);
    await everything().connect(transport);
    return transport;
  });
}

function everything() {
  const server = new McpServer({ name: 'everything', version: '1.0.0' }, { capabilities: CAPABILITIES });
  fill({
    tool: (name, shape, run) =>
      server.registerTool(name, { description: name, inputSchema: z.object(shape) }, (args, context) =>
        run(args, callOf(context)),
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
    prompt: (name, shape, get) =>
      server.registerPrompt(
        name,
        { description: name, ...(shape === undefined ? {} : { argsSchema: z.object(shape) }) },
        (args) => get(args),
      ),
  });
  if (process.argv[2] === 'modern') ask(server);
  server.server.setRequestHandler('resources/subscribe', () => ({}));
  server.server.setRequestHandler('resources/unsubscribe', () => ({}));
  server.server.setRequestHandler('completion/complete', () => NO_COMPLETION);
  return server;
}

function callOf({ mcpReq, http }) {
  const { _meta: meta } = mcpReq;
  return {
    progressToken: meta?.progressToken,
    notify: (method, params) => mcpReq.notify({ method, params }),
    sample: (params) => mcpReq.requestSampling(params),
    elicit: (message, requestedSchema) => mcpReq.elicitInput({ mode: 'form', message, requestedSchema }),
    hangUp: () => http?.closeSSE?.(),
  };
}
