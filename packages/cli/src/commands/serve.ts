import { startReceiver, type Receiver, type ReceiverEvent } from '@waybill/audit';
import { EXIT, type ExitCode } from '../errors.js';
import type { Streams } from '../output.js';

export interface ServeFlags {
  readonly port: number;
  readonly host: string;
  readonly dir: string;
}

const loopback: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);

function describeEvent(event: ReceiverEvent): string | undefined {
  if (event.kind === 'quarantined') return `quarantined: ${event.reason}; kept as ${event.file}`;
  if (event.kind === 'refused') return `answered 503, the sender is to come again: ${event.reason}`;
  return undefined;
}

/** Resolves at the first SIGINT or SIGTERM; a second one ends the process as it does without us. */
function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const stop = (signal: NodeJS.Signals): void => {
      process.off('SIGINT', stop);
      process.off('SIGTERM', stop);
      resolve(signal);
    };
    process.on('SIGINT', stop);
    process.on('SIGTERM', stop);
  });
}

function closingLine(receiver: Receiver): string {
  const { requests, stored, quarantined, refused } = receiver.stats();
  const kept = Object.entries(stored)
    .map(([signal, count]) => `${signal} ${count}`)
    .join(', ');
  return `${requests} requests; stored: ${kept}; quarantined ${quarantined}; answered 503: ${refused}`;
}

/** `waybill serve`: receives until it is told to stop. The first line on stdout names the address that was taken. */
export async function serveCommand(flags: ServeFlags, streams: Streams): Promise<ExitCode> {
  const receiver = await startReceiver({
    host: flags.host,
    port: flags.port,
    directory: flags.dir,
    onEvent: (event) => {
      const text = describeEvent(event);
      if (text !== undefined) streams.err.write(`waybill: ${text}\n`);
    },
  });
  if (!loopback.has(flags.host)) {
    streams.err.write(
      `waybill: ${flags.host} is reachable from other hosts, and whoever reaches it can write evidence.\n`,
    );
  }
  const stopped = stopSignal();
  streams.out.write(`listening on ${receiver.url}, evidence in ${receiver.directory}\n`);
  await stopped;
  await receiver.close();
  streams.err.write(`waybill: stopped. ${closingLine(receiver)}\n`);
  return EXIT.ok;
}
