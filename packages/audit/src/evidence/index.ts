/**
 * Evidence: takes what the readers find, keeps compact rows of tool calls, and gives operations with their verdicts,
 * one group of related records at a time. Nothing here knows a format, and nothing a rule.
 */
import type { Damage, InputGap, LogRecord, Sink, Span } from '../model.js';
import type { Gap, Operation } from '../rule.js';
import { cutRecords, cutRows } from './as-of.js';
import { distinctCopies, joinLogs } from './copies.js';
import { makeOperation } from './facts.js';
import type { FactContext } from './facts.js';
import { joinRows } from './joins.js';
import { judge } from './judge.js';
import type { JudgeContext, Judgement } from './judge.js';
import { groupOperations } from './operations.js';
import type { OperationGroup } from './operations.js';
import { isMcpSpan, rowOfLog, rowOfSpan } from './recognise.js';
import type { LossRow, ReceiptRow } from './records.js';
import type { SpanRow } from './rows.js';
import { compareBig, comparePlaces, compareText } from './rows.js';
import { SpanIndex } from './span-index.js';
import { EvidenceStore } from './store.js';
import type { Group, OtherRecords } from './store.js';

export interface EvidenceOptions {
  /** Nothing later is known; undefined: everything that was read. */
  readonly asOfUnixNano: bigint | undefined;
  readonly graceNano: bigint;
  readonly requireSigned: boolean;
  /** A receipts input was given, or receipts are declared for every tool that may have an effect. */
  readonly receiptsDeclared: boolean;
  /** Receipts are declared for this tool by configuration. */
  readonly receiptRequired: (service: string, tool: string) => boolean;
  readonly records: OtherRecords;
  readonly loss: readonly LossRow[];
  /** A receipts input was damaged. */
  readonly receiptsIncomplete: boolean;
  /** Tools that are known from elsewhere to use `effect()`, with the first time that it was seen. */
  readonly effectTools?: ReadonlyMap<string, bigint>;
}

/** One operation with everything a report or a rule asks of it. */
export interface JudgedOperation {
  readonly group: OperationGroup;
  readonly judgement: Judgement;
  readonly operation: Operation;
}

export interface Verdicts {
  readonly asOfUnixNano: bigint;
  /** Groups of related records; an operation is in exactly one. */
  readonly groups: number;
  /** Judges one group; the same group gives equal operations every time. */
  judge(group: number): readonly JudgedOperation[];
  /** Losses and truncations of the whole input. */
  readonly gaps: readonly Gap[];
  readonly hasClient: boolean;
  readonly hasServer: boolean;
  /** Tool calls of frameworks were found, and no span of an MCP boundary. */
  readonly withoutBoundary: boolean;
}

export interface Evidence extends Sink {
  /** MCP spans and tool calls delivered so far, by source, copies included. */
  mcpSpans(source: string): number;
  /** Takes a row that was made before, as the live auditor keeps them; before the first receipt. */
  row(row: SpanRow): void;
  /** Takes a receipt; after the last span and log. */
  receipt(row: ReceiptRow): void;
  /** Ends the reading. May be called once. */
  finish(options: EvidenceOptions): Verdicts;
}

export function createEvidence(): Evidence {
  const store = new EvidenceStore();
  const counts = new Map<string, number>();
  const spans = new SpanIndex();
  const gaps: Gap[] = [];
  const damages: Damage[] = [];
  const seen = new Seen();

  return {
    span(span: Span): void {
      spans.add(span.spanId, span.at.source, span.endTimeUnixNano);
      const row = rowOfSpan(span);
      if (row !== undefined || isMcpSpan(span)) {
        counts.set(span.at.source, (counts.get(span.at.source) ?? 0) + 1);
      }
      if (row === undefined) return;
      seen.row(row);
      store.addRow(row);
    },
    log(record: LogRecord): void {
      const row = rowOfLog(record);
      if (row === undefined) return;
      seen.row(row);
      store.addRow(row);
    },
    damage(damage: Damage): void {
      damages.push(damage);
    },
    gap(gap: InputGap): void {
      gaps.push(gap);
    },
    row(row: SpanRow): void {
      seen.row(row);
      store.addRow(row);
    },
    receipt(row: ReceiptRow): void {
      seen.receipt(row);
      store.addReceipt(row);
    },
    mcpSpans: (source: string): number => counts.get(source) ?? 0,
    finish(options: EvidenceOptions): Verdicts {
      store.finish(options.records);
      const inputGaps = [...gaps, ...damages.map(gapOfDamage), ...options.loss.map(gapOfLoss)].sort((a, b) =>
        comparePlaces(a.at, b.at),
      );
      const asOfUnixNano = options.asOfUnixNano ?? seen.latest(options.records);
      const isCut = options.asOfUnixNano !== undefined;
      const { roles } = seen;
      return {
        asOfUnixNano,
        groups: store.groups,
        judge: (index) =>
          judgeGroup(store.group(index), { spans, seen, asOfUnixNano, isCut, gaps: inputGaps, options }),
        gaps: inputGaps,
        hasClient: roles.has('client') || roles.has('tool'),
        hasServer: roles.has('server'),
        withoutBoundary: roles.size === 1 && roles.has('tool'),
      };
    },
  };
}

/** What must be known of all rows before the first operation is judged. */
class Seen {
  readonly roles = new Set<SpanRow['role']>();
  /** Tools (service and name) that use `effect()`, with the first time that it was seen. */
  readonly effectTools = new Map<string, bigint>();
  #latest = 0n;

  row(row: SpanRow): void {
    this.roles.add(row.role);
    if (row.startTimeUnixNano > this.#latest) this.#latest = row.startTimeUnixNano;
    if (row.endTimeUnixNano > this.#latest) this.#latest = row.endTimeUnixNano;
    for (const stage of row.stages) {
      if (stage.timeUnixNano > this.#latest) this.#latest = stage.timeUnixNano;
      if (stage.name !== 'server.effect_requested' || row.tool === undefined) continue;
      const key = JSON.stringify([row.service, row.tool]);
      const first = this.effectTools.get(key);
      if (first === undefined || stage.timeUnixNano < first) this.effectTools.set(key, stage.timeUnixNano);
    }
  }

  receipt({ receipt }: ReceiptRow): void {
    if ((receipt.atUnixNano ?? 0n) > this.#latest) this.#latest = receipt.atUnixNano ?? 0n;
  }

  /** The latest time that anything states; 0n when nothing states one. */
  latest(records: OtherRecords): bigint {
    const times = [
      ...records.targets.map((row) => row.readAtUnixNano),
      ...records.outbox.map((row) => row.createdAtUnixNano),
    ];
    return times.reduce((a, b) => (a > b ? a : b), this.#latest);
  }
}

interface GroupContext {
  readonly spans: SpanIndex;
  readonly seen: Seen;
  readonly asOfUnixNano: bigint;
  /** The time was given: what lies after it is cut off. */
  readonly isCut: boolean;
  readonly gaps: readonly Gap[];
  readonly options: EvidenceOptions;
}

function judgeGroup(found: Group, context: GroupContext): readonly JudgedOperation[] {
  const { asOfUnixNano, isCut, options, spans, seen } = context;
  const all = distinctRows(found.rows);
  const cut = isCut ? cutRows(all, asOfUnixNano) : undefined;
  const rows = cut?.rows ?? all;
  const records = isCut ? cutRecords(found.records, asOfUnixNano) : found.records;
  const groups = groupOperations(joinRows(rows), records);
  const judging: JudgeContext = {
    asOfUnixNano,
    graceNano: options.graceNano,
    requireSigned: options.requireSigned,
    incomplete: options.receiptsIncomplete,
    openRows: cut?.open ?? NONE,
    lossOf: () => context.gaps,
    readBackRequired: () => false,
  };
  const facts: FactContext = {
    spans,
    rowOf: new Map(
      rows.filter((row) => row.spanId !== '').map((row) => [`${row.traceId}:${row.spanId}`, row]),
    ),
    usesEffect: (tool) => {
      const first = options.effectTools?.get(tool) ?? seen.effectTools.get(tool);
      return first !== undefined && first <= asOfUnixNano;
    },
    owes: (group, judgement) => owesReceipt(group, judgement, options),
  };
  return groups.map((group) => {
    const judgement = judge(group, judging);
    return { group, judgement, operation: makeOperation(group, judgement, facts) };
  });
}

const NONE: ReadonlySet<SpanRow> = new Set();

/** Copies of one span are one row, stage logs of one call and side are one row. */
function distinctRows(rows: readonly SpanRow[]): readonly SpanRow[] {
  const bySpan = new Map<string, SpanRow[]>();
  const logs = new Map<string, SpanRow[]>();
  const distinct: SpanRow[] = [];
  for (const row of rows) {
    // A span without ids is a fact of its own: nothing can be its copy.
    if (row.spanId === '' && !row.fromLogs) {
      distinct.push(row);
      continue;
    }
    const key = row.fromLogs
      ? JSON.stringify([row.callId ?? '', row.traceId, row.spanId, row.role])
      : `${row.traceId}:${row.spanId}:${row.role}`;
    const held = row.fromLogs ? logs : bySpan;
    const copies = held.get(key);
    if (copies === undefined) held.set(key, [row]);
    else copies.push(row);
  }
  for (const copies of bySpan.values()) distinct.push(...distinctCopies(copies));
  for (const copies of logs.values()) {
    const joined = joinLogs(copies);
    if (joined !== undefined) distinct.push(joined);
  }
  return distinct.sort(byPlaceInTime);
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

export type { LossRow, ReceiptRow } from './records.js';
export type { OtherRecords } from './store.js';
export type { Judgement } from './judge.js';
