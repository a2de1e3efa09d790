/** An OTLP/HTTP receiver that keeps what each run sent on each of its channels, as JSON Lines an auditor can read. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export const CHANNELS = ['logs_simple', 'logs_batch', 'spans_simple', 'spans_batch'] as const;
export type Channel = (typeof CHANNELS)[number];

export interface Receiver {
  /** Where the process of one side of one run sends to; it appends `/<channel>`. */
  urlOf(run: string, side: string): string;
  /** OTLP JSON, one request a line; `''` when nothing arrived. */
  received(run: string, side: string, channel: Channel): string;
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const bodies = new Map<string, string>();
  const server = createServer((request, response) => {
    void readBody(request).then(
      (body) => {
        const path = request.url ?? '';
        bodies.set(path, `${bodies.get(path) ?? ''}${body}\n`);
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      },
      // The sender was killed in the middle of its request.
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    urlOf: (run, side) => `http://127.0.0.1:${port}/${run}/${side}`,
    received: (run, side, channel) => bodies.get(`/${run}/${side}/${channel}`) ?? '',
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
