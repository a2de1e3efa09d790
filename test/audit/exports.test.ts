import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { audit, renderJson } from '@waybill/audit';
import type { AuditReport } from '@waybill/audit';
import { describe, expect, test } from 'vitest';
import { asRecords } from './inputs.js';

const shapes = fileURLToPath(new URL('../cases/shapes/', import.meta.url));
/** Other people's exports; they lie beside the project, and are read there and never copied. */
const files = fileURLToPath(new URL('../../../shared/cases/files/', import.meta.url));

const cases = JSON.parse(
  readFileSync(new URL('../cases/spans-open.json', import.meta.url), 'utf8'),
) as readonly { readonly id: string; readonly receipts: readonly unknown[] }[];
const receipts = cases.find((each) => each.id === 'S03')?.receipts ?? [];

/** The report but for what differs between files by their nature: names, sizes, formats, lines. */
function said(report: AuditReport): unknown {
  const text = [...renderJson(report)].join('');
  const value = JSON.parse(text) as Record<string, unknown>;
  return JSON.parse(
    JSON.stringify({ ...value, inputs: undefined, places: undefined }, (key, member: unknown) =>
      key === 'line' || key === 'offset' || key === 'evidence' ? undefined : member,
    ),
  );
}

const auditShape = (name: string): Promise<AuditReport> =>
  audit({ traces: [shapes + name], receipts: [asRecords('receipts.jsonl', receipts)] });

describe('one span set in seventeen shapes', () => {
  const differing = ['single-span', 'truncated-last-line', 'numbers-upperhex', 'noscope-noresource'];
  const names = readdirSync(shapes).filter((name) => name.startsWith('s03'));
  const equal = names.filter((name) => !differing.some((each) => name.includes(each)));

  test.each(equal)('%s gives the report of the first shape', async (name) => {
    expect(said(await auditShape(name))).toEqual(said(await auditShape('s03-hex.json')));
  });

  test('a single span is one side', async () => {
    const [operation] = (await auditShape('s03-single-span.json')).operations;
    expect(operation).toMatchObject({
      verdict: 'verified_done',
      flags: ['reply_lost', 'trace_missing_server'],
    });
  });

  test('a last line that ends early is named, the rest is judged', async () => {
    const report = await auditShape('s03-truncated-last-line.jsonl');
    expect(report.findings.filter((finding) => finding.rule === 'input-damaged')).toHaveLength(1);
    expect(report.inputs[0]?.damaged[0]?.line).toBe(2);
    expect(report.operations.at(0)?.verdict).toBe('verified_done');
  });

  test.each(['s03-numbers-upperhex.json', 's03-noscope-noresource.json'])(
    '%s gives the same verdict',
    async (name) => {
      const operation = (await auditShape(name)).operations.at(0);
      expect(operation).toMatchObject({ verdict: 'verified_done', rule: 'D1', flags: ['reply_lost'] });
    },
  );
});

const haveFiles = existsSync(files);
if (!haveFiles) console.warn(`exports of other people are not there (${files}): their tests are skipped`);

describe.skipIf(!haveFiles)('exports of other people', () => {
  const names = haveFiles ? readdirSync(files).filter((name) => !name.endsWith('.md')) : [];

  test.each(names)('%s is audited without an alarm of its own', async (name) => {
    const report = await audit({ traces: [files + name] });
    const loud = report.findings.filter(
      (finding) => finding.level !== 'info' && finding.rule !== 'input-damaged',
    );
    expect(loud).toEqual([]);
  });

  const agent = 'jaeger-mcp-agntcy-interfaces-R1-status.json';
  test('the tool calls of an agent: no MCP boundary, information when no receipts are declared', async () => {
    const report = await audit({ traces: [files + agent] });
    expect(report.coverage.notes.join()).toContain('no MCP boundary spans');
    expect(report.operations.filter((each) => each.tool === 'pyats_run_show_command')).toHaveLength(4);
    // A fifth call, of another tool, stands in the same trace.
    expect(report.operations.length).toBe(5);
    expect(report.summary.findings).toMatchObject({ error: 0, warning: 0 });
  });

  test('the same calls are without receipt when receipts are declared', async () => {
    const report = await audit({ traces: [files + agent] }, { receiptsDeclared: true });
    const missing = report.findings.filter((finding) => finding.rule === 'success-without-receipt');
    expect(missing.filter((finding) => finding.tool === 'pyats_run_show_command')).toHaveLength(4);
    expect(report.findings.filter((each) => each.level !== 'info')).toHaveLength(missing.length);
  });
});
