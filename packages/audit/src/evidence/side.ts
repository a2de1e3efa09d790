/** One side of one call: the union of its rows, and its facts with three values. */
import { ATTR_FLAGS, ATTR_INSTRUMENTATION_DEGRADED, stageOfEvent } from '@waybill/core';
import type {
  Fact,
  EvidenceRef,
  Gap,
  JoinBasis,
  SeenStage,
  Side,
  SideOutcome,
  SpanContextFact,
  StageFact,
} from '../rule.js';
import { outcomeOfRow } from './outcome.js';
import { byOrder, distinct } from './recognise.js';
import type { SpanRow, StageRow } from './rows.js';
import { SHAPING } from './shapes.js';
import { compareBig, comparePlaces, compareText, listOf } from './rows.js';

const TERMINAL = {
  client: ['client.result_received', 'client.timeout', 'client.cancelled', 'client.failed'],
  server: ['server.result_sent', 'server.result_dropped', 'server.cancel_received'],
} as const;

export interface SideRows {
  readonly role: 'client' | 'server';
  /** Strongest first: our own spans, then logs, then others; ties by time and ids. */
  readonly rows: readonly SpanRow[];
  readonly join: JoinBasis;
  readonly context: SpanContextFact | undefined;
  readonly parentEnded: EvidenceRef | undefined;
  /** Told when a rule asks for an attribute whose value is not part of the shape of a row. */
  readonly asked?: () => void;
}

export function orderRows(rows: readonly SpanRow[]): readonly SpanRow[] {
  if (rows.length < 2) return rows;
  return [...rows].sort(
    (a, b) =>
      strength(b) - strength(a) ||
      compareBig(a.startTimeUnixNano, b.startTimeUnixNano) ||
      compareText(a.traceId, b.traceId) ||
      compareText(a.spanId, b.spanId) ||
      comparePlaces(a.at, b.at),
  );
}

function strength(row: SpanRow): number {
  return (row.own ? 2 : 0) + (row.fromLogs ? 0 : 1);
}

/** All stages of a side in order; the same stage as span event and as log is one. */
export function stagesOf(rows: readonly SpanRow[]): readonly StageRow[] {
  const all: StageRow[] = [];
  for (const row of rows) {
    for (const stage of row.stages) if (!all.some((other) => isSame(stage, other))) all.push(stage);
  }
  return all.sort(byOrder);
}

function isSame(a: StageRow, b: StageRow): boolean {
  if (a.name !== b.name) return false;
  if (a.timeUnixNano === b.timeUnixNano && a.seq === b.seq) return true;
  if (a.seq !== undefined && a.seq === b.seq && isOfOneSpan(a.at, b.at)) return true;
  // Named by the attribute only: it is the one that another row tells with its time.
  return a.timeUnixNano === 0n || b.timeUnixNano === 0n;
}

/** The event of a span, its log and its line in a journal have times of their own, and one number. */
function isOfOneSpan(a: EvidenceRef, b: EvidenceRef): boolean {
  return a.spanId !== undefined && a.spanId !== '' && a.spanId === b.spanId && a.traceId === b.traceId;
}

/** Numbers missing below the highest one seen, per span: two deliveries count from 1 each. */
export function missingSeq(rows: readonly SpanRow[]): readonly number[] {
  // Nearly every record: one span, numbered without a hole.
  const [only, another] = rows;
  if (another === undefined && (only === undefined || !only.own || isDense(only.seqs))) return [];
  const byIncarnation = new Map<string, number[]>();
  for (const row of rows) {
    if (!row.own) continue;
    const key = `${row.traceId}:${row.spanId}`;
    byIncarnation.set(key, [...(byIncarnation.get(key) ?? []), ...row.seqs]);
  }
  const missing = [...byIncarnation.values()].flatMap((seqs) => {
    const seen = new Set(seqs);
    const last = Math.max(0, ...seqs);
    // A number beyond every plausible one is damage, not a hole of a million stages.
    const limit = Math.min(last, seen.size + 10_000);
    const holes: number[] = [];
    for (let seq = 1; seq < limit; seq++) if (!seen.has(seq)) holes.push(seq);
    return holes;
  });
  return distinct(missing);
}

function isDense(seqs: readonly number[]): boolean {
  return seqs.every((seq, index) => seq === index + 1);
}

/** What is known to be missing from a side; an empty list together with a terminal stage makes it complete. */
export function gapsOf(rows: readonly SpanRow[], role: 'client' | 'server'): readonly Gap[] {
  const gaps: Gap[] = [];
  const own = rows.filter((row) => row.own);
  for (const row of rows) {
    if (row.droppedEvents > 0) {
      gaps.push({
        kind: 'dropped_events',
        at: row.at,
        note: `${row.droppedEvents} events were dropped by the SDK`,
      });
    }
    const degraded = listOf(row.attributes, ATTR_INSTRUMENTATION_DEGRADED);
    if (degraded.length > 0) {
      gaps.push({ kind: 'degraded', at: row.at, note: `hook points were missing: ${degraded.join(', ')}` });
    }
    if (row.unsampled) gaps.push({ kind: 'unsampled', at: row.at, note: 'the span was not sampled' });
    if (row.contested) {
      gaps.push({
        kind: 'stage_hole',
        at: row.at,
        note: 'another record with the same ids says something else',
      });
    }
  }
  const holes = missingSeq(rows);
  const [first] = own;
  if (first !== undefined && holes.length > 0 && !own.some((row) => row.droppedEvents > 0)) {
    gaps.push({ kind: 'stage_hole', at: first.at, note: `stage numbers ${holes.join(', ')} are missing` });
  }
  if (first !== undefined && own.every((row) => row.fromLogs)) {
    gaps.push({
      kind: 'span_missing',
      at: first.at,
      note: `the ${role} span is not there, its stage logs are`,
    });
  }
  return gaps;
}

/**
 * Whether the record of a side is provably complete: our emitter, a terminal stage, dense numbers, nothing dropped or
 * degraded, and nothing that contradicts it.
 */
export function isComplete(rows: readonly SpanRow[], role: 'client' | 'server'): boolean {
  const own = rows.filter((row) => row.own);
  if (own.length === 0 || gapsOf(rows, role).length > 0) return false;
  const stages = stagesOf(own);
  if (!stages.some((stage) => TERMINAL[role].some((name) => name === stage.name))) return false;
  return stages.every((stage) => stage.seq !== undefined);
}

/** The strongest outcome that a side states; `wire` and `local` before `derived`. */
export function outcomeOf(rows: readonly SpanRow[]): { value: SideOutcome; row: SpanRow } | undefined {
  let best: { value: SideOutcome; row: SpanRow } | undefined;
  for (const row of rows) {
    const value = outcomeOfRow(row);
    if (value === undefined) continue;
    if (best === undefined || (best.value.source === 'derived' && value.source !== 'derived')) {
      best = { value, row };
    }
  }
  return best;
}

export function flagsOf(rows: readonly SpanRow[]): readonly string[] {
  return [...new Set(rows.flatMap((row) => listOf(row.attributes, ATTR_FLAGS)))].sort();
}

/** A side as rules see it. */
export function makeSide(side: SideRows, derived?: SideOutcome): Side {
  const { rows, role } = side;
  const [first] = rows;
  if (first === undefined) throw new Error('a side has at least one row');
  const stages = stagesOf(rows);
  const complete = isComplete(rows, role);
  const gaps = (): readonly Gap[] => {
    const found = gapsOf(rows, role);
    if (found.length > 0) return found;
    return [
      rows.some((row) => row.own)
        ? { kind: 'stage_hole', at: first.at, note: 'the record ends before a terminal stage' }
        : { kind: 'foreign_emitter', at: first.at, note: `${emitterName(first)} records no stages` },
    ];
  };
  let outcome: Fact<SideOutcome> | undefined;
  const outcomeFact = (): Fact<SideOutcome> => {
    const found = outcomeOf(rows);
    if (found !== undefined) return { state: 'seen', value: found.value, at: found.row.at };
    if (derived !== undefined) return { state: 'seen', value: derived, at: first.at };
    return { state: 'unrecorded', gaps: gaps() };
  };
  const ends = rows.map((row) => row.endTimeUnixNano).filter((time) => time > 0n);
  const starts = rows.map((row) => row.startTimeUnixNano).filter((time) => time > 0n);
  const spanRow = rows.find((row) => !row.fromLogs);
  return {
    service: first.service,
    spans: rows.map((row) => row.at),
    join: side.join,
    ...(spanRow?.status === undefined ? {} : { status: spanRow.status }),
    ...(side.parentEnded === undefined ? {} : { parentEnded: side.parentEnded }),
    missingSeq: missingSeq(rows),
    complete,
    context: side.context,
    emitter: first.scope,
    startTimeUnixNano: least(starts),
    endTimeUnixNano: greatest(ends),
    stage(name: string): Fact<StageFact> {
      const bare = stageOfEvent(name) ?? name;
      const found = stages.filter((stage) => stage.name === bare);
      const [one] = found;
      if (one !== undefined) {
        const { timeUnixNano, seq } = one;
        return { state: 'seen', value: { timeUnixNano, seq, count: found.length }, at: one.at };
      }
      return complete ? { state: 'absent', proof: first.at } : { state: 'unrecorded', gaps: gaps() };
    },
    stages: (): readonly SeenStage[] => stages,
    outcome(): Fact<SideOutcome> {
      outcome ??= outcomeFact();
      return outcome;
    },
    attribute(key: string): Fact<unknown> {
      if (!SHAPING.has(key) && rows.some((row) => Object.hasOwn(row.attributes, key))) side.asked?.();
      for (const row of rows) {
        if (Object.hasOwn(row.attributes, key)) {
          return { state: 'seen', value: row.attributes[key], at: row.at };
        }
      }
      return complete ? { state: 'absent', proof: first.at } : { state: 'unrecorded', gaps: gaps() };
    },
  };
}

function emitterName(row: SpanRow): string {
  return row.scope === '' ? 'the emitter' : row.scope;
}

export function least(times: readonly bigint[]): bigint {
  return times.reduce((a, b) => (a !== 0n && a < b ? a : b), 0n);
}

export function greatest(times: readonly bigint[]): bigint {
  return times.reduce((a, b) => (a > b ? a : b), 0n);
}
