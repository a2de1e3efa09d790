import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { positional, sqliteDatabase } from './sqlite.js';
import type { EffectDatabase } from './types.js';

describe('positional', () => {
  const cases: readonly [string, readonly unknown[], string, readonly unknown[]][] = [
    ['SELECT $1, $2', ['a', 'b'], 'SELECT ?, ?', ['a', 'b']],
    ['SELECT $2, $1, $2', ['a', 'b'], 'SELECT ?, ?, ?', ['b', 'a', 'b']],
    [`SELECT '$1', "$2", $1`, ['a'], `SELECT '$1', "$2", ?`, ['a']],
    [`SELECT 'it''s $1', $1`, ['a'], `SELECT 'it''s $1', ?`, ['a']],
    ['SELECT $1, $2, $3', [true, false, undefined], 'SELECT ?, ?, ?', [1, 0, null]],
  ];
  it.each(cases)('%s', (sql, values, translated, used) => {
    expect(positional(sql, values)).toEqual({ sql: translated, values: used });
  });

  it('refuses a number without a value, and a value that SQLite cannot hold, before the driver sees either', () => {
    expect(() => positional('SELECT $2', ['a'])).toThrow(/uses \$2, but 1 values/);
    expect(() => positional('SELECT $1', [{}])).toThrow(/convert it to text/);
  });
});

describe('sqliteDatabase', () => {
  let folder: string;
  let database: EffectDatabase<Database.Database>;
  const opened: Database.Database[] = [];
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'waybill-sqlite-'));
    database = sqliteDatabase(() => {
      const db = new Database(join(folder, 'x.db'));
      db.exec('PRAGMA busy_timeout = 200');
      opened.push(db);
      return db;
    });
    await database.transaction((tx) => tx.exec('CREATE TABLE t (n INTEGER)', []));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
    opened.length = 0;
  });
  const count = (): Promise<unknown> =>
    database.read(async (connection) => (await connection.exec('SELECT count(*) AS n FROM t', [])).rows[0]);

  it('commits what resolves and rolls back what rejects, with the same error', async () => {
    await database.transaction((tx) => tx.exec('INSERT INTO t VALUES ($1)', [1]));
    const error = new Error('no');
    await expect(
      database.transaction(async (tx) => {
        await tx.exec('INSERT INTO t VALUES ($1)', [2]);
        throw error;
      }),
    ).rejects.toBe(error);
    expect(await count()).toMatchObject({ n: 1 });
  });

  it('closes every connection, also after an error', async () => {
    await database.transaction(() => Promise.reject(new Error('no'))).catch(() => undefined);
    await count();
    expect(opened.every((db) => !db.open)).toBe(true);
  });

  it('lets the writers of one process queue instead of waiting for each other until the driver gives up', async () => {
    await Promise.all(
      Array.from({ length: 5 }, (_, n) =>
        database.transaction(async (tx) => {
          await tx.exec('INSERT INTO t VALUES ($1)', [n]);
          await new Promise((resolve) => setTimeout(resolve, 20));
        }),
      ),
    );
    expect(await count()).toMatchObject({ n: 5 });
  });

  it('tells a commit that failed by a CommitError', async () => {
    await database.transaction(async (tx) => {
      await tx.exec('CREATE TABLE parent (id INTEGER PRIMARY KEY)', []);
      await tx.exec(
        'CREATE TABLE child (id INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)',
        [],
      );
    });
    const strict = sqliteDatabase(() => {
      const db = new Database(join(folder, 'x.db'));
      db.exec('PRAGMA foreign_keys = ON');
      return db;
    });
    await expect(
      strict.transaction((tx) => tx.exec('INSERT INTO child VALUES (1)', [])),
    ).rejects.toMatchObject({ name: 'CommitError', over: true });
  });
});
