import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { describe, expect, test } from 'vitest';
import { buildFinding, buildReport, buildReportOperation } from '../testing.js';
import { renderJunit } from './junit.js';

const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '',
  parseAttributeValue: false,
  isArray: (name) => name === 'testsuite' || name === 'testcase',
});
interface Case {
  readonly name: string;
  readonly classname: string;
  readonly failure?: { readonly type: string; readonly message: string; readonly '#text': string };
  readonly skipped?: { readonly message: string };
}
interface Suite {
  readonly name: string;
  readonly tests: string;
  readonly failures: string;
  readonly skipped: string;
  readonly testcase: readonly Case[];
}
function suites(report: Parameters<typeof renderJunit>[0]): readonly Suite[] {
  const text = [...renderJunit(report)].join('');
  expect(XMLValidator.validate(text)).toBe(true);
  return parser.parse(text).testsuites.testsuite;
}

describe('junit', () => {
  test('a clean operation passes', () => {
    expect(suites(buildReport())).toMatchObject([
      {
        tests: '1',
        failures: '0',
        skipped: '0',
        testcase: [{ name: 'row-42:done:v1', classname: 'set_status' }],
      },
    ]);
  });

  test('the worst finding gives the failure its type, all stand in its text', () => {
    const [suite] = suites(
      buildReport(
        [buildReportOperation()],
        [buildFinding(), buildFinding({ rule: 'false-success', level: 'error' })],
      ),
    );
    expect(suite?.failures).toBe('1');
    expect(suite?.testcase[0]?.failure?.type).toBe('false-success');
    expect(suite?.testcase[0]?.failure?.['#text']).toContain('warning reply-lost');
  });

  test('what the evidence does not decide neither passes nor fails', () => {
    const [suite] = suites(
      buildReport([buildReportOperation({ verdict: 'insufficient_evidence', reason: 'success_unproven' })]),
    );
    expect(suite?.skipped).toBe('1');
    expect(suite?.testcase[0]?.skipped?.message).toBe('insufficient_evidence: success_unproven');
  });

  test('findings of no operation have a suite of their own', () => {
    const damaged = buildFinding({
      rule: 'input-damaged',
      level: 'error',
      operation: null,
      at: [{ source: 's1', line: 3 }],
    });
    expect(suites(buildReport([], [damaged]))[1]).toMatchObject({
      name: 'inputs',
      testcase: [{ name: 'traces.jsonl:3', classname: 'input-damaged' }],
    });
  });

  test('text that XML cannot hold still gives a document', () => {
    const key = 'a"<b>&\u0000\u001B\uD800\uFFFF]]>';
    const [suite] = suites(
      buildReport([buildReportOperation({ key })], [buildFinding({ operation: key, message: key })]),
    );
    expect(suite?.testcase[0]?.name).toContain('a"<b>&\\u0000\\u001b');
  });
});
