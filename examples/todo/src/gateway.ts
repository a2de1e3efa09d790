import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * An HTTP gateway before the todo server that turns tool calls away: `tools/call` is answered 503 without asking the
 * server, everything else is passed through.
 */
export async function startGateway(upstream: string): Promise<{ url: string; close(): void }> {
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const body = Buffer.concat(chunks);
      if (body.includes('"tools/call"')) {
        outgoing.writeHead(503, { 'content-type': 'text/plain', 'retry-after': '1' }).end('no upstream\n');
        return;
      }
      const onward = request(
        new URL(incoming.url ?? '/', upstream),
        {
          method: incoming.method,
          headers: { ...incoming.headers, host: new URL(upstream).host },
          agent: false,
        },
        (reply) => {
          outgoing.writeHead(reply.statusCode ?? 502, reply.headers);
          reply.pipe(outgoing);
        },
      );
      onward.on('error', () => outgoing.destroy());
      onward.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
