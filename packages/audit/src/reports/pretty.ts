/** The report for a person at a terminal: a table, the findings, one closing sentence. */
import { styleText } from 'node:util';
import type { Verdict } from '@waybill/core';
import Table from 'cli-table3';
import type { AuditReport, Finding, ReportInput, ReportOperation } from '../report.js';
import {
  SEVERITIES,
  findingsByOperation,
  isSettled,
  pathsOf,
  placeTexts,
  plural,
  printable,
  shorten,
  summarySentence,
  type Severity,
} from './text.js';

export interface PrettyOptions {
  /** Colours and box lines; without them the text is plain and stays so in a file. */
  readonly color: boolean;
  /** Columns of the terminal. */
  readonly width?: number;
  /** Rows of the table and findings that are printed in full; the rest is counted. */
  readonly limit?: number;
}

type Style = Parameters<typeof styleText>[0];

const severityStyle: Readonly<Record<Severity, Style>> = { error: 'red', warning: 'yellow', info: 'cyan' };
const places = 3;

/** Rows of the table: all operations, or where there are too many the first of those that need a look. */
function rowsOf(
  report: AuditReport,
  byOperation: ReadonlyMap<string, readonly Finding[]>,
  limit: number,
): readonly ReportOperation[] {
  const all = report.operations.length <= limit;
  const rows: ReportOperation[] = [];
  for (const operation of report.operations) {
    const findings = byOperation.get(operation.key) ?? [];
    if (!all && isSettled(operation) && findings.every((finding) => finding.level === 'info')) continue;
    rows.push(operation);
    if (rows.length === limit) break;
  }
  return rows;
}

const verdictStyle: Readonly<Record<Verdict, Style>> = {
  verified_done: 'green',
  no_effect_expected: 'green',
  verified_not_done: 'cyan',
  not_delivered: 'cyan',
  open: 'cyan',
  executed_receipt_pending: 'cyan',
  unknown_needs_reconciliation: 'yellow',
  insufficient_evidence: 'yellow',
  false_success: 'red',
  duplicate_effect: 'red',
  evidence_conflict: 'red',
};

function effectText(operation: ReportOperation): string {
  if (operation.effectKind === 'read') return 'read';
  const { atLeast, atMost } = operation.effects;
  if (operation.effect === 'applied') return atLeast > 1 ? `applied ${atLeast} times` : 'applied';
  if (operation.effect !== 'unknown') return operation.effect.replace('_', ' ');
  return atLeast === atMost ? `unknown, ${atLeast}` : `unknown, ${atLeast} to ${atMost}`;
}

/** What an input held: records beside traces, else spans and stage logs. */
function contentOf(input: ReportInput): string {
  if (input.records > 0) return plural(input.records, 'record');
  const spans = `${plural(input.spans, 'span')} (${input.mcpSpans} of tool calls)`;
  return input.logs > 0 ? `${spans}, ${plural(input.logs, 'log record')}` : spans;
}

/** Rules, then the flags that no rule of the same name says already. */
function remarksOf(operation: ReportOperation, findings: readonly Finding[]): string {
  const rules = new Set(
    findings.filter((finding) => finding.level !== 'info').map((finding) => finding.rule),
  );
  const flags = operation.flags.filter((flag) => !rules.has(flag.replaceAll('_', '-')));
  return [...rules, ...flags].join(', ') || '-';
}

/** The report in pieces; join them, or write them one after the other. */
export function* renderPretty(report: AuditReport, options: PrettyOptions): Generator<string> {
  const { color, width = 100, limit = 40 } = options;
  const paint = (style: Style, text: string): string =>
    color ? styleText(style, text, { validateStream: false }) : text;
  const paths = pathsOf(report);
  const byOperation = findingsByOperation(report);

  for (const input of report.inputs) {
    yield `${printable(input.path)}  ${input.format}, ${contentOf(input)}\n`;
  }
  yield '\n';

  const rows = rowsOf(report, byOperation, limit);
  if (rows.length > 0) {
    const table = new Table({
      head: ['operation', 'tool', 'told', 'effect', 'verdict', 'do', 'findings'].map((head) =>
        paint('bold', head),
      ),
      style: { head: [], border: [], compact: true, 'padding-left': 0 },
      chars: plainLines,
    });
    const room = Math.max(16, Math.min(40, width - 90));
    for (const operation of rows) {
      table.push([
        printable(shorten(operation.key, room)),
        printable(shorten(operation.tool ?? '-', 24)),
        printable(operation.told ?? '-'),
        effectText(operation),
        paint(verdictStyle[operation.verdict], operation.verdict),
        operation.action === 'none' ? '-' : operation.action,
        remarksOf(operation, byOperation.get(operation.key) ?? []),
      ]);
    }
    yield `${table
      .toString()
      .split('\n')
      .map((line) => line.trimEnd())
      .join('\n')}\n`;
    const hidden = report.operations.length - rows.length;
    if (hidden > 0)
      yield `… and ${plural(hidden, 'operation')} more; --format json or html has all of them\n`;
    yield '\n';
  }

  yield* findingLines(report, limit, paint, paths);
  yield* coverageLines(report);
  yield `${paint('bold', summarySentence(report))}\n`;
}

/** Columns by spaces alone: box lines make the eye count lines and break when copied. */
const plainLines: Readonly<Record<string, string>> = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: ' ',
};

function* findingLines(
  report: AuditReport,
  limit: number,
  paint: (style: Style, text: string) => string,
  paths: ReadonlyMap<string, string>,
): Generator<string> {
  const loud = report.findings.filter((finding) => finding.level !== 'info');
  loud.sort((a, b) => SEVERITIES.indexOf(a.level) - SEVERITIES.indexOf(b.level));
  for (const finding of loud.slice(0, limit)) {
    const about = finding.operation === null ? '' : `  ${printable(shorten(finding.operation, 60))}`;
    const doubt = finding.certainty === 'suspected' ? ' (suspected)' : '';
    yield `${paint(severityStyle[finding.level], finding.level)}  ${finding.rule}${doubt}${about}\n`;
    yield `    ${printable(finding.message)}\n`;
    const at = placeTexts(finding.at, paths).map(printable);
    if (at.length > 0) {
      yield `    at ${at.slice(0, places).join(', ')}${at.length > places ? ` and ${at.length - places} more` : ''}\n`;
    }
  }
  if (loud.length > limit) yield `… and ${plural(loud.length - limit, 'finding')} more\n`;

  const quiet = new Map<string, number>();
  for (const finding of report.findings) {
    if (finding.level === 'info') quiet.set(finding.rule, (quiet.get(finding.rule) ?? 0) + 1);
  }
  if (quiet.size > 0) {
    const counted = [...quiet].map(([rule, count]) => (count === 1 ? rule : `${rule} (${count})`));
    yield `${paint(severityStyle.info, 'info')}  ${counted.join(', ')}\n`;
  }
  if (loud.length > 0 || quiet.size > 0) yield '\n';
}

function* coverageLines(report: AuditReport): Generator<string> {
  const { coverage } = report;
  const lines: string[] = [];
  if (coverage.calls > 0) {
    lines.push(
      `of ${plural(coverage.calls, 'call')}: client record ${coverage.withClient}, server record ${coverage.withServer}; ` +
        `operations with a receipt: ${coverage.withReceipt} of ${coverage.operations}`,
    );
  }
  for (const note of coverage.notes) lines.push(printable(note));
  // Of an empty report nothing was evaluated, and one line says that.
  if (coverage.operations > 0) {
    const byReason = new Map<string, string[]>();
    for (const { rule, because } of coverage.notEvaluated) {
      byReason.set(because, [...(byReason.get(because) ?? []), rule]);
    }
    for (const [because, rules] of byReason) lines.push(`not evaluated, ${because}: ${rules.join(', ')}`);
  }
  if (report.summary.suppressed > 0)
    lines.push(`suppressed: ${plural(report.summary.suppressed, 'finding')}`);
  if (lines.length > 0) yield `${lines.join('\n')}\n\n`;
}
