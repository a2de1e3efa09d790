/**
 * `waybill serve` killed two hundred times under load: nothing that it acknowledged is lost, and no operation is judged
 * twice. The number of rounds and the seed can be given: WAYBILL_KILLS=20 WAYBILL_SEED=7.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { audit } from '@waybill/audit';
import { afterAll, expect, it } from 'vitest';
import { start } from '../../cli/cli.js';
import { exportOf } from '../../cli/evidence.js';
import { protobufOf } from '../../serve/protobuf.js';
import { recordsOf, startSink, until } from '../../serve/live-support.js';

const ROUNDS = Number(process.env['WAYBILL_KILLS'] ?? 200);
const SEED = Number(process.env['WAYBILL_SEED'] ?? Date.now() % 1_000_000);
const SENDERS = 4;

const directory = mkdtempSync(path.join(tmpdir(), 'waybill-kill-'));
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** A generator of small random numbers (mulberry32). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

async function serve(emit: string) {
  const args = ['serve', '--port', '0', '--dir', directory, '--grace', '100', '--emit', emit];
  const child = start(args);
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  const line = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).once('line', resolve);
    child.once('close', () => reject(new Error(`serve ended before it listened: ${errors}`)));
  });
  return { child, ended, url: /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0] ?? '' };
}

/** Every second request is protobuf, which has a file and a form of its own. */
async function acknowledged(url: string, operation: string, number: number): Promise<boolean> {
  const call = `c-${number}`;
  const body = number % 2 === 0 ? protobufOf({ operation, call }) : exportOf({ operation, call });
  try {
    const headers = { 'content-type': number % 2 === 0 ? 'application/x-protobuf' : 'application/json' };
    const response = await fetch(`${url}/v1/traces`, { method: 'POST', body, headers });
    return response.status === 200;
  } catch {
    return false;
  }
}

it(`killed ${ROUNDS} times, it has every acknowledged span and says of no operation the same thing twice`, async () => {
  process.stdout.write(`seed ${SEED}\n`);
  const next = random(SEED);
  const sink = await startSink();
  const taken = new Set<string>();
  let number = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const { child, ended, url } = await serve(sink.url);
    let first = (): void => undefined;
    const acknowledgement = new Promise<void>((resolve) => {
      first = resolve;
    });
    const send = async (): Promise<void> => {
      while (child.exitCode === null && child.signalCode === null) {
        number += 1;
        const operation = `op-${number}`;
        if (!(await acknowledged(url, operation, number))) continue;
        taken.add(operation);
        first();
      }
    };
    const senders = Array.from({ length: SENDERS }, send);
    // Most kills fall into the work, whatever the load of the machine; every fifth may fall into the start.
    if (next() > 0.2) await Promise.race([acknowledgement, delay(10_000)]);
    await delay(next() * 250);
    child.kill('SIGKILL');
    await Promise.all([...senders, ended]);
  }
  expect(taken.size).toBeGreaterThan(ROUNDS);

  const last = await serve(sink.url);
  const keys = (): Set<string> =>
    new Set(
      recordsOf(sink)
        .filter(({ name }) => name === 'waybill.verdict')
        .map(({ attributes }) => attributes['waybill.operation.key'] ?? ''),
    );
  await until(() => {
    const sent = keys();
    return [...taken].every((operation) => sent.has(operation));
  }, 120_000);
  last.child.kill('SIGTERM');
  await last.ended;
  await sink.close();

  const said = readFileSync(path.join(directory, '.live', 'events.jsonl'), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { operation: { key: string } | null }).operation?.key)
    .filter((key) => key !== undefined);
  expect(said).toHaveLength(new Set(said).size);
  const report = await audit({ traces: [directory] });
  const held = new Set(report.operations.map(({ key }) => key));
  for (const operation of taken) expect(held).toContain(operation);
  expect(new Set(said)).toEqual(held);
  const repeats = recordsOf(sink).filter(({ name }) => name === 'waybill.verdict').length - keys().size;
  process.stdout.write(
    `${ROUNDS} kills, ${taken.size} operations acknowledged, ${held.size} stored and judged, ${repeats} verdicts sent again after a kill\n`,
  );
}, 900_000);
