import Database from 'libsql';

export interface Todo {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  /** Grows by one with every change. */
  readonly version: number;
}

export type TodoChange = Partial<Pick<Todo, 'title' | 'status'>>;

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

/** Changes one todo inside the caller's transaction. Undefined when there is no such todo. */
export function changeTodo(db: Database.Database, id: string, change: TodoChange): Todo | undefined {
  db.prepare(
    'UPDATE todo SET title = coalesce(?, title), status = coalesce(?, status), version = version + 1 WHERE id = ?',
  ).run(change.title ?? null, change.status ?? null, id);
  return readTodo(db, id);
}
