/**
 * The live auditor: follows the files of the receiver, groups what bears on one another, judges a group when nothing
 * more came for it during the grace period, and writes what changed to `events.jsonl` before it forgets the group.
 *
 * What a crash loses: nothing. `progress.json` names the place from which files are read again; every group that was
 * open then has its evidence behind that place, every closed one is in `closed.bin`, and events after the place noted
 * there are read back, so that none is written twice.
 */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { AppendLog } from '../append-log.js';
import { GEN_AI_OPERATION_EXECUTE_TOOL } from '@waybill/core';
import { rowOfLog, rowOfSpan } from '../../evidence/recognise.js';
import { readOutbox, readReceipts, readTargets } from '../../evidence/records.js';
import type { SpanRow } from '../../evidence/rows.js';
import { placeName } from '../../places.js';
import { readInput } from '../../readers/index.js';
import type { EvidenceRef } from '../../rule.js';
import type { Damage, SpanPeek } from '../../model.js';
import { eventOf, eventOfFinding, parseEvent, type StateEvent } from './events.js';
import { FrameLog } from './frame-log.js';
import type { Item } from './items.js';
import { judgeGroups, onceKeyOf, type JudgeOptions } from './judge-groups.js';
import { KeyIndex } from './key-index.js';
import { LossWatch } from './loss-watch.js';
import { OpenGroups, type ClosedGroup, type OpenGroup, type OperationState } from './open-groups.js';
import { readMembers, writeDurably } from './progress.js';
import { countsOf, membersOf, sourcesOf, textsOf, type Source } from './sources.js';
import { EventTally, type TallyCounts } from './tally.js';
import { START, Tail, type Piece, type Place } from './tail.js';

export interface AuditorOptions extends Omit<JudgeOptions, 'receiptsDeclared' | 'targetsGiven'> {
  /** Folder of the receiver's files; the auditor's own are in its `.live`. */
  readonly directory: string;
  /** JSON Lines that grow. That any are given declares receipts for every tool that may have an effect. */
  readonly receipts?: readonly string[];
  readonly targets?: readonly string[];
  /** Rows that wait in outboxes, JSON Lines that grow. */
  readonly outbox?: readonly string[];
  /** Files or metrics pages of Collectors that tell of losses, looked at every five seconds. */
  readonly loss?: readonly string[];
  /** Records of open groups in memory; beyond it the longest untouched are judged early. Default 500,000. */
  readonly maxOpenRecords?: number;
  /** Milliseconds since the epoch. Default the clock of the machine. */
  readonly now?: () => number;
  /** Bytes of a file of the receiver that are acknowledged; undefined: all. */
  readonly committed?: (file: string) => number | undefined;
  /** Told of every change, after it is on disk. Must not throw. */
  readonly onChange?: (event: StateEvent) => void;
  /** Told of what could not be read. Must not throw. */
  readonly onProblem?: (text: string) => void;
}

export interface AuditorStats {
  readonly openGroups: number;
  readonly openItems: number;
  /** Bytes of evidence that are on disk and not yet read. */
  readonly lagBytes: number;
  readonly damaged: number;
  /** Groups judged before their grace was over, since too many were open. */
  readonly early: number;
  /** Groups closed since the start of the process. */
  readonly closed: number;
  /** Milliseconds since the epoch; 0 before the first. */
  readonly lastRun: number;
  readonly counts: TallyCounts;
}

/** A group that never comes to rest is judged, and stays open, after this many grace periods. */
const RESTLESS = 10;
/** Operations judged at one time: what is in memory twice. */
const BATCH = 256;
/** A bound of memory for senders that are faster than the grace period is short. */
const MAX_OPEN_RECORDS = 500_000;
const CHECKPOINT_MS = 5_000;
const MAX_TOOLS = 10_000;
/** Scope of the spans that are made from verdicts; one that comes back is not evidence. */
export const VERDICT_SCOPE = '@waybill/audit';

export class LiveAuditor {
  readonly #options: AuditorOptions;
  readonly #judging: JudgeOptions;
  readonly #now: () => number;
  readonly #folder: string;
  readonly #sources: readonly Source[];
  readonly #closed: FrameLog;
  readonly #index: KeyIndex;
  readonly #groups: OpenGroups;
  readonly #events: AppendLog;
  readonly #roles: Set<string>;
  readonly #effectTools: Map<string, bigint>;
  /** Findings about no one operation that were said. */
  readonly #said: Set<string>;
  /** States that no closed group on disk has yet. */
  readonly #unsettled = new Map<string, OperationState>();
  readonly #tally: EventTally;
  readonly #loss: LossWatch;
  #eventBytes: number;
  #damaged = 0;
  #early = 0;
  #closedCount = 0;
  #lastRun = 0;
  #lastCheckpoint = 0;
  #warnedOfLoop = false;

  constructor(options: AuditorOptions) {
    this.#options = options;
    this.#judging = {
      ...options,
      receiptsDeclared: (options.receipts ?? []).length > 0,
      targetsGiven: (options.targets ?? []).length > 0,
    };
    this.#now = options.now ?? Date.now;
    this.#folder = path.join(options.directory, '.live');
    mkdirSync(this.#folder, { recursive: true });
    const progress = readMembers(path.join(this.#folder, 'progress.json')) ?? {};
    this.#sources = sourcesOf(options, membersOf(progress['places']));
    this.#closed = new FrameLog(path.join(this.#folder, 'closed.bin'));
    this.#index = new KeyIndex(path.join(this.#folder, 'closed.index'));
    this.#groups = new OpenGroups({ find: (key) => this.#find(key) });
    this.#events = new AppendLog(path.join(this.#folder, 'events.jsonl'));
    this.#roles = new Set(textsOf(progress['roles']));
    this.#effectTools = new Map(
      Object.entries(membersOf(progress['effectTools'])).map(([tool, time]) => [tool, BigInt(String(time))]),
    );
    this.#said = new Set(textsOf(progress['said']));
    this.#tally = new EventTally(countsOf(progress['counts']));
    this.#eventBytes = typeof progress['eventBytes'] === 'number' ? progress['eventBytes'] : 0;
    for (const [key, state] of Object.entries(membersOf(progress['states']))) {
      this.#unsettled.set(key, state as OperationState);
    }
    this.#loss = new LossWatch(options.loss ?? [], (text) => this.#problem(text));
    this.#recover();
  }

  /** File of events, one a line; see `StateEvent`. */
  get eventFile(): string {
    return this.#events.file;
  }

  stats(): AuditorStats {
    return {
      openGroups: this.#groups.size,
      openItems: this.#groups.items,
      lagBytes: this.#sources.reduce((sum, { tail }) => sum + tail.behind, 0),
      damaged: this.#damaged,
      early: this.#early,
      closed: this.#closedCount,
      lastRun: this.#lastRun,
      counts: this.#tally.counts(),
    };
  }

  /**
   * Reads what is new, judges what had its grace, and notes the progress. Steps must not overlap.
   * @returns whether there is more to read at once
   * @throws Error when the disk does not take it; nothing is lost, and the next step tries again
   */
  async step(): Promise<boolean> {
    let more = false;
    for (const source of this.#sources) more = (await this.#follow(source)) || more;
    const now = this.#now();
    await this.#loss.refresh(now);
    more = (await this.#judgeDue(now)) || more;
    this.#lastRun = now;
    if (now - this.#lastCheckpoint >= CHECKPOINT_MS) await this.checkpoint();
    return more;
  }

  /** Notes how far everything is. Called before the process ends, and now and then. */
  async checkpoint(): Promise<void> {
    this.#index.sync();
    const places = new Map(this.#sources.map(({ id, tail }) => [id, tail.next]));
    for (const group of this.#groups) {
      for (const [id, from] of group.from) {
        const held = places.get(id);
        if (held !== undefined && from.offset < held.offset) places.set(id, { ...held, ...from });
      }
    }
    await writeDurably(path.join(this.#folder, 'progress.json'), {
      version: 1,
      places: Object.fromEntries(places),
      eventBytes: this.#eventBytes,
      roles: [...this.#roles],
      effectTools: Object.fromEntries([...this.#effectTools].map(([tool, time]) => [tool, String(time)])),
      said: [...this.#said],
      states: Object.fromEntries(this.#unsettled),
      counts: this.#tally.counts(),
    });
    this.#lastCheckpoint = this.#now();
  }

  async close(): Promise<void> {
    await this.checkpoint();
    await this.#events.close();
    this.#closed.close();
    this.#index.close();
  }

  /** Events behind the noted place: said already, and counted again from here. */
  #recover(): void {
    const tail = new Tail(this.#events.file, { ...START, offset: this.#eventBytes });
    for (let piece = tail.read(); piece !== undefined; piece = tail.read()) {
      for (const line of piece.bytes.toString('utf8').split('\n')) {
        const event = line === '' ? undefined : parseEvent(line);
        if (event === undefined) continue;
        this.#tally.add(event);
        if (event.operation === null) this.#said.add(event.state.digest);
        else this.#unsettled.set(event.operation.key, event.state);
      }
    }
    this.#eventBytes = tail.next.offset;
  }

  async #follow(source: Source): Promise<boolean> {
    const limit = source.own === undefined ? undefined : this.#options.committed?.(source.own);
    const before = source.tail.next;
    let piece: Piece | undefined;
    try {
      piece = source.tail.read(limit);
    } catch (error) {
      this.#problem(`${source.tail.path} cannot be read: ${String(error)}`);
      return false;
    }
    if (piece === undefined) return false;
    const { bytes, from } = piece;
    if (before.file !== '' && from.file !== before.file)
      this.#problem(`${source.tail.path} is a new file; read from its start`);
    try {
      await this.#ingest(source, bytes, from);
    } catch (error) {
      // A fault of the auditor itself: the same bytes would break it again, and the files keep them.
      this.#damaged += 1;
      this.#problem(`${source.tail.path}, from line ${from.line}: not judged (${String(error)})`);
    }
    return source.tail.behind > 0;
  }

  async #ingest(source: Source, bytes: Buffer, from: Place): Promise<void> {
    const now = this.#now();
    const add = (item: Item): void => {
      this.#groups.add(item, source.id, from, now);
    };
    switch (source.kind) {
      case 'traces':
        await readInput(
          { kind: 'bytes', id: source.id, path: source.tail.path, bytes },
          {
            wants: isOfInterest,
            span: (span) => {
              if (span.scope.name === VERDICT_SCOPE) this.#sayLoop();
              else this.#take(rowOfSpan(span), from, add);
            },
            log: (record) => this.#take(rowOfLog(record), from, add),
            damage: (damage) => this.#damage(damage, source, from),
            gap: () => undefined,
          },
        );
        return;
      case 'receipts': {
        const text = { path: source.tail.path, text: bytes.toString('utf8') };
        const read = readReceipts(text, source.id, this.#options.keys, (row) => {
          add({ kind: 'receipt', row: { ...row, at: movedAt(row.at, from) } });
        });
        for (const row of read.broken) add({ kind: 'broken', row: { ...row, at: movedAt(row.at, from) } });
        for (const damage of read.damaged) this.#damage(damage, source, from);
        return;
      }
      case 'targets': {
        const read = readTargets({ path: source.tail.path, text: bytes.toString('utf8') }, source.id);
        for (const row of read.rows) add({ kind: 'target', row: { ...row, at: movedAt(row.at, from) } });
        for (const damage of read.damaged) this.#damage(damage, source, from);
        return;
      }
      case 'outbox': {
        const read = readOutbox({ path: source.tail.path, text: bytes.toString('utf8') }, source.id);
        for (const row of read.rows) add({ kind: 'outbox', row: { ...row, at: movedAt(row.at, from) } });
        for (const damage of read.damaged) this.#damage(damage, source, from);
        return;
      }
    }
  }

  #take(row: SpanRow | undefined, from: Place, add: (item: Item) => void): void {
    if (row === undefined) return;
    this.#roles.add(row.role);
    for (const stage of row.stages) {
      if (stage.name !== 'server.effect_requested' || row.tool === undefined) continue;
      const tool = JSON.stringify([row.service, row.tool]);
      const first = this.#effectTools.get(tool);
      if (first === undefined ? this.#effectTools.size < MAX_TOOLS : stage.timeUnixNano < first) {
        this.#effectTools.set(tool, stage.timeUnixNano);
      }
    }
    const stages = row.stages.map((stage) => ({ ...stage, at: movedAt(stage.at, from) }));
    add({ kind: 'row', row: { ...row, at: movedAt(row.at, from), stages } });
  }

  #damage({ at, reason }: Damage, source: Source, from: Place): void {
    this.#damaged += 1;
    this.#problem(`${placeName({ ...movedAt(at, from), source: source.tail.path })}: ${reason}`);
  }

  /** One batch, so that a step is short; gives whether more are due. */
  async #judgeDue(now: number): Promise<boolean> {
    const { graceMs, maxOpenRecords = MAX_OPEN_RECORDS } = this.#options;
    // More than memory is meant to hold: the longest untouched are judged early, and come back with what is late.
    const isTooMuch = this.#groups.items > maxOpenRecords;
    const due: OpenGroup[] = [];
    for (const group of this.#groups) {
      const isQuiet = now - group.touched >= graceMs;
      if (isTooMuch || isQuiet || now - group.opened >= graceMs * RESTLESS) due.push(group);
      if (due.length > BATCH) break;
    }
    const batch = due.slice(0, BATCH);
    if (isTooMuch) this.#early += batch.filter((group) => now - group.touched < graceMs).length;
    if (batch.length > 0) await this.#judge(batch, now, isTooMuch);
    return due.length > BATCH;
  }

  async #judge(groups: readonly OpenGroup[], now: number, closeAll: boolean): Promise<void> {
    // A group that came back from disk with nothing new is on disk as it is.
    const changed = groups.filter((group) => group.from.size > 0);
    const { operations, others } = judgeGroups(
      changed.map((group) => group.items),
      now,
      { roles: this.#roles, effectTools: this.#effectTools, loss: this.#loss.rows },
      this.#judging,
    );
    const stateOf = new Map<string, OperationState>(changed.flatMap((group) => [...group.states]));
    const events: StateEvent[] = [];
    const states = new Map<string, OperationState>();
    for (const { judged, findings } of operations) {
      const { key } = judged.group;
      const before = latest(stateOf.get(key), this.#unsettled.get(key));
      const event = eventOf(judged, findings, before, now);
      if (event !== undefined) events.push(event);
      const after = event?.state ?? before;
      if (after !== undefined) states.set(key, after);
    }
    for (const finding of others) {
      const once = onceKeyOf(finding) ?? finding.fingerprint;
      if (this.#said.has(once)) continue;
      this.#said.add(once);
      events.push(eventOfFinding(finding, once, now));
    }
    try {
      await this.#write(events);
    } catch (error) {
      for (const { operation, state } of events) if (operation === null) this.#said.delete(state.digest);
      throw error;
    }
    const owners = ownersOf(changed);
    for (const group of changed) group.states = new Map();
    for (const { judged } of operations) {
      const { key } = judged.group;
      const state = states.get(key);
      const row = judged.group.calls[0]?.client[0] ?? judged.group.calls[0]?.server[0];
      const record =
        judged.group.receipts[0] ??
        judged.group.targets[0] ??
        judged.group.outbox[0] ??
        judged.group.broken[0] ??
        judged.group.misbound[0];
      const owner = owners(row?.at ?? record?.at);
      if (state === undefined) continue;
      // A row that was put together from several has a place of its own; said to all, it is said to the right one.
      for (const group of owner === undefined ? changed : [owner]) group.states.set(key, state);
    }
    const resting = changed.filter((group) => closeAll || now - group.touched >= this.#options.graceMs);
    const atRest = new Set(resting);
    await this.#closeGroups(resting);
    for (const group of groups) {
      if (group.from.size === 0) for (const key of group.states.keys()) this.#unsettled.delete(key);
      if (group.from.size === 0 || atRest.has(group)) this.#groups.remove(group);
      else group.opened = now;
    }
  }

  async #write(events: readonly StateEvent[]): Promise<void> {
    if (events.length === 0) return;
    const lines = Buffer.from(events.map((event) => JSON.stringify(event)).join('\n'));
    await this.#events.append(lines);
    this.#eventBytes = this.#events.committed ?? this.#eventBytes + lines.length + 1;
    for (const event of events) {
      this.#tally.add(event);
      if (event.operation !== null) this.#unsettled.set(event.operation.key, event.state);
      this.#options.onChange?.(event);
    }
  }

  /** On disk first, then found by its keys, then forgotten. */
  async #closeGroups(groups: readonly OpenGroup[]): Promise<void> {
    if (groups.length === 0) return;
    const frames: ClosedGroup[] = groups.map(({ items, keys, waits, states }) => ({
      items,
      keys: [...keys, ...serverWaits(items, waits)],
      states,
    }));
    const offsets = await this.#closed.append(frames);
    for (const [place, frame] of frames.entries()) {
      const offset = offsets[place];
      if (offset !== undefined) for (const key of frame.keys) this.#index.set(key, offset);
    }
    for (const { states } of frames) for (const key of states.keys()) this.#unsettled.delete(key);
    this.#closedCount += groups.length;
  }

  #find(key: number): ClosedGroup | undefined {
    const offset = this.#index.get(key);
    // Only `#closeGroups` writes frames.
    return offset === undefined ? undefined : (this.#closed.read(offset) as ClosedGroup | undefined);
  }

  #sayLoop(): void {
    if (this.#warnedOfLoop) return;
    this.#warnedOfLoop = true;
    this.#problem(
      'spans made from verdicts come back as evidence and are passed over: send them to another pipeline of the Collector',
    );
  }

  #problem(text: string): void {
    this.#options.onProblem?.(text);
  }
}

/** A place in a piece as a place in its file. */
function movedAt<T extends { readonly line?: number; readonly offset?: number }>(at: T, from: Place): T {
  if (at.line !== undefined) return from.line === 1 ? at : { ...at, line: at.line + from.line - 1 };
  return at.offset === undefined ? at : { ...at, offset: at.offset + from.offset };
}

/** Names under which any emitter speaks of a tool call; a span without any of them is passed over undecoded. */
const SPEAKS = /^(?:waybill|mcp|gen_ai|jsonrpc|rpc|traceloop)[._]|(?:^|[._])(?:run|call|operation)_id$/;

function isOfInterest(span: SpanPeek): boolean {
  return (
    span.scopeName === VERDICT_SCOPE ||
    span.name.startsWith(GEN_AI_OPERATION_EXECUTE_TOOL) ||
    span.hasKey((key) => SPEAKS.test(key))
  );
}

function latest(a: OperationState | undefined, b: OperationState | undefined): OperationState | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a.revision >= b.revision ? a : b;
}

/** Which group a place of the evidence belongs to. */
function ownersOf(groups: readonly OpenGroup[]): (at: EvidenceRef | undefined) => OpenGroup | undefined {
  const nameOf = (at: EvidenceRef): string => `${placeName(at)} ${at.spanId ?? ''}`;
  const owners = new Map<string, OpenGroup>();
  for (const group of groups) for (const item of group.items) owners.set(nameOf(item.row.at), group);
  return (at) => (at === undefined ? undefined : owners.get(nameOf(at)));
}

/** A server span waits for the one client span above it; what a client span waits for, others wait for too. */
function serverWaits(items: readonly Item[], waits: ReadonlySet<number>): readonly number[] {
  const hasServer = items.some((item) => item.kind === 'row' && item.row.role === 'server');
  const hasClient = items.some((item) => item.kind === 'row' && item.row.role !== 'server');
  return hasServer && !hasClient ? [...waits] : [];
}
