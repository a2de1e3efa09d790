// One call of one tool, client and server in this process. Prints the result on stdout, and on stderr what the handler
// found in `params._meta`. The SDK and the neighbour's wrappers are handed over, since they are installed elsewhere.
export async function callOnce({ Client, McpServer, InMemoryTransport, wrapServer, wrapClient }) {
  const server = (wrapServer ?? same)(new McpServer({ name: 'greeter', version: '1.0.0' }));
  server.registerTool('greet', { description: 'Greets' }, (extra) => {
    console.error(`META ${JSON.stringify(extra._meta ?? {})}`);
    return { content: [{ type: 'text', text: 'Hello' }] };
  });
  const client = (wrapClient ?? same)(new Client({ name: 'caller', version: '1.0.0' }));
  const [near, far] = InMemoryTransport.createLinkedPair();
  await server.connect(far);
  await client.connect(near);
  console.log(JSON.stringify(await client.callTool({ name: 'greet', arguments: {} })));
  await client.close();
}

const same = (value) => value;
