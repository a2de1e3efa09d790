/**
 * Evidence: takes what the readers find, keeps compact rows of tool calls, and gives operations with their verdicts,
 * one group of related records at a time. Nothing here knows a format, and nothing a rule.
 */
import type { Damage, InputGap, LogRecord, Sink, Span } from '../model.js';
import type { Gap, Operation } from '../rule.js';
import { AlikeRows } from './alike.js';
import type { PackedRow } from './arena.js';
import type { Brief } from './brief.js';
import { cutRecords, cutRows } from './as-of.js';
import { distinctCopies, joinLogs } from './copies.js';
import { makeOperation, toolKey } from './facts.js';
import type { FactContext } from './facts.js';
import { joinRows } from './joins.js';
import { judge } from './judge.js';
import type { JudgeContext, Judgement } from './judge.js';
import { groupOperations } from './operations.js';
import type { OperationGroup } from './operations.js';
import { isMcpSpan, rowOfLog, rowOfSpan } from './recognise.js';
import type { LossRow } from './loss.js';
import type { ReceiptRow } from './records.js';
import type { SpanRow } from './rows.js';
import { compareBig, comparePlaces, compareText } from './rows.js';
import type { Shape } from './shapes.js';
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
  /** Of a group that is one plain call: what stands for it. Undefined for a group that must be judged itself. */
  brief(group: number): Brief | undefined;
  /** How often a rule asked for an attribute that `brief` takes no account of. */
  asked(): number;
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
  const count = (source: string): void => {
    counts.set(source, (counts.get(source) ?? 0) + 1);
  };
  const alike = new AlikeRows({
    span(span, source, isMcp): void {
      spans.addWords(
        span.ids[4] ?? 0,
        span.ids[5] ?? 0,
        source,
        (span.times[2] ?? 0) * 1e3 + (span.times[3] ?? 0) / 1e6,
      );
      if (isMcp) count(source);
    },
    row({ shape }, row): void {
      seen.packed(shape, row);
      store.addPacked(row, shape);
    },
    shapeOf: (row) => store.shapeOf(row),
  });

  return {
    alike,
    span(span: Span): void {
      spans.add(span.spanId, span.at.source, Number(span.endTimeUnixNano) / 1e6);
      const row = rowOfSpan(span);
      alike.learn(span, row);
      if (row !== undefined || isMcpSpan(span)) count(span.at.source);
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
      let asked = 0;
      const context: GroupContext = {
        spans,
        seen,
        asOfUnixNano,
        isCut,
        gaps: inputGaps,
        options,
        asked: () => {
          asked += 1;
        },
      };
      return {
        asOfUnixNano,
        groups: store.groups,
        judge: (index) => judgeGroup(store.group(index), context),
        asked: () => asked,
        // What an earlier time or a grace period makes of a call depends on its times.
        brief: (index) => (isCut || options.graceNano > 0n ? undefined : store.brief(index, spans)),
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
  /** Tools (by service, then name) that use `effect()`, with the first time that it was seen. */
  readonly effectTools = new Map<string, Map<string, bigint>>();
  #latest = 0n;
  /** The same of rows that came packed. */
  #seconds = 0;
  #nanos = 0;

  row(row: SpanRow): void {
    this.roles.add(row.role);
    if (row.startTimeUnixNano > this.#latest) this.#latest = row.startTimeUnixNano;
    if (row.endTimeUnixNano > this.#latest) this.#latest = row.endTimeUnixNano;
    for (const stage of row.stages) {
      if (stage.timeUnixNano > this.#latest) this.#latest = stage.timeUnixNano;
      if (stage.name !== 'server.effect_requested' || row.tool === undefined) continue;
      let tools = this.effectTools.get(row.service);
      if (tools === undefined) this.effectTools.set(row.service, (tools = new Map<string, bigint>()));
      const first = tools.get(row.tool);
      if (first === undefined || stage.timeUnixNano < first) tools.set(row.tool, stage.timeUnixNano);
    }
  }

  /** A row of a likeness whose first row came by as `row`. */
  packed(shape: Shape, { times }: PackedRow): void {
    for (let at = 0; at < times.length; at += 2) {
      const [seconds, nanos] = [times[at] ?? 0, times[at + 1] ?? 0];
      if (seconds > this.#seconds || (seconds === this.#seconds && nanos > this.#nanos)) {
        this.#seconds = seconds;
        this.#nanos = nanos;
      }
    }
    const { effectRequested } = shape;
    const { service, tool } = shape.fixed;
    if (effectRequested === -1 || tool === undefined) return;
    const at = 4 + effectRequested * 2;
    const first = this.effectTools.get(service)?.get(tool);
    const [seconds, nanos] = [times[at] ?? 0, times[at + 1] ?? 0];
    // Rounded to less than a microsecond; the exact time is made only where it may be the earlier one.
    if (first !== undefined && seconds * 1e9 + nanos > Number(first) + 1_024) return;
    const time = BigInt(seconds) * 1_000_000_000n + BigInt(nanos);
    if (first !== undefined && time < first) this.effectTools.get(service)?.set(tool, time);
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
    const packed = BigInt(this.#seconds) * 1_000_000_000n + BigInt(this.#nanos);
    return [packed, ...times].reduce((a, b) => (a > b ? a : b), this.#latest);
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
  readonly asked: () => void;
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
    asked: context.asked,
    usesEffect: (service, tool) => {
      const first =
        options.effectTools?.get(toolKey(service, tool)) ?? seen.effectTools.get(service)?.get(tool);
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

export type { Brief } from './brief.js';
export type { LossRow } from './loss.js';
export type { ReceiptRow } from './records.js';
export type { OtherRecords } from './store.js';
export type { Judgement } from './judge.js';
