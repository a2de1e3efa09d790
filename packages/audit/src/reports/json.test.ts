import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { buildFinding, buildReport, buildReportCall, buildReportOperation } from '../testing.js';
import { renderJson } from './json.js';

const schema: object = JSON.parse(
  readFileSync(new URL('../../schemas/report-1.json', import.meta.url), 'utf8'),
);
const validate = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true }).compile(schema);
const text = (report: Parameters<typeof renderJson>[0]): string => [...renderJson(report)].join('');

const full = buildReport(
  [
    buildReportOperation({
      target: { object: 'row-42', state: 'done', version: '2', fenced: true, relation: 'applied_current' },
    }),
    buildReportOperation({ key: 'b', calls: [buildReportCall({ client: null, join: null })], receipts: [] }),
  ],
  [buildFinding()],
  {
    suppressed: [{ ...buildFinding(), suppression: { reason: 'known', until: '2027-01-31' } }],
    coverage: {
      ...buildReport().coverage,
      gaps: [{ kind: 'truncated_input', at: { source: 's1', line: 17 }, note: 'the last line ends early' }],
      notEvaluated: [{ rule: 'ledger-inconsistent', because: 'no ledger given' }],
    },
  },
);

test.each([
  ['a full report', full],
  ['an empty report', buildReport([], [])],
])('%s is valid by the published schema', (_name, report) => {
  const valid = validate(JSON.parse(text(report)));
  expect(validate.errors).toBeNull();
  expect(valid).toBe(true);
});

test('the schema refuses a number where a 64-bit integer stands as text', () => {
  const report = JSON.parse(text(full)) as { asOf: { unixNano: unknown } };
  report.asOf.unixNano = 1_790_000_000_000_000_000;
  expect(validate(report)).toBe(false);
});

test('64-bit times keep every digit', () => {
  expect(
    text(buildReport([], [], { asOf: { unixNano: 1_790_000_000_000_000_001n, source: 'given' } })),
  ).toContain('"unixNano": "1790000000000000001"');
});

test('keys keep their order however the report object was built', () => {
  const reversed = buildReportOperation();
  const shuffled = Object.fromEntries(Object.entries(reversed).reverse()) as unknown as typeof reversed;
  expect(text(buildReport([shuffled]))).toBe(text(buildReport([reversed])));
});

test('one operation and one finding a line', () => {
  const lines = text(full).split('\n');
  expect(lines.filter((line) => line.startsWith('    {"key":'))).toHaveLength(2);
  expect(lines.filter((line) => line.startsWith('    {"rule":'))).toHaveLength(2);
});

test('where evidence was read stands in inputs and places alone', () => {
  const whole = JSON.parse(text(full)) as {
    readonly inputs?: unknown;
    places?: { readonly operations: readonly unknown[]; readonly findings: readonly unknown[] };
    readonly findings: readonly { readonly at: readonly object[] }[];
  };
  expect(whole.findings[0]?.at).toEqual([
    { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'a000000000000001' },
  ]);
  expect(whole.places).toEqual({
    gaps: [['s1:17']],
    operations: [
      ['s1:1', 's1:2', 'receipts:1'],
      ['s1:1', 's1:2', 'receipts:1'],
    ],
    findings: [['s1:1']],
    suppressed: [['s1:1']],
  });
});

test('a record without an id of its own is named by its place', () => {
  const at = [
    { source: 'targets', line: 3 },
    { source: 'receipts', line: 2, receiptId: 'r-1' },
  ];
  const whole = JSON.parse(text(buildReport([], [buildFinding({ at })]))) as typeof full;
  expect(whole.findings[0]?.at).toEqual([{ source: 'targets', line: 3 }, { receiptId: 'r-1' }]);
});
