/** The report for a person at a terminal: a table, the findings, one closing sentence. */
import { styleText } from 'node:util';
import type { AuditReport, ReportInput } from '../report.js';
import { operationLines, type Paint } from './pretty-operations.js';
import {
  SEVERITIES,
  findingsByOperation,
  pathsOf,
  placeTexts,
  plural,
  printable,
  shorten,
  summarySentence,
  wrapLine,
  type Severity,
} from './text.js';

export interface PrettyOptions {
  /** Colours and box lines; without them the text is plain and stays so in a file. */
  readonly color: boolean;
  /** Columns of the terminal; without it lines are as long as they are, for a pipe or a file. */
  readonly width?: number;
  /** Rows of the table and findings that are printed in full; the rest is counted. */
  readonly limit?: number;
}

const severityStyle: Readonly<Record<Severity, Parameters<Paint>[0]>> = {
  error: 'red',
  warning: 'yellow',
  info: 'cyan',
};
const places = 3;
/** Inputs beside traces, whose content is counted in records even where there is none. */
const recordFormats: ReadonlySet<string> = new Set(['receipts', 'targets', 'outbox', 'loss']);

/** What an input held: records beside traces, else spans and stage logs. */
function contentOf(input: ReportInput): string {
  if (input.records > 0 || recordFormats.has(input.format)) return plural(input.records, 'record');
  const spans = `${plural(input.spans, 'span')} (${input.mcpSpans} of tool calls)`;
  return input.logs > 0 ? `${spans}, ${plural(input.logs, 'log record')}` : spans;
}

/** The report in pieces; join them, or write them one after the other. */
export function* renderPretty(report: AuditReport, options: PrettyOptions): Generator<string> {
  const { width = Infinity } = options;
  for (const piece of pieces(report, options, width)) {
    if (width === Infinity) yield piece;
    else {
      for (const line of piece.slice(0, -1).split('\n')) yield `${wrapLine(line, width)}\n`;
    }
  }
}

/** Each piece is whole lines. */
function* pieces(report: AuditReport, options: PrettyOptions, width: number): Generator<string> {
  const { color, limit = 40 } = options;
  const paint: Paint = (style, text) => (color ? styleText(style, text, { validateStream: false }) : text);
  const paths = pathsOf(report);
  const byOperation = findingsByOperation(report);

  for (const input of report.inputs) {
    yield `${printable(input.path)}  ${input.format}, ${contentOf(input)}\n`;
  }
  yield '\n';

  const operations = operationLines(report, byOperation, { limit, width, paint });
  for (const line of operations) yield `${line}\n`;
  if (operations.length > 0) yield '\n';

  yield* findingLines(report, limit, paint, paths);
  yield* coverageLines(report);
  yield `${paint('bold', summarySentence(report))}\n`;
}

function* findingLines(
  report: AuditReport,
  limit: number,
  paint: Paint,
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
