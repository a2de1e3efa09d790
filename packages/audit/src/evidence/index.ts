/**
 * Evidence: takes what the readers find, keeps compact rows of tool calls, and gives operations with their verdicts.
 * Nothing here knows a format, and nothing a rule.
 */
import type { Damage, InputGap, LogRecord, Sink, Span } from '../model.js';
import type { Gap, Operation } from '../rule.js';
import { cutRecords, cutRows, latestTime } from './as-of.js';
import { distinctCopies, joinLogs } from './copies.js';
import { makeOperation, toolKey } from './facts.js';
import type { FactContext } from './facts.js';
import { joinRows } from './joins.js';
import { judge } from './judge.js';
import type { JudgeContext, Judgement } from './judge.js';
import { groupOperations } from './operations.js';
import type { OperationGroup, Records } from './operations.js';
import { isMcpSpan, rowOfLog, rowOfSpan } from './recognise.js';
import type { LossRow } from './records.js';
import type { SpanRow } from './rows.js';
import { compareBig, comparePlaces, compareText } from './rows.js';
import { SpanIndex } from './span-index.js';

export interface EvidenceOptions {
  /** Nothing later is known; undefined: everything that was read. */
  readonly asOfUnixNano: bigint | undefined;
  readonly graceNano: bigint;
  readonly requireSigned: boolean;
  /** A receipts input was given, or receipts are declared for every tool that may have an effect. */
  readonly receiptsDeclared: boolean;
  /** Receipts are declared for this tool by configuration. */
  readonly receiptRequired: (service: string, tool: string) => boolean;
  readonly records: Records;
  readonly loss: readonly LossRow[];
  /** A receipts input was damaged. */
  readonly receiptsIncomplete: boolean;
}

/** One operation with everything a report or a rule asks of it. */
export interface JudgedOperation {
  readonly group: OperationGroup;
  readonly judgement: Judgement;
  readonly operation: Operation;
}

export interface Verdicts {
  readonly asOfUnixNano: bigint;
  /** By the start of their first call, then by key. */
  readonly operations: readonly JudgedOperation[];
  /** Losses and truncations of the whole input. */
  readonly gaps: readonly Gap[];
  /** Tool calls of frameworks were found, and no span of an MCP boundary. */
  readonly withoutBoundary: boolean;
}

export interface Evidence extends Sink {
  /** MCP spans and tool calls delivered so far, by source, copies included. */
  mcpSpans(source: string): number;
  /** Judges what was read. May be called once. */
  finish(options: EvidenceOptions): Verdicts;
}

export function createEvidence(): Evidence {
  const bySpan = new Map<string, SpanRow[]>();
  const logs = new Map<string, SpanRow[]>();
  const counts = new Map<string, number>();
  const spans = new SpanIndex();
  const gaps: Gap[] = [];
  const damages: Damage[] = [];
  let anonymous = 0;

  const add = (rows: Map<string, SpanRow[]>, key: string, row: SpanRow): void => {
    const found = rows.get(key);
    if (found === undefined) rows.set(key, [row]);
    else found.push(row);
  };

  return {
    span(span: Span): void {
      spans.add(span.spanId, span.at.source, span.endTimeUnixNano);
      const row = rowOfSpan(span);
      if (row !== undefined || isMcpSpan(span)) {
        counts.set(span.at.source, (counts.get(span.at.source) ?? 0) + 1);
      }
      if (row === undefined) return;
      // A span without ids is a fact of its own: nothing can be its copy.
      const key = row.spanId === '' ? `anonymous:${anonymous++}` : `${row.traceId}:${row.spanId}:${row.role}`;
      add(bySpan, key, row);
    },
    log(record: LogRecord): void {
      const row = rowOfLog(record);
      if (row === undefined) return;
      add(logs, JSON.stringify([row.callId ?? '', row.traceId, row.spanId, row.role]), row);
    },
    damage(damage: Damage): void {
      damages.push(damage);
    },
    gap(gap: InputGap): void {
      gaps.push(gap);
    },
    mcpSpans: (source: string): number => counts.get(source) ?? 0,
    finish(options: EvidenceOptions): Verdicts {
      const all = [
        ...[...bySpan.values()].flatMap(distinctCopies),
        ...[...logs.values()].map(joinLogs).filter((row) => row !== undefined),
      ].sort(byPlaceInTime);
      bySpan.clear();
      logs.clear();
      const inputGaps = [...gaps, ...damages.map(gapOfDamage), ...options.loss.map(gapOfLoss)].sort((a, b) =>
        comparePlaces(a.at, b.at),
      );
      return judgeAll(all, spans, inputGaps, options);
    },
  };
}

function judgeAll(
  all: readonly SpanRow[],
  spans: SpanIndex,
  gaps: readonly Gap[],
  options: EvidenceOptions,
): Verdicts {
  const asOfUnixNano = options.asOfUnixNano ?? latestTime(all, options.records);
  const cut = options.asOfUnixNano === undefined ? undefined : cutRows(all, asOfUnixNano);
  const rows = cut?.rows ?? all;
  const records = cut === undefined ? options.records : cutRecords(options.records, asOfUnixNano);
  const calls = joinRows(rows);
  const groups = groupOperations(calls, records);
  const context: JudgeContext = {
    asOfUnixNano,
    graceNano: options.graceNano,
    requireSigned: options.requireSigned,
    incomplete: options.receiptsIncomplete,
    openRows: cut?.open ?? new Set(),
    lossOf: () => gaps,
    readBackRequired: () => false,
  };
  const facts: FactContext = {
    spans,
    rowOf: new Map(
      rows.filter((row) => row.spanId !== '').map((row) => [`${row.traceId}:${row.spanId}`, row]),
    ),
    effectTools: effectToolsOf(groups),
    owes: (group, judgement) => owesReceipt(group, judgement, options),
  };
  return {
    asOfUnixNano,
    operations: groups.map((group) => {
      const judgement = judge(group, context);
      return { group, judgement, operation: makeOperation(group, judgement, facts) };
    }),
    gaps,
    withoutBoundary: rows.length > 0 && rows.every((row) => row.role === 'tool'),
  };
}

/** DESIGN 2.4: owed where receipts were declared or the server shows `effect()`; a read owes none. */
function owesReceipt(
  group: OperationGroup,
  judgement: Judgement,
  options: EvidenceOptions,
): Operation['owesReceipt'] {
  if (judgement.vector.kind === 'read') return 'no';
  const shown = judgement.legs.some((leg) => leg.effectRequested + leg.effectConfirmed + leg.replayed > 0);
  const configured = group.calls.some((call) =>
    options.receiptRequired(call.server[0]?.service ?? '', call.tool ?? ''),
  );
  return options.receiptsDeclared || shown || configured ? 'yes' : 'undeclared';
}

function effectToolsOf(groups: readonly OperationGroup[]): ReadonlySet<string> {
  const tools = new Set<string>();
  for (const group of groups) {
    for (const call of group.calls) {
      const shows = call.server.some((row) =>
        row.stages.some((stage) => stage.name === 'server.effect_requested'),
      );
      if (shows) tools.add(toolKey(call));
    }
  }
  return tools;
}

function byPlaceInTime(a: SpanRow, b: SpanRow): number {
  return (
    compareBig(a.startTimeUnixNano, b.startTimeUnixNano) ||
    compareText(a.traceId, b.traceId) ||
    compareText(a.spanId, b.spanId) ||
    compareText(a.role, b.role) ||
    comparePlaces(a.at, b.at)
  );
}

function gapOfDamage(damage: Damage): Gap {
  return { kind: 'truncated_input', at: damage.at, note: damage.reason };
}

function gapOfLoss(row: LossRow): Gap {
  const whose = row.service === undefined ? '' : ` of ${row.service}`;
  return { kind: 'collector_loss', at: row.at, note: `${row.metric}${whose}: ${row.count}` };
}

export type { BrokenReceipt, LossRow, OutboxRow, ReceiptRow, TargetRow } from './records.js';
export type { Records } from './operations.js';
export type { Judgement } from './judge.js';
