/**
 * Evidence written by an attacker: whatever stands in an attribute, a name or a file name, no report lets it move the
 * cursor, reorder the text, begin a line of its own, or end a markup element.
 */
import { readFileSync } from 'node:fs';
import {
  REPORT_FORMATS,
  audit,
  explainJson,
  explainOperation,
  renderReport,
  type AuditReport,
  type ReportFormat,
} from '@waybill/audit';
import { describe, expect, test } from 'vitest';
import { asRecords, asSource } from './inputs.js';

interface Case {
  readonly id: string;
  readonly otlp: unknown;
  readonly receipts?: readonly unknown[];
  readonly targets?: readonly unknown[];
}

const cases = JSON.parse(
  readFileSync(new URL('../cases/spans-open.json', import.meta.url), 'utf8'),
) as readonly Case[];

/** Terminal title, cursor, C1 control, right-to-left override, isolate, line breaks of four kinds, markup, a command. */
const HOSTILE =
  '\u001b]0;owned\u0007\u001b[2J\u009b31m\u202e\u2066\u200b\u2028\u2029\r\n::error::owned\nowned %0A::warning::owned</script><script>owned()</script>-->]]>"\'<img src=x onerror=owned()> ##[error]owned';

/** What a runner of GitHub Actions takes for a command when a line begins with it, or holds it. */
const RUNNER = '::error::owned ##[error]owned ::warning::owned';

const seen = new Set<string>();

/** Every text of a value, one at a time, made hostile: the copies with the path of what was changed. */
function* variants(
  value: unknown,
  change: (text: string) => string,
  at = '',
): Generator<{ readonly at: string; readonly copy: unknown }> {
  if (typeof value === 'string') {
    // The same text in the same kind of place says nothing new in another case.
    const kind = `${at.replaceAll(/\[\d+\]/g, '')} ${value} ${change('')}`;
    if (seen.has(kind)) return;
    seen.add(kind);
    yield { at, copy: change(value) };
    return;
  }
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      for (const inner of variants(item, change, `${at}[${index}]`)) {
        yield { at: inner.at, copy: value.with(index, inner.copy) };
      }
    }
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [key, item] of Object.entries(value)) {
    for (const inner of variants(item, change, `${at}.${key}`)) {
      yield { at: inner.at, copy: { ...value, [key]: inner.copy } };
    }
  }
}

const controls = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

const made = new Map<string, readonly { readonly at: string; readonly copy: unknown }[]>();

/** The variants of a case, the same when a test is repeated. */
function variantsOf(
  evidence: Case,
  change: (text: string) => string,
): readonly { readonly at: string; readonly copy: unknown }[] {
  const key = `${evidence.id} ${change('')}`;
  const known = made.get(key) ?? [...variants(evidence, change)];
  made.set(key, known);
  return known;
}

/** What no format may hold, whatever the evidence says. */
function wrongIn(format: ReportFormat | 'explain' | 'explain --json', text: string): string | undefined {
  for (const line of text.split('\n')) {
    if (controls.test(line)) return `a control character in ${JSON.stringify(line)}`;
    if (/^\s*(?:owned|::error::owned|::warning::owned)|##\[/.test(line)) {
      return `a line of its own: ${JSON.stringify(line)}`;
    }
  }
  if (format === 'html' && text.split('</script').length !== 4) return 'an end of a script element';
  if ((format === 'html' || format === 'junit') && /<script>owned|<img/.test(text)) return 'markup';
  return undefined;
}

function* texts(
  report: AuditReport,
): Generator<readonly [ReportFormat | 'explain' | 'explain --json', string]> {
  for (const format of REPORT_FORMATS) {
    yield [format, [...renderReport(report, format, { color: false })].join('')];
  }
  for (const operation of report.operations) {
    yield ['explain', [...explainOperation(report, operation)].join('')];
    yield ['explain --json', explainJson(report, operation)];
  }
}

async function judged(evidence: Case, path = 'traces.json'): Promise<AuditReport> {
  return audit({
    traces: [{ ...asSource(JSON.stringify(evidence.otlp)), path }],
    receipts: [asRecords('receipts.jsonl', evidence.receipts ?? [])],
    targets: [asRecords('targets.jsonl', evidence.targets ?? [])],
  });
}

describe.each(cases)('hostile text in $id', (evidence) => {
  test('reaches no report raw, wherever it stands', async () => {
    const wrong: string[] = [];
    for (const { at, copy } of variantsOf(evidence, (text) => text + HOSTILE)) {
      for (const [format, text] of texts(await judged(copy as Case))) {
        const why = wrongIn(format, text);
        if (why !== undefined) wrong.push(`${at} in ${format}: ${why}`);
      }
    }
    expect(wrong).toEqual([]);
  });
});

describe.each(cases)('commands of a build runner in $id', (evidence) => {
  test('are none where a line is made of text', async () => {
    const wrong: string[] = [];
    for (const { at, copy } of variantsOf(evidence, () => RUNNER)) {
      const report = await judged(copy as Case);
      const shown = [
        ...renderReport(report, 'pretty', { color: false, width: 30 }),
        ...[...report.operations].flatMap((operation) => [...explainOperation(report, operation, 30)]),
      ].join('');
      const why = wrongIn('pretty', shown);
      if (why !== undefined) wrong.push(`${at}: ${why}`);
    }
    expect(wrong).toEqual([]);
  });
});

test('the name of a file is as hostile as its content', async () => {
  const [evidence] = cases;
  if (evidence === undefined) throw new Error('There are no cases.');
  for (const [format, text] of texts(await judged(evidence, `traces${HOSTILE}.json`))) {
    expect.soft(wrongIn(format, text), format).toBeUndefined();
  }
});

describe.each(cases)('names of JavaScript in $id', (evidence) => {
  test.each(['__proto__', 'constructor'])('%s is a text like any other', async (name) => {
    const wrong: string[] = [];
    for (const { at, copy } of variantsOf(evidence, () => name)) {
      const report = await judged(copy as Case);
      const text = [
        ...renderReport(report, 'pretty', { color: false }),
        ...renderReport(report, 'json', { color: false }),
        ...[...report.operations].flatMap((operation) => [...explainOperation(report, operation)]),
      ].join('');
      if (/\[native code\]|\[object |\bundefined\b|\bNaN\b/.test(text)) wrong.push(at);
    }
    expect(wrong).toEqual([]);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
});
