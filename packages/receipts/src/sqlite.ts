import { CommitError } from './errors.js';
import type { EffectDatabase, SqlConnection } from './types.js';

/** The part of a synchronous SQLite driver that is used; `libsql` and `better-sqlite3` fit. */
export interface SqliteConnection {
  prepare(sql: string): {
    /** The statement gives rows. */
    readonly reader: boolean;
    all(...values: unknown[]): unknown[];
    run(...values: unknown[]): unknown;
  };
  exec(sql: string): unknown;
  close(): unknown;
}

/**
 * Effects in a SQLite database.
 *
 * Every transaction and every read back has a connection of its own, from `open`. Writers of this process queue: the
 * driver waits for a lock without letting the event loop run, so two of them would wait for each other.
 *
 * @param open gives a new connection each time; set `busy_timeout` and `synchronous = FULL` there.
 * @example
 * const database = sqliteDatabase(() => new Database('todo.db'));
 */
export function sqliteDatabase<C extends SqliteConnection>(open: () => C): EffectDatabase<C> {
  let last: Promise<unknown> = Promise.resolve();
  const queued = <T>(work: () => Promise<T>): Promise<T> => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
  const withConnection = async <T>(work: (connection: C) => Promise<T>): Promise<T> => {
    const connection = open();
    try {
      return await work(connection);
    } finally {
      connection.close();
    }
  };
  return {
    transaction: (fn) =>
      queued(() =>
        withConnection(async (connection) => {
          connection.exec('BEGIN IMMEDIATE');
          let result;
          try {
            result = await fn(sqlConnection(connection));
          } catch (error) {
            rollBack(connection);
            throw error;
          }
          try {
            connection.exec('COMMIT');
          } catch (error) {
            rollBack(connection);
            // The connection is closed next, and with it whatever is left of the transaction.
            throw new CommitError(true, error);
          }
          return result;
        }),
      ),
    read: (fn) => withConnection((connection) => fn(sqlConnection(connection))),
  };
}

function rollBack(connection: SqliteConnection): void {
  try {
    connection.exec('ROLLBACK');
  } catch {
    // There is no transaction any more: SQLite rolls some errors back by itself.
  }
}

function sqlConnection<C extends SqliteConnection>(connection: C): SqlConnection<C> {
  return {
    connection,
    exec: async (sql, values) => {
      const statement = positional(sql, values);
      const prepared = connection.prepare(statement.sql);
      if (!prepared.reader) {
        prepared.run(...statement.values);
        return { rows: [] };
      }
      return { rows: prepared.all(...statement.values) as readonly Readonly<Record<string, unknown>>[] };
    },
  };
}

/** `$n` to `?`, with the values in the order of use; text in quotes stays as it is. */
export function positional(
  sql: string,
  values: readonly unknown[],
): { readonly sql: string; readonly values: readonly unknown[] } {
  const used: unknown[] = [];
  const translated = sql.replace(
    /'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\d+)/g,
    (found, number: string | undefined) => {
      if (number === undefined) return found;
      const index = Number(number) - 1;
      if (index < 0 || index >= values.length) {
        throw new RangeError(`the statement uses $${number}, but ${values.length} values were given`);
      }
      used.push(bindable(values[index]));
      return '?';
    },
  );
  return { sql: translated, values: used };
}

/** What SQLite can hold. Measured with libsql 0.5.29: a boolean ends the process, so none may reach the driver. */
function bindable(value: unknown): unknown {
  switch (typeof value) {
    case 'boolean':
      return value ? 1 : 0;
    case 'undefined':
      return null;
    case 'string':
    case 'number':
    case 'bigint':
      return value;
    default:
      if (value === null || value instanceof Uint8Array) return value;
      throw new TypeError(`a value of type ${typeof value} cannot be stored; convert it to text first`);
  }
}
