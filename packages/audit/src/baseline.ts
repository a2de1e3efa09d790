/**
 * A baseline: findings that were there before. They stay in the report, apart from the new ones, and no longer fail a
 * run. It is any JSON report of an earlier audit; findings are known again by their fingerprint, which holds no trace
 * ids and so is the same in the next run.
 */
import type { AuditReport, Finding } from './report.js';

/**
 * Fingerprints in a JSON report.
 * @throws Error when the text is no JSON report of the auditor
 */
export function baselineOf(text: string): ReadonlySet<string> {
  const report: unknown = JSON.parse(text);
  if (
    typeof report !== 'object' ||
    report === null ||
    !('findings' in report) ||
    !Array.isArray(report.findings)
  ) {
    throw new Error('it is no JSON report: there is no list of findings in it');
  }
  const earlier: readonly unknown[] =
    'suppressed' in report && Array.isArray(report.suppressed)
      ? [...report.findings, ...report.suppressed]
      : report.findings;
  const fingerprints = earlier.map((finding) =>
    typeof finding === 'object' && finding !== null && 'fingerprint' in finding
      ? finding.fingerprint
      : undefined,
  );
  return new Set(fingerprints.filter((fingerprint) => typeof fingerprint === 'string'));
}

/**
 * The report with the findings of the baseline among the suppressed ones. Damaged inputs and crashed rules are never
 * taken out: they say what this run did not see.
 */
export function applyBaseline(report: AuditReport, baseline: ReadonlySet<string>): AuditReport {
  const isKnown = (finding: Finding): boolean =>
    baseline.has(finding.fingerprint) && finding.rule !== 'input-damaged' && finding.rule !== 'rule-crashed';
  const findings = report.findings.filter((finding) => !isKnown(finding));
  const known = report.findings.filter(isKnown);
  if (known.length === 0) return report;
  const count = (level: Finding['level']): number =>
    findings.filter((finding) => finding.level === level).length;
  const suppressed = [
    ...report.suppressed,
    ...known.map((finding) => ({ ...finding, suppression: { reason: 'in the baseline', until: '' } })),
  ];
  return {
    ...report,
    summary: {
      ...report.summary,
      findings: { error: count('error'), warning: count('warning'), info: count('info') },
      suppressed: suppressed.length,
    },
    findings,
    suppressed,
  };
}
