/**
 * JUnit XML: one test case per operation, its name the operation key and its class the tool. A finding at or above
 * warning fails the case; a case that the evidence does not decide is skipped with its verdict, since neither a pass
 * nor a failure would be true. What is not of one operation stands in a suite of its own.
 */
import type { AuditReport, Finding, ReportOperation } from '../report.js';
import { SEVERITIES, findingsByOperation, isSettled, pathsOf, placeTexts, printable } from './text.js';

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

/** Text for an attribute or an element. Control characters, which XML 1.0 cannot hold, are written out. */
function xml(text: string): string {
  return text
    .split('\n')
    .map(printable)
    .join('\n')
    .replace(/[&<>"']/g, (character) => entities[character] ?? character)
    .replace(
      /[\uFFFE\uFFFF]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g,
      '\uFFFD',
    );
}

function isLoud(finding: Finding): boolean {
  return finding.level !== 'info';
}

function describe(findings: readonly Finding[], paths: ReadonlyMap<string, string>): string {
  return findings
    .map((finding) => {
      const at = printable(placeTexts(finding.at, paths).join(', '));
      const doubt = finding.certainty === 'suspected' ? ' (suspected)' : '';
      return `${finding.level} ${finding.rule}${doubt}: ${printable(finding.message)}${at === '' ? '' : `\n  at ${at}`}`;
    })
    .join('\n');
}

function failure(findings: readonly Finding[], paths: ReadonlyMap<string, string>): string {
  const loud = findings
    .filter(isLoud)
    .sort((a, b) => SEVERITIES.indexOf(a.level) - SEVERITIES.indexOf(b.level));
  const [worst] = loud;
  if (worst === undefined) return '';
  return `      <failure type="${xml(worst.rule)}" message="${xml(printable(worst.message))}">${xml(describe(loud, paths))}</failure>\n`;
}

function testCase(
  operation: ReportOperation,
  findings: readonly Finding[],
  paths: ReadonlyMap<string, string>,
): string {
  const failed = failure(findings, paths);
  const skipped =
    failed === '' && !isSettled(operation)
      ? `      <skipped message="${xml(`${operation.verdict}: ${operation.reason}`)}"/>\n`
      : '';
  const quiet = findings.filter((finding) => !isLoud(finding));
  const out = quiet.length === 0 ? '' : `      <system-out>${xml(describe(quiet, paths))}</system-out>\n`;
  const body = failed + skipped + out;
  const head = `    <testcase name="${xml(printable(operation.key))}" classname="${xml(printable(operation.tool ?? 'unknown tool'))}" time="${seconds(operation)}"`;
  return body === '' ? `${head}/>\n` : `${head}>\n${body}    </testcase>\n`;
}

/** How long the caller waited, over all calls. */
function seconds(operation: ReportOperation): string {
  let total = 0n;
  for (const call of operation.calls) {
    const side = call.client ?? call.server;
    if (side && side.endUnixNano > side.startUnixNano) total += side.endUnixNano - side.startUnixNano;
  }
  return (Number(total) / 1e9).toFixed(6);
}

export function* renderJunit(report: AuditReport): Generator<string> {
  const paths = pathsOf(report);
  const byOperation = findingsByOperation(report);
  const apart = (byOperation.get('') ?? []).filter(isLoud);
  let failures = 0;
  let skipped = 0;
  for (const operation of report.operations) {
    if ((byOperation.get(operation.key) ?? []).some(isLoud)) failures += 1;
    else if (!isSettled(operation)) skipped += 1;
  }
  const tests = report.operations.length + apart.length;
  yield '<?xml version="1.0" encoding="UTF-8"?>\n';
  yield `<testsuites name="waybill" tests="${tests}" failures="${failures + apart.length}" errors="0">\n`;
  yield `  <testsuite name="operations" tests="${report.operations.length}" failures="${failures}" errors="0" skipped="${skipped}">\n`;
  for (const operation of report.operations) {
    yield testCase(operation, byOperation.get(operation.key) ?? [], paths);
  }
  yield '  </testsuite>\n';
  if (apart.length > 0) {
    yield `  <testsuite name="inputs" tests="${apart.length}" failures="${apart.length}" errors="0" skipped="0">\n`;
    for (const finding of apart) {
      const name = placeTexts(finding.at, paths).join(', ') || finding.rule;
      yield `    <testcase name="${xml(printable(name))}" classname="${xml(finding.rule)}">\n${failure([finding], paths)}    </testcase>\n`;
    }
    yield '  </testsuite>\n';
  }
  yield '</testsuites>\n';
}
