import { readFileSync } from 'node:fs';
import { audit } from '@waybill/audit';
import type { AuditReport } from '@waybill/audit';
import { describe, expect, test } from 'vitest';
import { asRecords, asSource } from './inputs.js';

interface Case {
  readonly id: string;
  readonly title: string;
  readonly otlp: unknown;
  readonly receipts: readonly unknown[];
  readonly target?: Readonly<Record<string, unknown>>;
  readonly collector?: Readonly<Record<string, number>>;
  readonly expect: {
    readonly verdict: string | Readonly<Record<string, string>>;
    readonly flags: readonly string[] | Readonly<Record<string, readonly string[]>>;
    readonly action?: string;
    readonly findings: readonly string[];
  };
}

const cases = JSON.parse(
  readFileSync(new URL('../cases/spans-open.json', import.meta.url), 'utf8'),
) as readonly Case[];

function auditCase(each: Case): Promise<AuditReport> {
  return audit({
    traces: [asSource(JSON.stringify(each.otlp))],
    receipts: [asRecords('receipts.jsonl', each.receipts)],
    ...(each.target === undefined
      ? {}
      : { targets: [asRecords('targets.jsonl', [{ operation_id: 'row-42:done:v1', ...each.target }])] }),
    ...(each.collector === undefined ? {} : { loss: [asRecords('loss.jsonl', [each.collector])] }),
  });
}

/** `expect` states one value for every operation, or one per operation id. */
function expected<T>(
  value: T | Readonly<Record<string, T>>,
  key: string,
  isOne: (value: unknown) => value is T,
): T {
  if (isOne(value)) return value;
  const found = value[key];
  if (found === undefined) throw new Error(`the case expects nothing of ${key}`);
  return found;
}
const isText = (value: unknown): value is string => typeof value === 'string';
const isList = (value: unknown): value is readonly string[] => Array.isArray(value);

describe.each(cases)('$id $title', (each) => {
  test('verdict, flags and action of every operation', async () => {
    const report = await auditCase(each);
    expect(report.operations.length).toBeGreaterThan(0);
    for (const operation of report.operations) {
      expect(operation.verdict).toBe(expected(each.expect.verdict, operation.key, isText));
      expect([...operation.flags].sort()).toEqual(
        [...expected(each.expect.flags, operation.key, isList)].sort(),
      );
      if (each.expect.action !== undefined) expect(operation.action).toBe(each.expect.action);
    }
  });

  test('every named finding is there, others only as information', async () => {
    const report = await auditCase(each);
    const found = new Set(report.findings.map((finding) => finding.rule));
    expect(each.expect.findings.filter((rule) => !found.has(rule))).toEqual([]);
    const loud = report.findings.filter(
      (finding) => finding.level !== 'info' && !each.expect.findings.includes(finding.rule),
    );
    expect(loud.map(({ rule, message }) => `${rule}: ${message}`)).toEqual([]);
  });
});
