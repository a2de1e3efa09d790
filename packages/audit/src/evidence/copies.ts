/**
 * One span may be delivered more than once: by an export retry, by a backend that answers with a part of it, by two
 * files of the same run. Equal copies are one span, a copy that holds a strict subset of another is the same span, and
 * copies that differ are two facts of which neither is complete.
 */
import type { AttributeValue } from '../model.js';
import type { SpanRow, StageRow } from './rows.js';
import { compareText, comparePlaces } from './rows.js';
import { byOrder, distinct } from './recognise.js';

/** The distinct facts among the rows of one span (same trace, span and role). Independent of their order. */
export function distinctCopies(copies: readonly SpanRow[]): readonly SpanRow[] {
  if (copies.length === 1) return copies;
  const ordered = [...copies].sort(
    (a, b) => size(b) - size(a) || compareText(contentOf(a), contentOf(b)) || comparePlaces(a.at, b.at),
  );
  const kept: SpanRow[] = [];
  for (const row of ordered) {
    const holder = kept.findIndex((other) => isSubset(row, other));
    const found = kept[holder];
    if (found === undefined) kept.push(row);
    else if (size(found) === size(row) && comparePlaces(row.at, found.at) < 0) kept[holder] = row;
  }
  return kept.length === 1 ? kept : kept.map((row) => ({ ...row, contested: true }));
}

function size(row: SpanRow): number {
  return Object.keys(row.attributes).length + row.stages.length + row.seqs.length;
}

/** Everything that `small` says, `large` says too; what is missing from `small` was not exported with it. */
function isSubset(small: SpanRow, large: SpanRow): boolean {
  if (small.startTimeUnixNano !== large.startTimeUnixNano) return false;
  if (small.endTimeUnixNano !== large.endTimeUnixNano && small.endTimeUnixNano !== 0n) return false;
  if (small.status !== large.status && small.status !== 'unset') return false;
  if (small.droppedEvents < large.droppedEvents) return false;
  for (const [key, value] of Object.entries(small.attributes)) {
    if (!Object.hasOwn(large.attributes, key) || !equal(value, large.attributes[key])) return false;
  }
  return (
    small.stages.every((stage) => large.stages.some((other) => sameStage(stage, other))) &&
    small.seqs.every((seq) => large.seqs.includes(seq))
  );
}

function sameStage(a: StageRow, b: StageRow): boolean {
  return a.name === b.name && a.seq === b.seq && a.timeUnixNano === b.timeUnixNano;
}

function equal(a: AttributeValue | undefined, b: AttributeValue | undefined): boolean {
  return a === b || serialise(a) === serialise(b);
}

function serialise(value: unknown): string {
  return (
    JSON.stringify(value, (_, member: unknown) => (typeof member === 'bigint' ? String(member) : member)) ??
    ''
  );
}

function contentOf(row: SpanRow): string {
  const keys = Object.keys(row.attributes).sort();
  return serialise([
    row.startTimeUnixNano,
    row.endTimeUnixNano,
    row.status,
    keys.map((key) => [key, row.attributes[key]]),
    row.stages.map((stage) => [stage.name, stage.seq, stage.timeUnixNano]),
  ]);
}

/** Stage logs of one call and side become one row; a stage that was logged twice is one stage. */
export function joinLogs(rows: readonly SpanRow[]): SpanRow | undefined {
  const [first, ...others] = [...rows].sort((a, b) => comparePlaces(a.at, b.at));
  if (first === undefined) return undefined;
  const stages = [...first.stages];
  let { startTimeUnixNano: start, endTimeUnixNano: end } = first;
  let attributes = first.attributes;
  for (const row of others) {
    for (const stage of row.stages) if (!stages.some((other) => sameStage(stage, other))) stages.push(stage);
    if (row.startTimeUnixNano < start) start = row.startTimeUnixNano;
    if (row.endTimeUnixNano > end) end = row.endTimeUnixNano;
    attributes = { ...row.attributes, ...attributes };
  }
  const named = rows.find((row) => row.tool !== undefined);
  return {
    ...first,
    startTimeUnixNano: start,
    endTimeUnixNano: end,
    tool: named?.tool,
    operationId: rows.find((row) => row.operationId !== undefined)?.operationId,
    rpcId: rows.find((row) => row.rpcId !== undefined)?.rpcId,
    attributes,
    stages: stages.sort(byOrder),
    seqs: distinct(rows.flatMap((row) => row.seqs)),
  };
}
