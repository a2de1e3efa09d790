import {
  headersOfEnvironment,
  printable,
  startBackend,
  type AuditBackend,
  type ReceiverEvent,
} from '@waybill/audit';
import { loadConfig } from '../config.js';
import { EXIT, type ExitCode } from '../errors.js';
import type { Streams } from '../output.js';

export interface ServeFlags {
  readonly port: number;
  readonly host: string;
  readonly dir: string;
  readonly receipts?: readonly string[];
  readonly targets?: readonly string[];
  readonly outbox?: readonly string[];
  readonly loss?: readonly string[];
  /** Milliseconds. */
  readonly grace: number;
  readonly emit?: string;
  readonly verdictSpans: boolean;
  readonly requireSigned: boolean;
  readonly rule?: readonly string[];
  /** False with `--no-config`. */
  readonly config?: string | false;
}

const loopback: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);

function describeEvent(event: ReceiverEvent): string | undefined {
  if (event.kind === 'quarantined') return `quarantined: ${event.reason}; kept as ${event.file}`;
  if (event.kind === 'refused')
    return `answered ${event.status}, the sender is to come again: ${event.reason}`;
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

function closingLine(receiver: AuditBackend): string {
  const { requests, stored, quarantined, refused, slowed } = receiver.stats();
  const kept = Object.entries(stored)
    .map(([signal, count]) => `${signal} ${count}`)
    .join(', ');
  const { counts, openGroups } = receiver.auditorStats();
  const judged = Object.values(counts.verdicts).reduce((sum, count) => sum + count, 0);
  return `${judged} operations judged, ${openGroups} wait for their grace; ${requests} requests; stored: ${kept}; quarantined ${quarantined}; answered 429: ${slowed}, 503: ${refused}`;
}

/** `waybill serve`: receives until it is told to stop. The first line on stdout names the address that was taken. */
export async function serveCommand(flags: ServeFlags, streams: Streams, version: string): Promise<ExitCode> {
  const { config, rules } = await loadConfig(flags.config, flags.rule ?? [], (text) =>
    streams.err.write(`waybill: ${text}\n`),
  );
  const receiver = await startBackend({
    host: flags.host,
    port: flags.port,
    directory: flags.dir,
    receipts: flags.receipts ?? [],
    targets: flags.targets ?? [],
    outbox: flags.outbox ?? [],
    loss: flags.loss ?? [],
    graceMs: flags.grace,
    requireSigned: flags.requireSigned,
    ...(flags.emit === undefined ? {} : { emit: flags.emit }),
    emitHeaders: headersOfEnvironment(process.env),
    verdictSpans: flags.verdictSpans,
    config,
    rules,
    version,
    onProblem: (text) => streams.err.write(`waybill: ${printable(text)}\n`),
    onEvent: (event) => {
      const text = describeEvent(event);
      if (text !== undefined) streams.err.write(`waybill: ${printable(text)}\n`);
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
