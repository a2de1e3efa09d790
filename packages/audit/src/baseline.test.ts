import { describe, expect, test } from 'vitest';
import { applyBaseline, baselineOf } from './baseline.js';
import { renderJson } from './reports/json.js';
import { buildFinding, buildReport, buildReportOperation } from './testing.js';

const old = buildFinding({ fingerprint: 'reply-lost:old' });
const fresh = buildFinding({ rule: 'false-success', level: 'error', fingerprint: 'false-success:new' });
const damaged = buildFinding({
  rule: 'input-damaged',
  level: 'error',
  fingerprint: 'input-damaged:x',
  operation: null,
});
const jsonOf = (...findings: Parameters<typeof buildReport>[1] & object) =>
  [...renderJson(buildReport([buildReportOperation()], findings))].join('');

describe('a baseline', () => {
  test('takes out what an earlier report found, and keeps it in sight', () => {
    const report = applyBaseline(
      buildReport([buildReportOperation()], [old, fresh]),
      baselineOf(jsonOf(old)),
    );
    expect(report.findings).toEqual([fresh]);
    expect(report.summary).toMatchObject({ findings: { error: 1, warning: 0, info: 0 }, suppressed: 1 });
    expect(report.suppressed).toMatchObject([
      { rule: 'reply-lost', suppression: { reason: 'in the baseline' } },
    ]);
  });

  test('never takes out damage of this run', () => {
    const report = applyBaseline(buildReport([], [damaged]), baselineOf(jsonOf(damaged)));
    expect(report.findings).toEqual([damaged]);
  });

  test('what an earlier baseline took out stays out', () => {
    const once = applyBaseline(buildReport([buildReportOperation()], [old]), baselineOf(jsonOf(old)));
    expect(baselineOf([...renderJson(once)].join('')).has('reply-lost:old')).toBe(true);
  });

  test.each(['', '{}', '[]', '{"findings":7}', 'null'])('"%s" is no baseline', (text) => {
    expect(() => baselineOf(text)).toThrow();
  });
});
