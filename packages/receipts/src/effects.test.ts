import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apiState, EMPTY_SCOPE } from '@waybill/api/internal';
import { parseReceipt } from '@waybill/core';
import type { ParsedReceipt } from '@waybill/core';
import Database from 'libsql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createEffects } from './effects.js';
import { CommitError } from './errors.js';
import { fileReceipts } from './file-receipts.js';
import type { FileReceipts } from './file-receipts.js';
import { sqliteDatabase } from './sqlite.js';
import type { EffectDatabase, EffectRequest, EffectsOptions, Seen } from './types.js';

type Db = Database.Database;

let folder: string;
let sink: FileReceipts;
let problems: string[];
const path = (name: string): string => join(folder, name);
const open = (): Db => {
  const db = new Database(path('todo.db'));
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000');
  return db;
};
const database: EffectDatabase<Db> = sqliteDatabase(open);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'waybill-effects-'));
  problems = [];
  sink = fileReceipts(path('receipts.jsonl'));
  const db = open();
  db.exec('CREATE TABLE todo (id TEXT PRIMARY KEY, status TEXT NOT NULL, version INTEGER NOT NULL)');
  db.exec("INSERT INTO todo VALUES ('row-42', 'open', 1)");
  db.close();
});
afterEach(async () => {
  await sink.close();
  rmSync(folder, { recursive: true });
});

function effects(options: Partial<EffectsOptions> = {}): ReturnType<typeof createEffects> {
  return createEffects({
    source: 'todo',
    scope: 'single-tenant',
    sink,
    onReceiptProblem: (problem) => problems.push(problem.message),
    now: () => 1_790_000_000_000_000_000n,
    ...options,
  });
}
function look(db: Db): Seen | undefined {
  const row = db.prepare("SELECT status, version FROM todo WHERE id = 'row-42'").get() as
    { status: string; version: number } | undefined;
  return row && { version: row.version, observed: row.status };
}
function stored(): Seen | undefined {
  const db = open();
  try {
    return look(db);
  } finally {
    db.close();
  }
}
function setStatus(db: Db, status: string): Seen {
  db.prepare("UPDATE todo SET status = ?, version = version + 1 WHERE id = 'row-42'").run(status);
  return look(db) ?? { observed: null };
}
function request(more: Partial<EffectRequest<Db>> = {}): EffectRequest<Db> {
  return {
    operationId: 'row-42:done',
    target: { system: 'todo', id: 'row-42' },
    params: { id: 'row-42', status: 'done' },
    expected: 'done',
    readBack: look,
    ...more,
  };
}
function receipts(): ParsedReceipt[] {
  return lines().map((line) => {
    const parsed = parseReceipt(line);
    if (parsed.kind !== 'receipt') throw new Error(parsed.detail);
    return parsed;
  });
}
function lines(): string[] {
  try {
    return readFileSync(path('receipts.jsonl'), 'utf8').split('\n').filter(Boolean);
  } catch {
    return [];
  }
}

describe('an effect that works', () => {
  it('is applied, read back on a new connection, and its receipt is in the file when the call returns', async () => {
    const connections: Db[] = [];
    const result = await effects().effect(
      database,
      request({
        readBack: (db) => {
          connections.push(db);
          return look(db);
        },
      }),
      (e) => {
        connections.push(e.connection);
        return e.applied('it is done', setStatus(e.connection, 'done'));
      },
    );
    expect(result).toMatchObject({
      kind: 'applied',
      value: 'it is done',
      operationId: 'row-42:done',
      operationIdSource: 'server',
      receipt: 'written',
      replayed: false,
    });
    expect(connections[0]).not.toBe(connections[1]);
    expect(receipts()).toMatchObject([
      {
        receiptId: result.receiptId,
        outcome: 'applied',
        stage: 'read_back',
        binding: 'bound',
        operationId: 'row-42:done',
        target: { system: 'todo', id: 'row-42', version: '2' },
        expected: '"done"',
        observed: '"done"',
        source: 'todo',
        atUnixNano: 1_790_000_000_000_000_000n,
      },
    ]);
    expect(problems).toEqual([]);
    expect(statSync(path('receipts.jsonl')).mode & 0o777).toBe(0o600);
  });
});
