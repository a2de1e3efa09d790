import { once } from 'node:events';
import { createServer } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { spanIdsOf } from './otlp.js';

export interface Sink {
  readonly url: string;
  readonly port: number;
  /** Span ids taken with a 200, with how often each was taken. */
  readonly spans: ReadonlyMap<string, number>;
  /** Raw request bodies taken with a 200, unzipped. */
  readonly bodies: readonly Buffer[];
  /** What to answer from now on; only 200 takes. */
  answer(status: number, headers?: Readonly<Record<string, string>>): void;
  close(): Promise<void>;
}

/** An audit backend that keeps what it was sent, in memory. */
export async function startSink(port = 0): Promise<Sink> {
  const spans = new Map<string, number>();
  const bodies: Buffer[] = [];
  let status = 200;
  let headers: Readonly<Record<string, string>> = {};
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (status === 200) {
        const raw = Buffer.concat(chunks);
        const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw;
        bodies.push(body);
        if (request.url === '/v1/traces') {
          for (const id of spanIdsOf(body)) spans.set(id, (spans.get(id) ?? 0) + 1);
        }
      }
      response.writeHead(status, { 'content-type': 'application/x-protobuf', ...headers }).end();
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${String(address.port)}`,
    port: address.port,
    spans,
    bodies,
    answer(next, nextHeaders = {}) {
      status = next;
      headers = nextHeaders;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      if (server.listening) await once(server, 'close');
    },
  };
}
