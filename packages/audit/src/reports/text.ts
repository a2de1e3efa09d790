/** Words and small shapes that more than one report prints. */
import { stripVTControlCharacters } from 'node:util';
import type { AuditReport, Finding, ReportOperation } from '../report.js';
import type { EvidenceRef } from '../rule.js';

export type Severity = Finding['level'];

/** From the most to the least severe. */
export const SEVERITIES: readonly Severity[] = ['error', 'warning', 'info'];

const controls = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** What a runner of GitHub Actions takes for a command: `::` at the start of a line, `##[` anywhere in it. */
const runnerCommands = /(?<=^|\s)::|(?<=##)\[/g;

/**
 * Text from evidence, safe in a terminal or a log: control and formatting characters are written out, so that an id
 * or a tool name cannot move the cursor, hide text or start a line of its own; neither can it speak to the runner of a
 * build that reads the log.
 */
export function printable(text: string): string {
  return text
    .replace(controls, (character) => `\\u${hex(character.codePointAt(0) ?? 0)}`)
    .replace(runnerCommands, (found) => `\\u${hex(found.charCodeAt(0))}${found.slice(1)}`);
}

const unseen = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]|(?<=##)\[/gu;

/**
 * JSON that may be printed: what `JSON.stringify` leaves raw and a terminal obeys (C1 controls, bidi and other
 * formatting characters) or a build runner obeys (`##[`) is escaped, so that the value is the same and the text harmless.
 */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(unseen, (character) =>
    Array.from({ length: character.length }, (_, at) => `\\u${hex(character.charCodeAt(at))}`).join(''),
  );
}

function hex(code: number): string {
  return code.toString(16).padStart(4, '0');
}

/** Keeps the beginning and the end, where ids differ. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  const tail = Math.floor((length - 1) / 3);
  return `${text.slice(0, length - 1 - tail)}…${text.slice(text.length - tail)}`;
}

export function plural(count: number, one: string, many: string = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** `path:line`, `path@offset`, or what else names the place. */
export function placeText(at: EvidenceRef, paths: ReadonlyMap<string, string>): string {
  const path = paths.get(at.source) ?? at.source;
  if (at.line !== undefined) return `${path}:${at.line}`;
  if (at.offset !== undefined) return `${path}@${at.offset}`;
  return at.spanId === undefined ? path : `${path} span ${at.spanId}`;
}

/** The places of a finding, each once: two sides of a call often stand in one line of a file. */
export function placeTexts(
  at: readonly EvidenceRef[],
  paths: ReadonlyMap<string, string>,
): readonly string[] {
  return [...new Set(at.map((place) => placeText(place, paths)))];
}

/** Path of each input by its id. */
export function pathsOf(report: AuditReport): ReadonlyMap<string, string> {
  return new Map(report.inputs.map((input) => [input.id, input.path]));
}

/** The findings of each operation by its key; those of no operation under ''. */
export function findingsByOperation(report: AuditReport): ReadonlyMap<string, readonly Finding[]> {
  const byKey = new Map<string, Finding[]>();
  for (const finding of report.findings) {
    const key = finding.operation ?? '';
    const known = byKey.get(key);
    if (known === undefined) byKey.set(key, [finding]);
    else known.push(finding);
  }
  return byKey;
}

/** Verdicts with which nobody has anything left to do. */
export function isSettled(operation: ReportOperation): boolean {
  return (
    operation.verdict === 'verified_done' ||
    operation.verdict === 'no_effect_expected' ||
    operation.verdict === 'verified_not_done' ||
    operation.verdict === 'not_delivered'
  );
}

/** ISO 8601 in UTC, to the millisecond; '-' for a time that is not known. */
export function isoTime(unixNano: bigint): string {
  if (unixNano <= 0n) return '-';
  const date = new Date(Number(unixNano / 1_000_000n));
  return Number.isNaN(date.getTime()) ? '-' : date.toISOString();
}

/** The whole report in one sentence and its findings in a second. */
export function summarySentence(report: AuditReport): string {
  const { verdicts, findings } = report.summary;
  const total = report.coverage.operations;
  if (total === 0) return 'No MCP tool call was found, so nothing was judged.';
  const done = verdicts.verified_done ?? 0;
  const reads = verdicts.no_effect_expected ?? 0;
  const wrong =
    (verdicts.false_success ?? 0) + (verdicts.duplicate_effect ?? 0) + (verdicts.evidence_conflict ?? 0);
  const undecided = (verdicts.unknown_needs_reconciliation ?? 0) + (verdicts.insufficient_evidence ?? 0);
  const parts = [`${done} proven done`];
  if (reads > 0) parts.push(plural(reads, 'read'));
  if (wrong > 0) parts.push(`${wrong} against what was reported or shown`);
  if (undecided > 0) parts.push(`${undecided} not decided by this evidence`);
  const others = total - done - reads - wrong - undecided;
  if (others > 0) parts.push(`${others} open, pending or not done`);
  const found = SEVERITIES.filter((level) => findings[level] > 0).map((level) =>
    level === 'info' ? `${findings.info} info` : plural(findings[level], level),
  );
  return `Of ${plural(total, 'operation')}: ${parts.join(', ')}. Findings: ${found.length === 0 ? 'none' : found.join(', ')}.`;
}

/**
 * A line broken at spaces for a terminal of that width, its continuations indented a little further than the line. A
 * word that is longer than the line stays whole, so that a path or an id can be copied.
 */
export function wrapLine(line: string, width: number): string {
  if (stripVTControlCharacters(line).length <= width) return line;
  const indent = ' '.repeat(Math.min(line.search(/\S|$/) + 2, Math.floor(width / 2)));
  const lines: string[] = [];
  let current = '';
  let length = 0;
  for (const word of line.split(/(?<=\S)(?=\s)/)) {
    const wide = stripVTControlCharacters(word).length;
    if (length > 0 && length + wide > width) {
      lines.push(current);
      const rest = word.trimStart();
      current = `${indent}${rest}`;
      length = indent.length + stripVTControlCharacters(rest).length;
    } else {
      current += word;
      length += wide;
    }
  }
  return [...lines, current].join('\n');
}
