/** The operations of the terminal report: a table where the terminal is wide enough for it, else a block for each. */
import { stripVTControlCharacters, type styleText } from 'node:util';
import type { Verdict } from '@waybill/core';
import Table from 'cli-table3';
import type { AuditReport, Finding, ReportOperation } from '../report.js';
import { isSettled, plural, printable, shorten } from './text.js';

type Style = Parameters<typeof styleText>[0];
/** Puts a style around text, or leaves it as it is. */
export type Paint = (style: Style, text: string) => string;

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

/** The longest and the shortest form of an operation key in the table. */
const KEY_ROOM = [40, 16] as const;

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

/** Rules, then the flags that no rule of the same name says already. */
function remarksOf(operation: ReportOperation, findings: readonly Finding[]): string {
  const rules = new Set(
    findings.filter((finding) => finding.level !== 'info').map((finding) => finding.rule),
  );
  const flags = operation.flags.filter((flag) => !rules.has(flag.replaceAll('_', '-')));
  return [...rules, ...flags].join(', ') || '-';
}

type Cells = readonly [
  operation: string,
  tool: string,
  told: string,
  effect: string,
  verdict: string,
  action: string,
  remarks: string,
];

function cellsOf(operation: ReportOperation, findings: readonly Finding[], paint: Paint): Cells {
  return [
    operation.key,
    printable(shorten(operation.tool ?? '-', 24)),
    printable(operation.told ?? '-'),
    effectText(operation),
    paint(verdictStyle[operation.verdict], operation.verdict),
    operation.action === 'none' ? '-' : operation.action,
    remarksOf(operation, findings),
  ];
}

function tableOf(rows: readonly Cells[], room: number, paint: Paint): readonly string[] {
  const table = new Table({
    head: ['operation', 'tool', 'told', 'effect', 'verdict', 'do', 'findings'].map((head) =>
      paint('bold', head),
    ),
    style: { head: [], border: [], compact: true, 'padding-left': 0 },
    chars: plainLines,
  });
  for (const [key, ...others] of rows) table.push([printable(shorten(key, room)), ...others]);
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd());
}

function blockOf(
  [key, tool, told, effect, verdict, action, remarks]: Cells,
  paint: Paint,
): readonly string[] {
  return [
    `${paint('bold', printable(key))}  ${verdict}`,
    `    ${tool}, told ${told}, effect ${effect}`,
    ...(action === '-' ? [] : [`    do: ${action}`]),
    ...(remarks === '-' ? [] : [`    findings: ${remarks}`]),
  ];
}

/**
 * The lines that show the operations, and of how many there are more. Whole keys where the width allows it, shortened
 * ones where that makes the table fit, and no table where nothing does.
 * @param width columns of the terminal; Infinity for a pipe or a file
 */
export function operationLines(
  report: AuditReport,
  byOperation: ReadonlyMap<string, readonly Finding[]>,
  options: { readonly limit: number; readonly width: number; readonly paint: Paint },
): readonly string[] {
  const { limit, width, paint } = options;
  const operations = rowsOf(report, byOperation, limit);
  if (operations.length === 0) return [];
  const rows = operations.map((operation) => cellsOf(operation, byOperation.get(operation.key) ?? [], paint));
  const hidden = report.operations.length - rows.length;
  const more =
    hidden > 0 ? [`… and ${plural(hidden, 'operation')} more; --format json or html has all of them`] : [];
  for (const room of KEY_ROOM) {
    const lines = tableOf(rows, room, paint);
    const widest = Math.max(...lines.map((line) => stripVTControlCharacters(line).length));
    if (widest <= width) return [...lines, ...more];
  }
  return [...rows.flatMap((row) => blockOf(row, paint)), ...more];
}
