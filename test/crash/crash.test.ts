/**
 * SIGKILL of a real client and of a real server right after the journal has taken the line of each stage. Rounds run
 * side by side in `beforeAll`; the tests read what is left of them.
 *
 *   WAYBILL_CRASH_ROUNDS=1 WAYBILL_CRASH_ONLY='SDK v2, http' npm run test:crash
 *   WAYBILL_UPDATE_DOCS=1 npm run test:crash      writes the table of docs/crash.md
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { STAGES } from '@waybill/core';
import { audit } from '@waybill/audit';
import { createEffects, fileReceipts, sqliteDatabase } from '@waybill/receipts';
import Database from 'libsql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../cli/cli.js';
import { NOT_PLAYED, POINTS, titleOf, type Point, type SideName } from './plan.js';
import { besidesOf, judge, read, survivorsOf, tracesOf, type Besides } from './support/evidence.js';
import { expectedVerdict, truthOf } from './support/expected.js';
import { startReceiver, type Receiver } from './support/receiver.js';
import { playRound, type Round } from './support/round.js';
import { checkTable, tableOf, updateTable, type Measured } from './support/table.js';

const ROUNDS = Number(process.env['WAYBILL_CRASH_ROUNDS'] ?? 3);
const ONLY = process.env['WAYBILL_CRASH_ONLY'] ?? '';
const CONCURRENCY = 4;
/** A call that gave up on a machine that was too busy for it never came to its stage: it is made again, and counted. */
const ATTEMPTS = 3;
let plays = 0;

const points = POINTS.filter((point) => titleOf(point).includes(ONLY));
/** Half a line: one stage of each side is enough, in each kind of process. */
const tornPoints = points.filter(
  ({ stage }) => stage === 'server.effect_confirmed' || stage === 'client.result_received',
);

let root: string;
let receiver: Receiver;
const rounds = new Map<Point, readonly Round[]>();
const torn = new Map<Point, Round>();
const errors: string[] = [];

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'waybill-crash-'));
  receiver = await startReceiver();
  const jobs = points.flatMap((point) => [
    ...Array.from({ length: ROUNDS }, () => ({ point, isTorn: false })),
    ...(tornPoints.includes(point) ? [{ point, isTorn: true }] : []),
  ]);
  let next = 0;
  const work = async (): Promise<void> => {
    for (let number = next++; number < jobs.length; number = next++) {
      const job = jobs[number];
      if (job === undefined) return;
      const { point, isTorn } = job;
      for (let attempt = 1; ; attempt++) {
        const id = `r${number}-${attempt}`;
        try {
          const round = await playRound(point, { id, folder: join(root, id), receiver, torn: isTorn });
          if (round.diedBy !== 'SIGKILL' && attempt < ATTEMPTS) continue;
          if (isTorn) torn.set(point, round);
          else rounds.set(point, [...(rounds.get(point) ?? []), round]);
          break;
        } catch (error) {
          if (attempt < ATTEMPTS) continue;
          errors.push(`${titleOf(point)}: ${String(error)}`);
          break;
        } finally {
          plays += 1;
        }
      }
    }
  };
  const begun = performance.now();
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  console.log(
    `${jobs.length} rounds in ${plays} plays, ${((performance.now() - begun) / 1000).toFixed(0)} s`,
  );
}, 1_800_000);

afterAll(async () => {
  await receiver.close();
  rmSync(root, { recursive: true, force: true });
});

const sides: readonly SideName[] = ['client', 'server'];
const dense = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1);

/** Findings that would blame a process for what a crash took from it, or claim what nobody proved. */
const SLANDER: ReadonlySet<string> = new Set([
  'missing-stage',
  'sequence-gap',
  'false-success',
  'duplicate-effect',
  'crosswired-reply',
  'input-damaged',
  'rule-crashed',
]);

const evidences: readonly (readonly [string, Besides & { readonly telemetry: boolean }])[] = [
  ['the journals alone', { telemetry: false }],
  ['journals and what the survivor exported', { telemetry: true }],
  ['and receipts', { telemetry: true, receipts: true }],
  ['and receipts and a read of the target', { telemetry: true, receipts: true, target: 'read' }],
  ['and receipts and a read of a fenced target', { telemetry: true, receipts: true, target: 'fenced' }],
  ['journals, receipts and a read of the target', { telemetry: false, receipts: true, target: 'read' }],
];

describe.each(points.map((point) => [titleOf(point), point] as const))('%s', (_title, point) => {
  const played = (): readonly Round[] => rounds.get(point) ?? [];

  it(`dies by SIGKILL there, ${ROUNDS} times of ${ROUNDS}`, () => {
    expect(errors.filter((error) => error.startsWith(titleOf(point)))).toEqual([]);
    expect(played().map((round) => [round.diedBy, round.truth[point.side].at(-1)])).toEqual(
      Array.from({ length: ROUNDS }, () => ['SIGKILL', point.stage]),
    );
  });

  it('leaves every stage whose write had returned in the journal, in order, numbered without a hole', async () => {
    for (const round of played()) {
      for (const side of sides) {
        const { stages, damaged } = await read(round.journal[side]);
        expect(stages.map(({ stage }) => stage)).toEqual(round.truth[side]);
        expect(stages.map(({ seq }) => seq)).toEqual(dense(stages.length));
        expect(damaged).toEqual([]);
        expect(new Set(stages.map(({ callId }) => callId)).size).toBe(stages.length === 0 ? 0 : 1);
        for (const { operationId, tool } of stages) {
          expect({ operationId, tool }).toEqual({
            operationId: round.operationId,
            tool: point.scenario.call.tool,
          });
        }
      }
    }
  });

  it('leaves the other process with logs and spans that tell the stages of its journal', async () => {
    const side = point.side === 'client' ? 'server' : 'client';
    for (const round of played()) {
      const left = await survivorsOf(round, receiver, side);
      const stages = round.truth[side].length;
      expect(left).toMatchObject({ journal: stages, logs_simple: stages, logs_batch: stages });
      // A server that is ended in the middle of a call ends no span.
      expect(left.spans_simple).toBe(left.spans_batch);
      if (side === 'client') expect(left.spans_batch).toBe(stages);
    }
  });

  it.each(evidences)('is judged by what it proves: %s', async (_name, besides) => {
    for (const round of played()) {
      const report = await judge(round, receiver, besides);
      expect(report.operations).toHaveLength(1);
      const operation = report.operations.at(0);
      const truth = truthOf(round);
      expect({ ...truth, verdict: operation?.verdict, tool: operation?.tool }).toEqual({
        ...truth,
        verdict: expectedVerdict(truth, besides),
        tool: point.scenario.call.tool,
      });
      expect(report.findings.filter(({ rule, level }) => SLANDER.has(rule) || level === 'error')).toEqual([]);
      const replyLost = truth.receipt && round.told !== 'success' && point.side === 'server';
      if (besides.receipts === true && replyLost) expect(operation?.flags).toContain('reply_lost');
    }
  });
});

describe.each(tornPoints.map((point) => [titleOf(point), point] as const))(
  '%s, in half a line',
  (_title, point) => {
    it('loses that line alone, and says where', async () => {
      const round = torn.get(point);
      expect(round?.diedBy).toBe('SIGKILL');
      if (round === undefined) return;
      const { stages, damaged } = await read(round.journal[point.side]);
      expect(stages.map(({ stage }) => stage)).toEqual(round.truth[point.side]);
      expect(stages.map(({ seq }) => seq)).toEqual(dense(stages.length));
      expect(damaged.map(({ at }) => at.line)).toEqual([stages.length + 1]);
      expect(damaged[0]?.remedy).not.toBe('');
      const report = await judge(round, receiver, { receipts: true });
      expect(report.findings.filter(({ rule }) => rule === 'input-damaged')).toHaveLength(1);
      const truth = truthOf(round);
      expect(report.operations.at(0)?.verdict).toBe(
        expectedVerdict(truth, { telemetry: true, receipts: true }),
      );
    });
  },
);

describe('after a crash', () => {
  const between = points.filter(({ stage }) => stage === 'server.effect_confirmed');
  it.each(between.map((point) => [titleOf(point), point] as const))(
    '%s: the receipt that the restarted service writes makes the operation verified_done, without a repeat',
    async (_title, point) => {
      for (const round of rounds.get(point) ?? []) {
        const sink = fileReceipts(round.receipts);
        const effects = createEffects({ source: 'todo', scope: 'single-tenant', sink });
        const database = sqliteDatabase(() => new Database(join(round.folder, 'todo.db')));
        expect(await effects.writeOwedReceipts(database)).toBe(1);
        await sink.close();
        const report = await audit({ traces: tracesOf(round, receiver, true), receipts: [round.receipts] });
        expect(report.operations.map(({ verdict }) => verdict)).toEqual(['verified_done']);
      }
    },
  );

  const shown = points.filter(
    ({ scenario, sdk, transport }) => scenario.name === 'a write' && sdk === 'v2' && transport === 'stdio',
  );
  it.each(shown.map((point) => [titleOf(point), point] as const))(
    '%s: waybill audit says the same on the command line',
    async (_title, point) => {
      const [round] = rounds.get(point) ?? [];
      if (round === undefined) throw new Error('no round was played');
      const besides = { receipts: true, telemetry: true, target: 'read' } as const;
      const report = await judge(round, receiver, besides);
      const { receipts = [], targets = [] } = besidesOf(round, besides);
      const { stdout, code } = await run([
        'audit',
        ...tracesOf(round, receiver, true),
        ...receipts.flatMap((path) => ['--receipts', path]),
        ...targets.flatMap((path) => ['--targets', path]),
        '--format',
        'json',
      ]);
      const said = JSON.parse(stdout) as { operations: { verdict: string; tool: string }[] };
      expect(said.operations.map(({ verdict, tool }) => ({ verdict, tool }))).toEqual(
        report.operations.map(({ verdict, tool }) => ({ verdict, tool })),
      );
      expect([0, 1]).toContain(code);
    },
  );
});

describe('the plan', () => {
  it('kills at every stage of the vocabulary, or says why not', () => {
    const killed = new Set(POINTS.map(({ stage }) => stage));
    const left = STAGES.map(({ name }) => name).filter((name) => !killed.has(name as Point['stage']));
    expect(left).toEqual(Object.keys(NOT_PLAYED));
  });
});

describe('docs/crash.md', () => {
  it('says what is left of a process that is killed, as measured', async () => {
    const measured: Measured[] = [];
    for (const [point, played] of rounds) {
      for (const round of played) {
        const left = await survivorsOf(round, receiver, point.side);
        measured.push({ point, reached: round.truth[point.side].length, left });
      }
    }
    const table = tableOf(measured);
    console.log(table);
    if (process.env['WAYBILL_UPDATE_DOCS'] === '1' && ONLY === '') updateTable(table);
    if (ONLY === '') checkTable(measured);
    for (const { left, reached } of measured) expect(left.journal).toBe(reached);
  });
});
