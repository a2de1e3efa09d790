import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseReceipt } from '@waybill/core';
import Database from 'libsql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let folder: string;
const child = fileURLToPath(new URL('crash-child.mjs', import.meta.url));
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'waybill-crash-'));
  const db = new Database(join(folder, 'todo.db'));
  db.exec('CREATE TABLE todo (id TEXT PRIMARY KEY, status TEXT NOT NULL, version INTEGER NOT NULL)');
  db.exec("INSERT INTO todo VALUES ('row-42', 'open', 1)");
  db.close();
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

interface Answer {
  readonly signal: string | null;
  readonly told: { readonly kind?: string; readonly replayed?: boolean; readonly owed?: number } | undefined;
}

function run(point: string, status = 'done'): Answer {
  const done = spawnSync(process.execPath, [child, folder, point, status], {
    encoding: 'utf8',
    timeout: 30_000,
  });
  if (done.signal === null && done.status !== 0) throw new Error(done.stderr);
  return {
    signal: done.signal,
    told: done.stdout === '' ? undefined : (JSON.parse(done.stdout) as Answer['told']),
  };
}

function target(): unknown {
  const db = new Database(join(folder, 'todo.db'));
  try {
    const [row] = db.prepare("SELECT status, version FROM todo WHERE id = 'row-42'").all();
    return row;
  } finally {
    db.close();
  }
}

function receipts(): { readonly id: string; readonly what: string }[] {
  let text = '';
  try {
    text = readFileSync(join(folder, 'receipts.jsonl'), 'utf8');
  } catch {
    return [];
  }
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const parsed = parseReceipt(line);
      return parsed.kind === 'receipt'
        ? { id: parsed.receiptId, what: `${parsed.outcome} ${parsed.stage}` }
        : { id: 'none', what: parsed.reason };
    });
}

const points = [
  // point, what the target shows at the crash, receipts at the crash, is the repeat a replay
  ['applied_not_committed', 1, 0, false],
  ['committed', 2, 0, true],
  ['before_receipt', 2, 0, true],
  ['receipt_written', 2, 1, true],
  ['before_reply', 2, 1, true],
] as const;

describe('SIGKILL', () => {
  it.each(points)(
    'at %s: the repeat ends with one effect and one receipt, other parameters are a conflict',
    (point, version, written, replayed) => {
      expect(run(point).signal).toBe('SIGKILL');
      expect(target()).toMatchObject({ version });
      expect(receipts()).toHaveLength(written);

      expect(run('none').told).toMatchObject({ kind: 'applied', replayed });
      expect(target()).toEqual({ status: 'done', version: 2 });
      const after = receipts();
      expect(new Set(after.map((receipt) => receipt.id)).size).toBe(1);
      expect(after.every((receipt) => receipt.what === 'applied read_back')).toBe(true);

      expect(run('none', 'open').told).toMatchObject({ kind: 'OperationConflictError' });
      expect(target()).toEqual({ status: 'done', version: 2 });
    },
  );

  it('between commit and receipt: the receipt is written when the service starts again, without a repeat', () => {
    run('committed');
    expect(run('start_up').told).toEqual({ owed: 1 });
    expect(receipts().map((receipt) => receipt.what)).toEqual(['applied committed']);
    expect(run('start_up').told).toEqual({ owed: 0 });
  });

  it('within a line: the half line stays one damaged line', () => {
    appendFileSync(join(folder, 'receipts.jsonl'), '{"operation_id":"row-41:do');
    run('none');
    expect(receipts().map((receipt) => receipt.what)).toEqual(['not_json', 'applied read_back']);
  });
});
