/** What is left of a round, as the auditor reads it. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  ATTR_CALL_ID,
  ATTR_GEN_AI_TOOL_NAME,
  ATTR_OPERATION_ID,
  ATTR_STAGE_SEQ,
  stageOfEvent,
} from '@waybill/core';
import {
  audit,
  openInputs,
  readInput,
  type AuditReport,
  type Damage,
  type LogRecord,
  type Span,
} from '@waybill/audit';
import { CHANNELS, type Channel, type Receiver } from './receiver.js';
import type { Round } from './round.js';
import type { SideName } from '../plan.js';

/** A stage log or a line of a journal, read by the auditor's readers. */
export interface ReadStage {
  readonly stage: string;
  readonly seq: number;
  readonly callId: unknown;
  readonly operationId: unknown;
  readonly tool: unknown;
}

export interface Read {
  readonly stages: readonly ReadStage[];
  readonly spans: readonly Span[];
  readonly damaged: readonly Damage[];
}

export async function read(path: string | undefined): Promise<Read> {
  const stages: ReadStage[] = [];
  const spans: Span[] = [];
  const damaged: Damage[] = [];
  if (path === undefined || !existsSync(path)) return { stages, spans, damaged };
  for (const source of openInputs([path]).sources) {
    const summary = await readInput(source, {
      span: (span) => spans.push(span),
      log: (record) => {
        const stage = stageOf(record);
        if (stage !== undefined) stages.push(stage);
      },
      damage: (damage) => damaged.push(damage),
      gap: () => undefined,
    });
    damaged.push(...summary.damaged.filter((each) => !damaged.includes(each)));
  }
  return { stages, spans, damaged };
}

function stageOf({ eventName, attributes }: LogRecord): ReadStage | undefined {
  const stage = stageOfEvent(eventName);
  return stage === undefined
    ? undefined
    : {
        stage,
        seq: Number(attributes[ATTR_STAGE_SEQ]),
        callId: attributes[ATTR_CALL_ID],
        operationId: attributes[ATTR_OPERATION_ID],
        tool: attributes[ATTR_GEN_AI_TOOL_NAME],
      };
}

/** Writes what one channel of one side delivered to a file; undefined when that is nothing. */
export function savedOf(
  round: Round,
  receiver: Receiver,
  side: SideName,
  channel: Channel,
): string | undefined {
  const received = receiver.received(round.id, side, channel);
  if (received === '') return undefined;
  const path = join(round.folder, `${side}.${channel}.jsonl`);
  writeFileSync(path, received);
  return path;
}

/** How many of the stages that were reached are left, by the way that they took. */
export type Survivors = Readonly<Record<'journal' | Channel, number>>;

export async function survivorsOf(round: Round, receiver: Receiver, side: SideName): Promise<Survivors> {
  const counted: Record<string, number> = { journal: (await read(round.journal[side])).stages.length };
  for (const channel of CHANNELS) {
    const { stages, spans } = await read(savedOf(round, receiver, side, channel));
    const events = spans.flatMap((span) =>
      span.events.filter((event) => stageOfEvent(event.name) !== undefined),
    );
    counted[channel] = channel.startsWith('logs') ? stages.length : events.length;
  }
  return counted as Survivors;
}

export interface Besides {
  readonly receipts?: boolean;
  /** The target was read by somebody who has no part in the writing; `fenced`: and can take nothing any more. */
  readonly target?: 'read' | 'fenced';
}

/** Journals of both sides, with the telemetry that the batch processors delivered, or without any. */
export function tracesOf(round: Round, receiver: Receiver, telemetry: boolean): readonly string[] {
  const journals = Object.values(round.journal).filter((path) => existsSync(path));
  if (!telemetry) return journals;
  const exported = (['client', 'server'] as const).flatMap((side) =>
    (['spans_batch', 'logs_simple'] as const).map((channel) => savedOf(round, receiver, side, channel)),
  );
  return [...journals, ...exported.filter((path) => path !== undefined)];
}

export function besidesOf(
  round: Round,
  { receipts, target }: Besides,
): { receipts?: string[]; targets?: string[] } {
  const empty = join(round.folder, 'none.jsonl');
  writeFileSync(empty, '');
  const targets = join(round.folder, 'targets.jsonl');
  if (target !== undefined) {
    const applied = round.version > 1;
    writeFileSync(
      targets,
      `${JSON.stringify({
        operation_id: round.operationId,
        object: 'row-42',
        state: applied ? 'done' : 'open',
        expected: 'done',
        version: round.version,
        applied,
        fenced: target === 'fenced',
        read_at: String(BigInt(Date.now()) * 1_000_000n),
        reader: 'todo-reader',
      })}\n`,
    );
  }
  return {
    ...(receipts === true ? { receipts: [existsSync(round.receipts) ? round.receipts : empty] } : {}),
    ...(target === undefined ? {} : { targets: [targets] }),
  };
}

export async function judge(
  round: Round,
  receiver: Receiver,
  besides: Besides & { readonly telemetry?: boolean } = {},
): Promise<AuditReport> {
  return audit({
    traces: tracesOf(round, receiver, besides.telemetry ?? true),
    ...besidesOf(round, besides),
  });
}
