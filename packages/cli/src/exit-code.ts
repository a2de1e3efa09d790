import type { AuditReport } from '@waybill/audit';
import { EXIT, type ExitCode } from './errors.js';

export const FAIL_LEVELS = ['error', 'warning', 'info', 'never'] as const;
export type FailLevel = (typeof FAIL_LEVELS)[number];

/**
 * True when there is nothing to judge: no input could be read, or none of what was read is of a tool call. An empty
 * history proves nothing, so it never passes.
 */
export function nothingToJudge(report: AuditReport): boolean {
  return report.coverage.operations === 0;
}

/** Operations about which the evidence does not decide. */
export function undecided(report: AuditReport): number {
  const { verdicts } = report.summary;
  return (verdicts.unknown_needs_reconciliation ?? 0) + (verdicts.insufficient_evidence ?? 0);
}

/**
 * 3 when there is nothing to judge, else 1 for findings at or above `failOn`, else 4 when evidence is required and does
 * not decide every operation, else 0. Usage errors (2) never get here.
 */
export function exitCodeOf(report: AuditReport, failOn: FailLevel, requireEvidence: boolean): ExitCode {
  if (nothingToJudge(report)) return EXIT.unreadable;
  const { error, warning, info } = report.summary.findings;
  const counted = {
    error,
    warning: error + warning,
    info: error + warning + info,
    never: 0,
  }[failOn];
  if (counted > 0) return EXIT.findings;
  if (requireEvidence && undecided(report) > 0) return EXIT.evidence;
  return EXIT.ok;
}
