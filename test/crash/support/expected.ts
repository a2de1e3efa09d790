/** The verdict that DESIGN's table gives for what truly happened, by hand: nothing here is asked of the auditor. */
import { existsSync, readFileSync } from 'node:fs';
import type { Verdict } from '@waybill/core';
import type { Besides } from './evidence.js';
import type { Round } from './round.js';

export interface Truth {
  /** The row was changed. */
  readonly applied: boolean;
  /** A receipt says so. */
  readonly receipt: boolean;
  /** The caller was told success, and lived to record it. */
  readonly toldSuccess: boolean;
}

export function truthOf(round: Round): Truth {
  const receipts = existsSync(round.receipts) ? readFileSync(round.receipts, 'utf8') : '';
  return {
    applied: round.version > 1,
    receipt: receipts.includes(JSON.stringify(round.operationId)) && receipts.includes('"applied"'),
    toldSuccess: round.told === 'success',
  };
}

/** `telemetry`: the spans of the process that lived are there beside the journals. */
export function expectedVerdict(
  { applied, receipt, toldSuccess }: Truth,
  { receipts, target, telemetry }: Besides & { readonly telemetry: boolean },
): Verdict {
  // A receipt proves the effect; so does the target, which then waits for its receipt.
  if (applied && receipt && receipts === true) return 'verified_done';
  if (applied && target !== undefined) return 'executed_receipt_pending';
  // That nothing is there proves something only when nothing can come any more.
  if (!applied && target === 'fenced') return 'verified_not_done';
  if (toldSuccess && telemetry && target === undefined) return 'insufficient_evidence';
  return 'unknown_needs_reconciliation';
}
