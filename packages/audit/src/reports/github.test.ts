import { expect, test } from 'vitest';
import { buildFinding, buildReport, buildReportOperation } from '../testing.js';
import { renderGithub } from './github.js';

const lines = (...findings: Parameters<typeof buildFinding>[0][]): readonly string[] =>
  [
    ...renderGithub(
      buildReport(
        [buildReportOperation()],
        findings.map((input) => buildFinding(input)),
      ),
    ),
  ]
    .join('')
    .trimEnd()
    .split('\n');

test('a finding is a command with its file, line and rule', () => {
  expect(lines({})[0]).toBe(
    '::warning file=traces.jsonl,line=1,title=reply-lost::set_status: no response reached the caller (TIMEOUT); the change was made%0Aoperation row-42:done:v1%0Aat traces.jsonl:1',
  );
});

test('errors come first, information is a notice', () => {
  expect(lines({ level: 'info' }, { level: 'error' }, {}).map((line) => line.slice(0, 9))).toEqual([
    '::error f',
    '::warning',
    '::notice ',
    'waybill: ',
  ]);
});

test('text cannot begin a command of its own', () => {
  const [line, end] = lines({ message: 'x\n::set-output name=a::b % c', operation: null, at: [] });
  expect(line).toBe('::warning title=reply-lost::x\\u000a::set-output name=a::b %25 c');
  expect(end).toMatch(/^waybill: /);
});
