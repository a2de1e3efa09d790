// What every program of the matrix does, with the SDK that it hands in: a client and a server over each transport at
// once, five calls over each. Prints one line of JSON: what the caller was told.
const events = require('node:events');
const { createServer } = require('node:http');

/** Long enough for a handler to start on a busy machine. SDK 1.10 never answers an error where it answers in JSON. */
const TIMEOUT_MS = { slow: 1500, unknown: 5000 };
/** For the notice of a cancellation to arrive, and for what the server still does. */
const LINGER_MS = 1000;
const CALLS = ['ok', 'reports', 'throws', 'unknown', 'slow'];

/** The tools are named after the transport, so that spans of transports that run at once can be told apart. */
function greeter(sdk, transport) {
  const server = new sdk.McpServer({ name: 'greeter', version: '1' });
  const tool = (name, run) => sdk.registerTool(server, `${transport}_${name}`, { name: sdk.z.string() }, run);
  tool('ok', ({ name }) => ({ content: [{ type: 'text', text: `hello ${name}` }] }));
  tool('reports', () => ({ content: [{ type: 'text', text: 'no such greeting' }], isError: true }));
  tool('throws', () => {
    throw new Error('the greeting is broken');
  });
  tool('slow', async (_, context) => {
    const signal = sdk.signalOf(context);
    if (!signal.aborted)
      await Promise.race([
        events.once(signal, 'abort'),
        new Promise((resolve) => setTimeout(resolve, 5000).unref()),
      ]);
    return { content: [] };
  });
  return server;
}

const told = (promise) =>
  promise.then(
    (result) => ({ result }),
    ({ name, code, message, data }) => ({ error: { name, code, message, data } }),
  );

async function callAll(sdk, transport, near, client) {
  await client.connect(near);
  const answers = {};
  for (const call of CALLS) {
    const params = { name: `${transport}_${call}`, arguments: { name: 'ada' } };
    answers[call] = await told(sdk.callTool(client, params, { timeout: TIMEOUT_MS[call] ?? 30_000 }));
  }
  await new Promise((resolve) => setTimeout(resolve, LINGER_MS));
  await client.close();
  return answers;
}

async function overHttp(sdk, transport, handle, client = newClient(sdk)) {
  const http = createServer((request, response) => void handle(request, response));
  http.listen(0, '127.0.0.1');
  await events.once(http, 'listening');
  const url = new URL(`http://127.0.0.1:${http.address().port}/mcp`);
  const answers = await callAll(sdk, transport, new sdk.StreamableHTTPClientTransport(url), client);
  http.close();
  http.closeAllConnections();
  return answers;
}

async function overSession(sdk, transport, enableJsonResponse) {
  const far = new sdk.HttpServerTransport({ sessionIdGenerator: () => 'session-1', enableJsonResponse });
  await greeter(sdk, transport).connect(far);
  return overHttp(sdk, transport, (request, response) => far.handleRequest(request, response));
}

const newClient = (sdk, options = {}) => new sdk.Client({ name: 'caller', version: '1' }, options);

const TRANSPORTS = {
  memory: async (sdk) => {
    const [near, far] = sdk.InMemoryTransport.createLinkedPair();
    await greeter(sdk, 'memory').connect(far);
    return callAll(sdk, 'memory', near, newClient(sdk));
  },
  json: (sdk) => overSession(sdk, 'json', true),
  sse: (sdk) => overSession(sdk, 'sse', false),
  // Of SDK 2.x alone: 2026-07-28, without sessions.
  modern: (sdk) =>
    overHttp(
      sdk,
      'modern',
      sdk.modernHandler(() => greeter(sdk, 'modern')),
      newClient(sdk, { versionNegotiation: { mode: { pin: '2026-07-28' } } }),
    ),
  stdio: (sdk) => {
    const env = { ...process.env };
    // A runtime that is not Node does not read NODE_OPTIONS: the matrix names the arguments of the server.
    const args = [...JSON.parse(env.MATRIX_SERVER_ARGS ?? '[]'), process.argv[1], 'serve'];
    const near = new sdk.StdioClientTransport({ command: process.execPath, args, env });
    return callAll(sdk, 'stdio', near, newClient(sdk));
  },
};

/** Runs as the client of every transport, or, with the argument `serve`, as the server over stdio. */
exports.play = async (sdk) => {
  if (process.argv[2] === 'serve') {
    await greeter(sdk, 'stdio').connect(new sdk.StdioServerTransport());
    return;
  }
  const names = Object.keys(TRANSPORTS).filter((name) => name !== 'modern' || sdk.modernHandler);
  const answers = await Promise.all(names.map((name) => TRANSPORTS[name](sdk)));
  console.log(JSON.stringify(Object.fromEntries(names.map((name, index) => [name, answers[index]]))));
};

/** How one and the same thing is said to SDK 1.x. `registerTool` came with 1.13. */
exports.asV1 = (sdk) => ({
  ...sdk,
  registerTool: (server, name, shape, run) =>
    server.registerTool === undefined
      ? server.tool(name, shape, run)
      : server.registerTool(name, { inputSchema: shape }, run),
  signalOf: ({ signal }) => signal,
  callTool: (client, params, options) => client.callTool(params, undefined, options),
});

exports.asV2 = (sdk) => ({
  ...sdk,
  registerTool: (server, name, shape, run) =>
    server.registerTool(name, { inputSchema: sdk.z.object(shape) }, run),
  signalOf: ({ mcpReq: { signal } }) => signal,
  callTool: (client, params, options) => client.callTool(params, options),
  modernHandler: (create) => sdk.toNodeHandler(sdk.createMcpHandler(create)),
});
