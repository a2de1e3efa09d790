import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { buildFinding, buildReport, buildReportOperation } from '../testing.js';
import { renderPretty, type PrettyOptions } from './pretty.js';

const text = (report: Parameters<typeof renderPretty>[0], options: Partial<PrettyOptions> = {}): string =>
  [...renderPretty(report, { color: false, ...options })].join('');

describe('pretty', () => {
  test('without colour there is no escape sequence in it', () => {
    expect(text(buildReport([buildReportOperation()], [buildFinding()]))).not.toContain('\u001B');
  });

  test('with colour there is', () => {
    expect(text(buildReport([buildReportOperation()], [buildFinding()]), { color: true })).toContain(
      '\u001B[',
    );
  });

  test('an operation shows what was told, what happened and what was found', () => {
    const row = text(buildReport([buildReportOperation()], [buildFinding()]))
      .split('\n')
      .find((line) => line.startsWith('row-42:done:v1'));
    expect(row?.split(/ {2,}/)).toEqual([
      'row-42:done:v1',
      'set_status',
      'TOOL_SUCCESS',
      'applied',
      'verified_done',
      '-',
      'reply-lost',
    ]);
  });

  test('a finding names its file and line', () => {
    expect(text(buildReport([buildReportOperation()], [buildFinding()]))).toContain('at traces.jsonl:1');
  });

  test('errors come before warnings', () => {
    const report = buildReport(
      [buildReportOperation()],
      [buildFinding(), buildFinding({ rule: 'false-success', level: 'error' })],
    );
    const lines = text(report).split('\n');
    expect(lines.findIndex((line) => line.startsWith('error'))).toBeLessThan(
      lines.findIndex((line) => line.startsWith('warning')),
    );
  });

  test('information findings are counted, not listed', () => {
    const info = buildFinding({ rule: 'evidence-lost', level: 'info', message: 'not printed' });
    const shown = text(buildReport([buildReportOperation()], [info, info]));
    expect(shown).toContain('info  evidence-lost (2)');
    expect(shown).not.toContain('not printed');
  });

  test('of many operations only those with something to say are listed, the rest is counted', () => {
    const many = Array.from({ length: 100 }, (_, index) => buildReportOperation({ key: `op-${index}` }));
    const shown = text(buildReport(many, [buildFinding({ operation: 'op-7' })]));
    expect(shown.split('\n').filter((line) => line.startsWith('op-'))).toHaveLength(1);
    expect(shown).toContain('and 99 operations more');
  });

  test('control characters of the evidence are written out', () => {
    const shown = text(buildReport([buildReportOperation({ key: 'a\u001B[2Jb\nc', tool: 'x\u202Ey' })]));
    expect(shown).toContain('a\\u001b[2Jb\\u000ac');
    expect(shown).toContain('x\\u202ey');
  });

  test.each([200, 120, 80, 60, 40])(
    'in %i columns no line is longer than the terminal, but where one word is',
    (width) => {
      const report = buildReport(
        [buildReportOperation({ told: 'STREAM_INCOMPLETE/closed_before_response' })],
        [buildFinding({ message: 'no response reached the caller; '.repeat(8) })],
      );
      const lines = text(report, { width }).split('\n');
      expect(
        lines.filter(
          (line) => line.length > width && !/^\s*STREAM_INCOMPLETE\/closed_before_response,?$/.test(line),
        ),
      ).toEqual([]);
    },
  );

  test('where the table does not fit every operation has a block with all of its columns', () => {
    const shown = text(buildReport([buildReportOperation()], [buildFinding()]), { width: 60 });
    expect(shown).not.toContain('operation  ');
    for (const cell of ['row-42:done:v1', 'set_status', 'TOOL_SUCCESS', 'applied', 'verified_done'])
      expect(shown).toContain(cell);
    expect(shown).toContain('findings: reply-lost');
  });

  test('colours do not count as columns', () => {
    const report = buildReport([buildReportOperation()], [buildFinding()]);
    const strip = (line: string): string => stripVTControlCharacters(line);
    const colored = text(report, { width: 60, color: true });
    expect(strip(colored)).toBe(text(report, { width: 60 }));
  });

  test('in a pipe a key is whole up to 40 characters and no line is broken', () => {
    const key = 'tenant-7:invoice-4711:paid:v1';
    expect(text(buildReport([buildReportOperation({ key })], []))).toContain(`${key}  set_status`);
  });

  test('records that could not be read are counted as records, not as spans', () => {
    const report = buildReport([buildReportOperation()], []);
    const [input] = report.inputs;
    if (input === undefined) throw new Error('The report has no input.');
    const empty = { ...input, path: 'r.jsonl', format: 'receipts', records: 0, spans: 0, mcpSpans: 0 };
    expect(text({ ...report, inputs: [empty] })).toContain('r.jsonl  receipts, 0 records');
  });

  test('nothing to judge is said, not shown as success', () => {
    expect(text(buildReport([], []))).toContain('No MCP tool call was found, so nothing was judged.');
  });
});
