import Database from 'libsql';

export interface Todo {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  /** Grows by one with every change. */
  readonly version: number;
}

/** Opens the todo database with real locks and full durability: another process reads it at any time. */
export function openDatabase(path: string): Database.Database {
  const db = new Database(path);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000;');
  db.exec(`CREATE TABLE IF NOT EXISTS todo (
    id TEXT PRIMARY KEY, title TEXT NOT NULL, status TEXT NOT NULL, version INTEGER NOT NULL
  )`);
  return db;
}

/** Every todo as it was on the first day. */
export function resetDatabase(db: Database.Database, ids: readonly string[]): void {
  db.exec('DELETE FROM todo');
  const insert = db.prepare('INSERT INTO todo (id, title, status, version) VALUES (?, ?, ?, 1)');
  for (const id of ids) insert.run(id, `Write page ${id}`, 'open');
}

export function readTodo(db: Database.Database, id: string): Todo | undefined {
  return db.prepare('SELECT id, title, status, version FROM todo WHERE id = ?').get(id) as Todo | undefined;
}

export function listTodos(db: Database.Database): Todo[] {
  return db.prepare('SELECT id, title, status, version FROM todo ORDER BY id').all() as Todo[];
}

/** Sets a status inside the caller's transaction. Undefined when there is no such todo. */
export function setStatus(db: Database.Database, id: string, status: string): Todo | undefined {
  db.prepare('UPDATE todo SET status = ?, version = version + 1 WHERE id = ?').run(status, id);
  return readTodo(db, id);
}
