import type { AuditReport } from '@waybill/audit';
import { buildFinding, buildReport, buildReportOperation } from '@waybill/audit/testing';
import { describe, expect, test } from 'vitest';
import { exitCodeOf, type FailLevel } from './exit-code.js';

const error = buildFinding({ level: 'error' });
const warning = buildFinding({ level: 'warning' });
const info = buildFinding({ level: 'info' });
const done = buildReportOperation();
const open = buildReportOperation({ verdict: 'unknown_needs_reconciliation' });
const empty = buildReport([], []);
const damaged = buildReport([], [error]);

describe('the exit code', () => {
  test.each<[claim: string, code: number, report: AuditReport, failOn: FailLevel, requireEvidence: boolean]>([
    ['clean', 0, buildReport([done]), 'warning', false],
    ['a warning', 1, buildReport([done], [warning]), 'warning', false],
    ['a warning, failing on errors only', 0, buildReport([done], [warning]), 'error', false],
    ['an error, failing on warnings', 1, buildReport([done], [error]), 'warning', false],
    ['information, failing on warnings', 0, buildReport([done], [info]), 'warning', false],
    ['information, failing on information', 1, buildReport([done], [info]), 'info', false],
    ['an error, never failing', 0, buildReport([done], [error]), 'never', false],
    ['undecided', 0, buildReport([open]), 'warning', false],
    ['undecided, evidence required', 4, buildReport([open]), 'warning', true],
    ['findings beat weak evidence', 1, buildReport([open], [warning]), 'warning', true],
    ['nothing to judge never passes', 3, empty, 'never', false],
    ['nothing to judge beats findings', 3, damaged, 'error', true],
  ])('%s: %i', (_claim, code, report, failOn, requireEvidence) => {
    expect(exitCodeOf(report, failOn, requireEvidence)).toBe(code);
  });
});
