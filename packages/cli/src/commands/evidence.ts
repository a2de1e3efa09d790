import { audit, type AuditReport } from '@waybill/audit';
import { loadConfig } from '../config.js';

/** Options of every command that judges evidence. */
export interface EvidenceFlags {
  readonly receipts?: readonly string[];
  readonly targets?: readonly string[];
  readonly outbox?: readonly string[];
  readonly loss?: readonly string[];
  readonly asOf?: bigint;
  readonly grace: number;
  readonly requireSigned: boolean;
  readonly rule?: readonly string[];
  readonly config?: string;
}

/** Runs the auditor as the options say. */
export async function judge(
  traces: readonly string[],
  flags: EvidenceFlags,
  version: string,
): Promise<AuditReport> {
  const { config, rules } = await loadConfig(flags.config, flags.rule ?? []);
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
      ...(flags.asOf === undefined ? {} : { asOfUnixNano: flags.asOf }),
    },
  );
}
