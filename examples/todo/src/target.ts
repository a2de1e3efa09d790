/**
 * The third process: it neither writes todos nor talks MCP. `reset` puts the database back, `read` looks a todo up with
 * its own connection and appends what it saw to the targets file.
 *
 *   node target.js reset DATABASE ID...
 *   node target.js read DATABASE TARGETS OPERATION_ID ID EXPECTED
 */
import { appendFileSync } from 'node:fs';
import { openDatabase, readTodo, resetDatabase } from './store.js';

const [command, path, ...rest] = process.argv.slice(2);
if (path === undefined) throw new Error('usage: target.js reset|read DATABASE …');
const db = openDatabase(path);
if (command === 'reset') {
  resetDatabase(db, rest);
} else {
  const [targets, operationId, id, expected] = rest;
  if (targets === undefined || operationId === undefined || id === undefined || expected === undefined) {
    throw new Error('usage: target.js read DATABASE TARGETS OPERATION_ID ID EXPECTED');
  }
  const todo = readTodo(db, id);
  const row = {
    operation_id: operationId,
    object: id,
    state: todo?.status ?? null,
    expected,
    version: todo?.version ?? null,
    fenced: false,
    read_at: String(BigInt(Date.now()) * 1_000_000n),
    reader: 'todo-reader',
  };
  appendFileSync(targets, `${JSON.stringify(row)}\n`);
  process.stdout.write(`${JSON.stringify(row)}\n`);
}
db.close();
