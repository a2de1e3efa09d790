import { once } from 'node:events';
import { createServer, type IncomingMessage as Request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as it arrived. */
export interface RecordedRequest {
  readonly httpMethod: string;
  /** Path with query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
  /** JSON-RPC method of the body, where it has one. */
  readonly method: string | undefined;
}

export interface Listener {
  readonly port: number;
  readonly requests: readonly RecordedRequest[];
  readonly signal: AbortSignal;
  /** Ends every connection and everything that is being played. */
  close(): Promise<void>;
}

/**
 * Listens on 127.0.0.1, records every request whole, then hands it on. What `handle` rejects with once the listener is
 * closing is the end of its waiting and no error; anything else answers 500 and is kept for `close` to throw.
 */
export async function listen(
  handle: (request: RecordedRequest, response: ServerResponse) => Promise<void>,
): Promise<Listener> {
  const requests: RecordedRequest[] = [];
  const stop = new AbortController();
  const failures: unknown[] = [];
  const server = createServer((incoming, response) => {
    void receive(incoming)
      .then(async (request) => {
        requests.push(request);
        await handle(request, response);
      })
      .catch((error: unknown) => {
        if (stop.signal.aborted || response.destroyed) return;
        failures.push(error);
        if (!response.headersSent) response.writeHead(500);
        response.end();
      });
  });
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    signal: stop.signal,
    async close() {
      stop.abort();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
      if (failures.length > 0) throw new AggregateError(failures, 'the lab could not play a reply');
    },
  };
}

async function receive(incoming: Request): Promise<RecordedRequest> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer);
  const body = Buffer.concat(parts);
  const method = /"method"\s*:\s*"([^"]*)"/.exec(body.toString('utf8'))?.[1];
  return {
    httpMethod: incoming.method ?? '',
    path: incoming.url ?? '',
    headers: incoming.headers,
    body,
    method,
  };
}
