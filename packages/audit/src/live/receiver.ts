/**
 * The OTLP/HTTP receiver of `waybill serve`: everything that arrives is on disk before it is acknowledged.
 *
 * Evidence is never refused for what it is. A body that cannot be decoded, or is too large, goes to the quarantine and
 * is acknowledged with a partial success, which senders must not repeat: an error status would make an exporter drop
 * it, or a Collector with a persistent queue send it for ever. Only what cannot be written is answered 503, and what is
 * too much at one time 429, so that the
 * sender keeps it.
 */
import { constants } from 'node:fs';
import { access, mkdir } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { listenError, ReceiverError } from './errors.js';
import { Service } from './service.js';
import type { Receiver, ReceiverOptions } from './types.js';

/** Longer than the idle time of exporters, so that it is they who close a connection that is about to be used. */
const KEEP_ALIVE_MS = 65_000;
/** Time for requests in flight when the receiver closes. */
const DRAIN_MS = 10_000;

/**
 * Starts the receiver.
 * @throws ReceiverError when the port or the directory cannot be had
 */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const host = options.host ?? '127.0.0.1';
  const port = options.port ?? 4318;
  const directory = path.resolve(options.directory);
  await prepareDirectory(directory);
  const service = new Service(directory, options);
  const server = createServer((request, response) => {
    void service.handle(request, response);
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await listen(server, host, port);
  const taken = (server.address() as AddressInfo).port;
  return {
    host,
    port: taken,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    directory,
    stats: () => service.stats(),
    committed: (file) => service.committed(file),
    close: async () => {
      await closeServer(server);
      await service.close();
    },
  };
}

async function prepareDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true });
    await access(directory, constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ReceiverError(
      'directory_unwritable',
      `cannot write to ${directory} (${code ?? String(error)})`,
      'choose a folder that this user may write to',
    );
  }
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(listenError(error, host, port));
    });
    server.listen(port, host, () => {
      server.removeAllListeners('error');
      // A failed accept (too many open files) must not end the process: the sender comes again.
      server.on('error', () => undefined);
      resolve();
    });
  });
}

async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => {
      resolve();
    });
  });
  server.closeIdleConnections();
  const deadline = setTimeout(() => {
    server.closeAllConnections();
  }, DRAIN_MS);
  await closed;
  clearTimeout(deadline);
}
