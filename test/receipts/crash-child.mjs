/**
 * A service that applies one effect and may kill itself at a named point, with no chance to clean up.
 *
 *   node crash-child.mjs FOLDER POINT STATUS
 */
import { createEffects, fileReceipts, sqliteDatabase } from '@waybill/receipts';
import Database from 'libsql';
import { join } from 'node:path';

const [folder = '.', point = 'none', status = 'done'] = process.argv.slice(2);

function crashAt(here) {
  if (point === here) process.kill(process.pid, 'SIGKILL');
}

const database = sqliteDatabase(() => {
  const db = new Database(join(folder, 'todo.db'));
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000');
  return db;
});
const look = (db) => db.prepare("SELECT status, version FROM todo WHERE id = 'row-42'").get();

const file = fileReceipts(join(folder, 'receipts.jsonl'));
const effects = createEffects({
  source: 'todo',
  scope: 'single-tenant',
  sink: {
    async append(line) {
      crashAt('before_receipt');
      await file.append(line);
      crashAt('receipt_written');
    },
  },
});
if (point === 'start_up') {
  process.stdout.write(JSON.stringify({ owed: await effects.writeOwedReceipts(database) }));
} else {
  const result = await effects
    .effect(
      database,
      {
        operationId: 'row-42:done',
        target: { system: 'todo', id: 'row-42' },
        params: { status },
        expected: status,
        readBack: (db) => {
          crashAt('committed');
          const { version, status: observed } = look(db);
          return { version, observed };
        },
      },
      (e) => {
        e.connection
          .prepare("UPDATE todo SET status = ?, version = version + 1 WHERE id = 'row-42'")
          .run(status);
        crashAt('applied_not_committed');
        const { version, status: observed } = look(e.connection);
        return e.applied(`row-42 is ${status}`, { version, observed });
      },
    )
    .catch((error) => ({ kind: error instanceof Error ? error.name : 'unknown' }));
  crashAt('before_reply');
  process.stdout.write(JSON.stringify(result));
}
await file.close();
