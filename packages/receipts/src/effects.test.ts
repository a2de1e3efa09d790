import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apiState, EMPTY_SCOPE } from '@waybill/api/internal';
import { ed25519Signer, parseReceipt } from '@waybill/core';
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

describe('an effect that does not work', () => {
  it('leaves a failed receipt with the version seen when the target does not show what was applied', async () => {
    const attempt = effects().effect(database, request(), (e) =>
      e.applied('it is done', { version: 1, observed: 'done' }),
    );
    await expect(attempt).rejects.toMatchObject({
      name: 'EffectNotConfirmedError',
      operationId: 'row-42:done',
    });
    expect(receipts()).toMatchObject([
      {
        outcome: 'failed',
        stage: 'read_back',
        effectId: undefined,
        expected: '"done"',
        observed: '"open"',
        target: { version: '1' },
      },
    ]);
  });

  it('leaves a failed receipt when the storage acknowledges a commit that it does not keep', async () => {
    const losing: EffectDatabase<Db> = {
      ...database,
      transaction: async (fn) => {
        const lost: { value?: Awaited<ReturnType<typeof fn>> } = {};
        await database
          .transaction(async (tx) => {
            lost.value = await fn(tx);
            throw new Error('power cut');
          })
          .catch((error: unknown) => {
            if (!('value' in lost)) throw error;
          });
        return lost.value as Awaited<ReturnType<typeof fn>>;
      },
    };
    // The table is there already; only the effect's transaction is lost.
    await effects().writeOwedReceipts(database);
    await expect(
      effects().effect(losing, request(), (e) => e.applied('x', setStatus(e.connection, 'done'))),
    ).rejects.toThrow(/reported as committed and is not there/);
    expect(receipts()).toMatchObject([
      { outcome: 'failed', stage: 'read_back', observed: '"open"', target: { version: '1' } },
    ]);
    expect(stored()).toEqual({ version: 1, observed: 'open' });
  });

  it("rolls back, writes a failed receipt and throws the function's own error when that throws", async () => {
    const mine = new Error('disk full');
    await expect(
      effects().effect(database, request(), (e) => {
        setStatus(e.connection, 'done');
        throw mine;
      }),
    ).rejects.toBe(mine);
    expect(stored()).toEqual({ version: 1, observed: 'open' });
    expect(receipts()).toMatchObject([{ outcome: 'failed', stage: 'read_back', target: { version: '1' } }]);
  });

  it('may be tried again under the same id, as the next attempt', async () => {
    const wb = effects();
    await expect(
      wb.effect(database, request(), () => {
        throw new Error('once');
      }),
    ).rejects.toThrow('once');
    await wb.effect(database, request(), (e) => e.applied('x', setStatus(e.connection, 'done')));
    expect(receipts().map(({ outcome, attempt }) => [outcome, attempt])).toEqual([
      ['failed', 1],
      ['applied', 2],
    ]);
  });

  it('undoes what a refusing function changed, and answers repeats with the refusal', async () => {
    const wb = effects();
    const refuse = () =>
      wb.effect<never, Db>(database, request(), (e) => {
        setStatus(e.connection, 'done');
        return e.refused('it is archived');
      });
    expect(await refuse()).toMatchObject({ kind: 'refused', reason: 'it is archived', replayed: false });
    expect(await refuse()).toMatchObject({ kind: 'refused', reason: 'it is archived', replayed: true });
    expect(stored()).toEqual({ version: 1, observed: 'open' });
    expect(receipts().map((receipt) => receipt.outcome)).toEqual(['refused']);
  });

  const failingCommit = (over: boolean, keeps: boolean): EffectDatabase<Db> => ({
    ...database,
    transaction: async (fn) => {
      if (keeps) await database.transaction(fn);
      else
        await database
          .transaction(async (tx) => {
            await fn(tx);
            throw new Error('undone');
          })
          .catch(() => undefined);
      throw new CommitError(over, new Error('connection lost'));
    },
  });
  it.each([
    ['the row is there', true, true, 'applied'],
    ['the row is not there and the transaction is over', true, false, 'CommitError'],
    ['the row is not there and the transaction may be alive', false, false, 'EffectUnknownError'],
  ])('a commit that fails is decided by reading: %s', async (_, over, keeps, expected) => {
    const wb = effects();
    let transactions = 0;
    const storage: EffectDatabase<Db> = {
      read: (fn) => database.read(fn),
      // The first makes the table, the second is the effect.
      transaction: (fn) =>
        ++transactions === 2 ? failingCommit(over, keeps).transaction(fn) : database.transaction(fn),
    };
    const told = await wb
      .effect(storage, request(), (e) => e.applied('x', setStatus(e.connection, 'done')))
      .then(
        (result) => result.kind,
        (error: unknown) => (error instanceof Error ? error.name : 'no error'),
      );
    expect(told).toBe(expected);
    expect(receipts().map((receipt) => receipt.outcome)).toEqual(
      { applied: ['applied'], CommitError: ['failed'], EffectUnknownError: [] }[expected],
    );
  });

  it('is not attempted when its parameters or its target cannot be recorded', async () => {
    const wb = effects();
    const never = () => {
      throw new Error('must not run');
    };
    await expect(wb.effect(database, request({ params: { x: Number.NaN } }), never)).rejects.toThrow(/\$\.x/);
    await expect(wb.effect(database, request({ target: { system: 'todo', id: '' } }), never)).rejects.toThrow(
      /target/,
    );
    await expect(wb.effect(database, request({ operationId: ' ' }), never)).rejects.toThrow(/operationId/);
    expect(lines()).toEqual([]);
  });
});

describe('a repeat', () => {
  it('with the same parameters gets the stored result, and nothing is applied again', async () => {
    const wb = effects();
    const once = () =>
      wb.effect(database, request({ params: { status: 'done', id: 'row-42' } }), (e) =>
        e.applied({ n: 1 }, setStatus(e.connection, 'done')),
      );
    const [first, second] = [await once(), await once()];
    expect(second).toEqual({ ...first, replayed: true });
    expect(stored()).toEqual({ version: 2, observed: 'done' });
    expect(lines()).toHaveLength(1);
  });

  it('with other parameters is a conflict and is not executed', async () => {
    const wb = effects();
    await wb.effect(database, request(), (e) => e.applied(1, setStatus(e.connection, 'done')));
    await expect(
      wb.effect(database, request({ params: { id: 'row-42', status: 'open' } }), () => {
        throw new Error('must not run');
      }),
    ).rejects.toMatchObject({ name: 'OperationConflictError', code: 'idempotency_conflict' });
    expect(lines()).toHaveLength(1);
  });

  it('of another tenant is another operation', async () => {
    for (const tenant of ['a', 'b']) {
      await effects({ scope: () => tenant }).effect(database, request(), (e) =>
        e.applied(1, setStatus(e.connection, 'done')),
      );
    }
    expect(stored()?.version).toBe(3);
  });

  it('at the same time applies once, in one process', async () => {
    const wb = effects();
    const results = await Promise.all(
      Array.from({ length: 8 }, () =>
        wb.effect(database, request(), async (e) => {
          await new Promise((resolve) => setImmediate(resolve));
          return e.applied(1, setStatus(e.connection, 'done'));
        }),
      ),
    );
    expect(results.filter((result) => !result.replayed)).toHaveLength(1);
    expect(stored()?.version).toBe(2);
    expect(lines()).toHaveLength(1);
  });

  it('writes the receipt that the first attempt could not write, and warns of it', async () => {
    let broken = true;
    const wb = effects({
      sink: {
        append: (line) => (broken ? Promise.reject(new Error('ENOSPC')) : sink.append(line)),
      },
    });
    const once = () => wb.effect(database, request(), (e) => e.applied(1, setStatus(e.connection, 'done')));
    expect(await once()).toMatchObject({ kind: 'applied', receipt: 'owed' });
    expect(problems).toEqual([expect.stringContaining('stays owed: ENOSPC')]);
    broken = false;
    expect(await once()).toMatchObject({ kind: 'applied', receipt: 'written', replayed: true });
    expect(receipts()).toMatchObject([{ outcome: 'applied', stage: 'read_back' }]);
  });

  it('is not needed: owed receipts can be written when the service starts', async () => {
    const broken = effects({ sink: { append: () => Promise.reject(new Error('ENOSPC')) } });
    await broken.effect(database, request(), (e) => e.applied(1, setStatus(e.connection, 'done')));
    expect(await effects().writeOwedReceipts(database)).toBe(1);
    expect(await effects().writeOwedReceipts(database)).toBe(0);
    expect(receipts()).toHaveLength(1);
  });
});

describe('the read back', () => {
  it('of a target that a later change has reached leaves the receipt as committed, with our version', async () => {
    await effects().effect(
      database,
      request({
        readBack: (db) => {
          setStatus(db, 'archived');
          return look(db);
        },
      }),
      (e) => e.applied(1, setStatus(e.connection, 'done')),
    );
    expect(receipts()).toMatchObject([
      { outcome: 'applied', stage: 'committed', observed: undefined, target: { version: '2' } },
    ]);
  });

  it('that fails leaves the receipt as committed and is told', async () => {
    await effects().effect(
      database,
      request({
        readBack: () => {
          throw new Error('no connection');
        },
      }),
      (e) => e.applied(1, setStatus(e.connection, 'done')),
    );
    expect(receipts()).toMatchObject([{ outcome: 'applied', stage: 'committed' }]);
    expect(problems).toEqual([expect.stringContaining('could not be read back: no connection')]);
  });

  it('confirms a deletion by the absence of the object', async () => {
    await effects().effect(database, request({ expected: null }), (e) => {
      e.connection.exec("DELETE FROM todo WHERE id = 'row-42'");
      return e.applied(1, { version: 1, observed: null });
    });
    expect(receipts()).toMatchObject([
      {
        outcome: 'applied',
        stage: 'read_back',
        expected: 'null',
        observed: 'null',
        target: { version: '1' },
      },
    ]);
  });
});

describe('ids and stages', () => {
  it('come from _meta where no instrumentation runs', async () => {
    const result = await effects().effect(
      database,
      {
        ...request(),
        operationId: 'op-1',
        meta: { 'io.waybill/operationId': 'op-1', 'io.waybill/callId': 'c-1', 'io.waybill/runId': 'r-1' },
      },
      (e) => e.applied(1, setStatus(e.connection, 'done')),
    );
    expect(result).toMatchObject({ operationId: 'op-1', operationIdSource: 'caller' });
    expect(receipts()).toMatchObject([{ operationId: 'op-1', callId: 'c-1', runId: 'r-1' }]);
  });

  it('are generated for a client that sends none, or refused where the server demands one', async () => {
    const { operationId: _, ...unnamed } = request();
    const result = await effects().effect(database, unnamed, (e) =>
      e.applied(1, setStatus(e.connection, 'done')),
    );
    expect(result.operationIdSource).toBe('generated');
    await expect(
      effects({ requireOperationId: true }).effect(database, unnamed, () => {
        throw new Error('must not run');
      }),
    ).rejects.toMatchObject({ code: 'idempotency_key_required' });
  });

  it('take the running operation and record its stages where the instrumentation runs', async () => {
    const stages: unknown[] = [];
    const wb = effects();
    const { operationId: _, ...unnamed } = request();
    const inHandler = <T>(fn: () => T): T =>
      apiState().storage.run(
        {
          ...EMPTY_SCOPE,
          current: {
            side: 'server',
            runId: 'r-9',
            runIdSource: 'caller',
            operationId: 'op-9',
            operationIdSource: 'caller',
            parentOperationId: undefined,
            callId: 'c-9',
            attempt: 1,
            tool: 'set_status',
            signal: undefined,
          },
          recordStage: (stage, detail) => stages.push(detail === undefined ? stage : [stage, detail]),
        },
        fn,
      );
    const once = () =>
      inHandler(() => wb.effect(database, unnamed, (e) => e.applied(1, setStatus(e.connection, 'done'))));
    const { receiptId } = await once();
    expect(receipts()).toMatchObject([{ operationId: 'op-9', callId: 'c-9', runId: 'r-9' }]);
    expect(stages).toEqual([
      'server.effect_requested',
      'server.effect_confirmed',
      ['receipt.enqueued', { 'waybill.receipt.id': receiptId, 'waybill.receipt.state': 'pending' }],
    ]);
    stages.length = 0;
    await once();
    expect(stages).toEqual([
      [
        'receipt.enqueued',
        {
          'waybill.receipt.id': receiptId,
          'waybill.receipt.state': 'pending',
          'waybill.effect.replayed': true,
        },
      ],
    ]);
    stages.length = 0;
    await expect(
      inHandler(() =>
        wb.effect(database, { ...request(), operationId: 'op-10' }, () => {
          throw new Error('no');
        }),
      ),
    ).rejects.toThrow('no');
    expect(stages).toMatchObject([
      'server.effect_requested',
      'server.effect_failed',
      ['receipt.enqueued', {}],
    ]);
  });
});

describe('a signed receipt', () => {
  it('holds digests instead of values and verifies with the public key', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    await effects({
      signer: ed25519Signer('todo-key-1', privateKey),
      digestKey: Buffer.from('a tenant key'),
    }).effect(database, request(), (e) => e.applied(1, setStatus(e.connection, 'done')));
    const [line = ''] = lines();
    const payload = Buffer.from((JSON.parse(line) as { payload: string }).payload, 'base64').toString();
    expect(payload).not.toContain('"done"');
    const parsed = parseReceipt(line, { keys: new Map([['todo-key-1', publicKey]]) });
    expect(parsed).toMatchObject({
      kind: 'receipt',
      verification: 'valid',
      stage: 'read_back',
      binding: 'bound',
      target: { id: 'row-42', version: '2' },
      paramsHash: expect.stringMatching(/^hmac-sha256:/),
    });
    expect(parsed.kind === 'receipt' && parsed.expected === parsed.observed).toBe(true);
  });
});
