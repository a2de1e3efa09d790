import { audit, headersOfEnvironment, type AuditReport, type RemoteOptions } from '@waybill/audit';
import { loadConfig } from '../config.js';
import type { Streams } from '../output.js';

/** Options of every command that judges evidence. */
export interface EvidenceFlags {
  readonly receipts?: readonly string[];
  readonly targets?: readonly string[];
  readonly outbox?: readonly string[];
  readonly loss?: readonly string[];
  readonly asOf?: bigint;
  readonly from?: bigint;
  readonly to?: bigint;
  readonly service?: readonly string[];
  readonly query?: string;
  readonly grace: number;
  readonly requireSigned: boolean;
  readonly rule?: readonly string[];
  /** False with `--no-config`. */
  readonly config?: string | false;
}

/** Progress is told at most this often. */
const PROGRESS_MS = 1000;

function toDate(nano: bigint): Date {
  return new Date(Number(nano / 1_000_000n));
}

/** What a backend is asked. Its headers come from the environment, so that no secret stands on a command line. */
function remoteOf(flags: EvidenceFlags, streams: Streams): RemoteOptions {
  let last = 0;
  return {
    headers: headersOfEnvironment(process.env),
    ...(flags.from === undefined ? {} : { from: toDate(flags.from) }),
    ...(flags.to === undefined ? {} : { to: toDate(flags.to) }),
    ...(flags.service === undefined ? {} : { services: flags.service }),
    ...(flags.query === undefined ? {} : { query: flags.query }),
    onProgress: ({ fraction, requests, traces }) => {
      const now = Date.now();
      if (now - last < PROGRESS_MS && fraction < 1) return;
      last = now;
      const percent = Math.floor(fraction * 100);
      streams.err.write(`waybill: ${percent} % of the time range, ${traces} traces in ${requests} answers\n`);
    },
  };
}

/** Runs the auditor as the options say. */
export async function judge(
  traces: readonly string[],
  flags: EvidenceFlags,
  streams: Streams,
  version: string,
): Promise<AuditReport> {
  const { config, rules } = await loadConfig(flags.config, flags.rule ?? [], (text) =>
    streams.err.write(`waybill: ${text}\n`),
  );
  return audit(
    {
      traces,
      receipts: flags.receipts ?? [],
      targets: flags.targets ?? [],
      outbox: flags.outbox ?? [],
      loss: flags.loss ?? [],
    },
    {
      graceMs: flags.grace,
      requireSigned: flags.requireSigned,
      config,
      rules,
      version,
      remote: remoteOf(flags, streams),
      ...(flags.asOf === undefined ? {} : { asOfUnixNano: flags.asOf }),
    },
  );
}
