import type { OperationIdSource } from '@waybill/api';
import type { ReceiptOutcome, ReceiptStage, Signer } from '@waybill/core';

/**
 * One function is all that is asked of a database driver. Placeholders are `$1`, `$2`, … in order; adapters translate.
 */
export interface SqlTx {
  exec(
    sql: string,
    values: readonly unknown[],
  ): Promise<{ readonly rows: readonly Readonly<Record<string, unknown>>[] }>;
}

/** A connection in use: the driver's own handle beside the one function. */
export interface SqlConnection<C> extends SqlTx {
  readonly connection: C;
}

/** Where effects happen. `sqliteDatabase` makes one; any other driver fits in two functions. */
export interface EffectDatabase<C> {
  /**
   * Runs `fn` in one transaction that holds the write lock from its begin, commits when `fn` resolves, rolls back
   * when it rejects, and rejects with `fn`'s error. A commit that fails rejects with a `CommitError`.
   */
  transaction<T>(fn: (tx: SqlConnection<C>) => Promise<T>): Promise<T>;
  /** Runs `fn` on a connection opened for it, outside any transaction, so that it sees only what was committed. */
  read<T>(fn: (connection: SqlConnection<C>) => Promise<T>): Promise<T>;
}

/** The object that an effect changes. */
export interface Target {
  /** System that holds it, for instance `todo`. */
  readonly system: string;
  readonly type?: string;
  /** Its id there. */
  readonly id: string;
}

/** What a target shows: the value or the fields that matter, and the version that they belong to. */
export interface Seen {
  /** Grows with every change of the object: a number, or any text that differs after each change. */
  readonly version?: string | number;
  /** A JSON value, for instance `'done'` or `{ status: 'done' }`. */
  readonly observed: unknown;
}

export interface EffectRequest<C> {
  /**
   * Names the intention. Without it, in this order: `meta`, the running operation of the instrumentation, a generated
   * id (for which no deduplication is promised).
   */
  readonly operationId?: string;
  /** `_meta` of the request (`extra._meta` in a handler); needed only where no instrumentation runs. */
  readonly meta?: unknown;
  readonly target: Target;
  /** Arguments after defaulting, without `_meta`. The same key with other parameters is a conflict. */
  readonly params: unknown;
  /**
   * What the target must show afterwards: a JSON value, of which an object needs only the fields that matter; null
   * when the target must be gone. Default: what `applied()` observed.
   */
  readonly expected?: unknown;
  /** Reads the target again, on a new connection after the commit. Undefined when the object is not there. */
  readonly readBack?: (connection: C) => Seen | undefined | Promise<Seen | undefined>;
}

export type EffectOutcome<R> =
  | ({ readonly kind: 'applied'; readonly value: R } & Seen)
  | { readonly kind: 'refused'; readonly reason: string };

/** What the effect's function is given. */
export interface EffectContext<C> {
  readonly operationId: string;
  /** New with every attempt that applies something; store it with the row where a unique effect id is wanted. */
  readonly effectId: string;
  /** The connection of the open transaction. Begin, commit and roll back are not yours. */
  readonly connection: C;
  readonly tx: SqlTx;
  /** The effect was applied; `seen` is what the write itself returned (for instance `RETURNING version`). */
  readonly applied: <R>(value: R, seen: Seen) => EffectOutcome<R>;
  /** Declined before anything was changed; what was changed nevertheless is rolled back. */
  readonly refused: (reason: string) => EffectOutcome<never>;
}

interface ResultBase {
  readonly operationId: string;
  readonly operationIdSource: OperationIdSource;
  readonly receiptId: string;
  /** `written`: the sink has it, durably. `owed`: kept in the database until a repeat or `writeOwedReceipts`. */
  readonly receipt: 'written' | 'owed';
  /** The stored result of an earlier attempt: nothing was applied now. */
  readonly replayed: boolean;
}

export type EffectResult<R> =
  | (ResultBase & { readonly kind: 'applied'; readonly value: R; readonly effectId: string })
  | (ResultBase & { readonly kind: 'refused'; readonly reason: string });

export interface Effects {
  /**
   * Applies an effect once per operation id: `fn` runs in a transaction that also holds the operation's row; after the
   * commit the target is read back on a new connection and the receipt is durable before this resolves.
   *
   * @throws EffectNotConfirmedError when the target does not show what was applied; a `failed` receipt is written.
   * @throws EffectUnknownError when neither commit nor roll-back can be proven; no receipt is written.
   * @throws OperationConflictError when the operation id was used with other parameters.
   * @throws OperationIdRequiredError when `requireOperationId` is set and nobody named the operation.
   * @throws TypeError for a request that cannot be recorded.
   * @throws whatever `fn` throws, after a roll-back and a `failed` receipt.
   */
  effect<R, C>(
    database: EffectDatabase<C>,
    request: EffectRequest<C>,
    fn: (context: EffectContext<C>) => EffectOutcome<R> | Promise<EffectOutcome<R>>,
  ): Promise<EffectResult<R>>;
  /**
   * Writes the receipts that a crash left owed; run it when the service starts. What was never read back is written
   * as `committed`.
   *
   * @returns how many were written.
   */
  writeOwedReceipts<C>(database: EffectDatabase<C>): Promise<number>;
}

/** Takes receipts, one line each, without the line end. */
export interface ReceiptSink {
  /** Resolves when the line is durable. The same receipt may come twice, with the same bytes. */
  append(line: string): Promise<void>;
}

export interface EffectsOptions {
  /** Name of the service that performs the effects. */
  readonly source: string;
  /** One incarnation of it. Default: a random id. */
  readonly instance?: string;
  /**
   * Whom an operation id belongs to: part of the key, chosen by the server (tenant or grant) and never taken from the
   * request. `single-tenant` states that there is only one.
   */
  readonly scope: 'single-tenant' | (() => string);
  readonly sink: ReceiptSink;
  /** Signs receipts, which then hold digests only. Without it they are plain lines that show the fields observed. */
  readonly signer?: Signer;
  /** Key for HMAC digests, so that guessable values cannot be guessed from a signed receipt. */
  readonly digestKey?: Uint8Array;
  /** Refuses requests whose operation nobody named, instead of generating an id. Default false. */
  readonly requireOperationId?: boolean;
  /** Hears of receipts that could not be written or read back. Default: a process warning. */
  readonly onReceiptProblem?: (problem: Error) => void;
  /** Nanoseconds since the Unix epoch. Default: the system clock. */
  readonly now?: () => bigint;
}

/** Everything a receipt says, before it has a form. */
export interface ReceiptFacts {
  readonly receiptId: string;
  readonly effectId: string | undefined;
  readonly operationId: string;
  readonly callId: string | undefined;
  readonly runId: string | undefined;
  readonly attempt: number;
  readonly outcome: ReceiptOutcome;
  readonly stage: ReceiptStage;
  readonly paramsHash: string;
  readonly target: Target;
  /** Null: the object was to be gone. Undefined: nothing is known. */
  readonly expected: unknown;
  /** Null: it was not there. Undefined: it was not read. */
  readonly observed: unknown;
  readonly version: string | number | undefined;
  /** Nanoseconds since the Unix epoch, decimal text. */
  readonly effectAt: string;
  readonly observedAt: string;
}
