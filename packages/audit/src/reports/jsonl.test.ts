import { expect, test } from 'vitest';
import { buildFinding, buildReport, buildReportOperation } from '../testing.js';
import { renderJson } from './json.js';
import { renderJsonLines } from './jsonl.js';

const report = buildReport([buildReportOperation(), buildReportOperation({ key: 'b' })], [buildFinding()], {
  suppressed: [{ ...buildFinding(), suppression: { reason: 'known', until: '2027-01-31' } }],
});
interface Line {
  readonly type: string;
  readonly key?: string;
}
const lines = [...renderJsonLines(report)]
  .join('')
  .trimEnd()
  .split('\n')
  .map((line): Line => JSON.parse(line));

test('one line each, named by its type', () => {
  expect(lines.map((line) => line.type)).toEqual([
    'report',
    'operation',
    'operation',
    'finding',
    'suppressed',
  ]);
});

test('the lines hold what the JSON report holds', () => {
  const whole = JSON.parse([...renderJson(report)].join('')) as {
    readonly operations: readonly object[];
    readonly places: { readonly operations: readonly unknown[] };
  };
  expect(lines[2]).toEqual({ type: 'operation', ...whole.operations[1], places: whole.places.operations[1] });
});
