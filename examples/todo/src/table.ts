/** The table that the demo ends with. */
import type { AuditReport } from '@waybill/audit';
import type { Told } from './messages.js';
import type { Round } from './rounds.js';

/** What the third process read. */
export interface Seen {
  readonly state: string | null;
  readonly version: number | null;
}

export interface RoundResult {
  readonly round: Round;
  readonly told: Told;
  readonly seen: Seen | undefined;
}

/** One block a round: a table of this many facts would not fit a terminal of 80 columns. */
export function renderTable(results: readonly RoundResult[], report: AuditReport): string {
  return results.map((result, index) => renderRound(index + 1, result, report)).join('\n');
}

function renderRound(number: number, { round, told, seen }: RoundResult, report: AuditReport): string {
  const operation = report.operations.find(({ operationId }) => operationId === round.operationId);
  const findings = report.findings.filter(
    ({ operation: key, level }) => key === operation?.key && level !== 'info',
  );
  const flags = operation?.flags.length ? `  [${operation.flags.join(', ')}]` : '';
  return [
    `${String(number).padStart(2)}. ${round.title} (${round.operationId})`,
    `    told      ${tellTold(told)}`,
    `    wire      ${operation?.told ?? 'nothing recorded'}`,
    `    database  ${tellSeen(round, seen)}`,
    `    verdict   ${operation?.verdict ?? 'none'}${flags}, next: ${operation?.action ?? 'none'}`,
    ...(findings.length === 0
      ? []
      : [`    findings  ${[...new Set(findings.map(({ rule }) => rule))].join(', ')}`]),
    `    ${round.lesson}`,
    '',
  ].join('\n');
}

function tellTold(told: Told): string {
  if (told.kind === 'error') return `error ${told.code || told.name}: ${firstLine(told.message)}`;
  return `${told.isError ? 'isError: true' : 'success'}: ${firstLine(told.text)}`;
}

function tellSeen(round: Round, seen: Seen | undefined): string {
  if (round.target === undefined) return 'not read';
  if (seen === undefined || seen.state === null) return `${round.target.id} does not exist`;
  return `${round.target.id} is ${seen.state}, version ${seen.version}`;
}

function firstLine(text: string): string {
  const line = text.split('\n')[0] ?? '';
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}
