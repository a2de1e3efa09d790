import { once } from 'node:events';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Running {
  readonly url: URL;
  close(): Promise<void>;
}

export async function listen(
  handler: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>,
): Promise<Running & { readonly server: Server }> {
  const server = createServer((request, response) => {
    void handler(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    server,
    url: new URL(`http://127.0.0.1:${port}/mcp`),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

export interface RpcRequest {
  readonly id?: string | number;
  readonly method: string;
  readonly params?: Record<string, unknown>;
}

/** A peer that does the handshake by the book and answers tools/call as the test says. */
export async function rawPeer(
  answer: (rpc: RpcRequest, response: ServerResponse, request: IncomingMessage) => void | Promise<void>,
): Promise<Running & { readonly seen: RpcRequest[] }> {
  const seen: RpcRequest[] = [];
  const running = await listen(async (request, response) => {
    if (request.method !== 'POST') {
      if (request.headers['last-event-id'] !== undefined) {
        await answer({ method: 'GET' }, response, request);
        return;
      }
      response.writeHead(405).end();
      return;
    }
    const rpc = JSON.parse(await bodyOf(request)) as RpcRequest;
    seen.push(rpc);
    const reply = (result: unknown): void => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: rpc.id, result }));
    };
    if (rpc.method === 'initialize') {
      reply({
        protocolVersion: rpc.params?.['protocolVersion'],
        capabilities: { tools: {} },
        serverInfo: { name: 'raw', version: '1' },
      });
    } else if (rpc.method === 'tools/list') {
      reply({ tools: [{ name: 't', inputSchema: { type: 'object' } }] });
    } else if (rpc.id === undefined) {
      response.writeHead(202).end();
    } else {
      await answer(rpc, response, request);
    }
  });
  return { ...running, seen };
}
