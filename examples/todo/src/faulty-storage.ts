/**
 * Storage that misbehaves on order, for the demo. It stands between the handlers and the database and nowhere else:
 * neither the handlers, nor the receipts, nor what judges them know of it.
 */
import { sqliteDatabase } from '@waybill/receipts';
import type { EffectDatabase, SqlConnection } from '@waybill/receipts';
import type Libsql from 'libsql';
import type { ServerNews, ServerOrder, StorageFault } from './messages.js';

type Connection = Libsql.Database;

/** Thrown inside a transaction to make it roll back while its caller is told that it committed. */
class LostCommit<T> extends Error {
  readonly result: T;
  constructor(result: T) {
    super('the commit was lost');
    this.result = result;
  }
}

export function faultyStorage(open: () => Connection): EffectDatabase<Connection> {
  const sound = sqliteDatabase(open);
  let fault: StorageFault | undefined;
  let goOn: (() => void) | undefined;

  process.on('message', (order: ServerOrder) => {
    if (order.kind === 'go_on') goOn?.();
    else {
      fault = order.fault;
      tell({ kind: 'armed' });
    }
  });

  const pause = async (): Promise<void> => {
    const released = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    tell({ kind: 'paused' });
    await released;
  };

  return {
    transaction: async <T>(fn: (tx: SqlConnection<Connection>) => Promise<T>): Promise<T> => {
      // An order is for one transaction: the next change.
      const now = fault;
      fault = undefined;
      try {
        return await sound.transaction(async (tx) => {
          const value = await fn(tx);
          if (now?.kind === 'pause_before_commit') await pause();
          if (now?.kind === 'lose_commit') throw new LostCommit(value);
          return value;
        });
      } catch (error) {
        if (error instanceof LostCommit) return (error as LostCommit<T>).result;
        throw error;
      }
    },
    read: (fn) => sound.read(fn),
  };
}

export function tell(news: ServerNews): void {
  process.send?.(news);
}
