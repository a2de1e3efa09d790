import { randomUUID } from 'node:crypto';
import { recordStage } from '@waybill/api';
import { ATTR_EFFECT_REPLAYED, ATTR_RECEIPT_ID, ATTR_RECEIPT_STATE } from '@waybill/core';
import { digestOf } from './digest.js';
import {
  CommitError,
  EffectNotConfirmedError,
  EffectUnknownError,
  OperationConflictError,
} from './errors.js';
import { newRow, observation, settledRow } from './facts.js';
import type { Plan } from './facts.js';
import { effectIds } from './ids.js';
import { OPERATION_TABLE, findOperation, owedOperations, saveOperation } from './operations.js';
import type { OperationRow } from './operations.js';
import { judgeReadBack } from './read-back.js';
import type { ReadBack } from './read-back.js';
import { ReceiptWriter } from './receipt-writer.js';
import type {
  EffectContext,
  EffectDatabase,
  EffectOutcome,
  EffectRequest,
  EffectResult,
  Effects,
  EffectsOptions,
  ReceiptFacts,
} from './types.js';

/**
 * Makes the `effect()` of one service: apply, commit, read back, receipt.
 *
 * @example
 * const effects = createEffects({ source: 'todo', scope: 'single-tenant', sink: fileReceipts('receipts.jsonl') });
 * const result = await effects.effect(
 *   database,
 *   { target: { system: 'todo', id }, params: args, expected: 'done', readBack: (db) => look(db, id) },
 *   (e) => e.applied(`${id} is done`, setStatus(e.connection, id, 'done')),
 * );
 */
export function createEffects(options: EffectsOptions): Effects {
  const run = new EffectRunner(options);
  return {
    effect: (database, request, fn) => run.effect(database, request, fn),
    writeOwedReceipts: (database) => run.writeOwed(database),
  };
}

type EffectFunction<R, C> = (context: EffectContext<C>) => EffectOutcome<R> | Promise<EffectOutcome<R>>;

class EffectRunner {
  readonly #options: EffectsOptions;
  readonly #receipts: ReceiptWriter;
  readonly #time: () => string;
  /** The last effect under way per operation: repeats within this process wait for its receipt. */
  readonly #underWay = new Map<string, Promise<unknown>>();
  readonly #prepared = new WeakMap<object, Promise<unknown>>();

  constructor(options: EffectsOptions) {
    this.#options = options;
    this.#receipts = new ReceiptWriter(
      {
        service: options.source,
        instance: options.instance ?? randomUUID(),
        signer: options.signer,
        digestKey: options.digestKey,
      },
      options.sink,
      options.onReceiptProblem,
    );
    const now = options.now ?? (() => BigInt(Date.now()) * 1_000_000n);
    this.#time = () => String(now());
  }

  async effect<R, C>(
    database: EffectDatabase<C>,
    request: EffectRequest<C>,
    fn: EffectFunction<R, C>,
  ): Promise<EffectResult<R>> {
    const plan = this.#plan(database, request);
    await this.#prepare(database);
    const lock = JSON.stringify([plan.key.scope, plan.key.operationId]);
    const before = this.#underWay.get(lock) ?? Promise.resolve();
    const mine = before.then(() => this.#once(plan, fn));
    const settled = mine.catch(() => undefined);
    this.#underWay.set(lock, settled);
    try {
      return await mine;
    } finally {
      if (this.#underWay.get(lock) === settled) this.#underWay.delete(lock);
    }
  }

  async writeOwed<C>(database: EffectDatabase<C>): Promise<number> {
    await this.#prepare(database);
    const rows = await database.read((connection) => owedOperations(connection));
    let written = 0;
    for (const row of rows) {
      if ((await this.#receipts.write(database, row, row.state, row.facts)) === 'written') written += 1;
    }
    return written;
  }

  #plan<C>(database: EffectDatabase<C>, request: EffectRequest<C>): Plan<C> {
    const { target } = request;
    if (target.system === '' || target.id === '') {
      throw new TypeError('target.system and target.id must name the object that the effect changes');
    }
    // Values that no receipt can state are refused before anything is written.
    if (request.expected !== undefined) digestOf(request.expected, undefined);
    const ids = effectIds(request, {
      requireOperationId: this.#options.requireOperationId ?? false,
      newId: randomUUID,
    });
    const { scope } = this.#options;
    return {
      database,
      request,
      ids,
      key: {
        scope: scope === 'single-tenant' ? scope : scope(),
        operationId: ids.operationId,
      },
      paramsHash: digestOf(request.params ?? null, this.#options.digestKey),
      effectId: randomUUID(),
      receiptId: randomUUID(),
    };
  }

  async #prepare<C>(database: EffectDatabase<C>): Promise<void> {
    let prepared = this.#prepared.get(database);
    if (prepared === undefined) {
      prepared = database.transaction((tx) => tx.exec(OPERATION_TABLE, []));
      this.#prepared.set(database, prepared);
      prepared.catch(() => this.#prepared.delete(database));
    }
    await prepared;
  }

  async #once<R, C>(plan: Plan<C>, fn: EffectFunction<R, C>): Promise<EffectResult<R>> {
    let requested = false;
    let committed: { readonly row: OperationRow; readonly replayed: boolean };
    try {
      committed = await plan.database.transaction(async (tx) => {
        const known = await findOperation(tx, plan.key);
        if (known !== undefined && known.paramsHash !== plan.paramsHash) {
          throw new OperationConflictError(plan.key.operationId);
        }
        if (known !== undefined && known.state !== 'failed') return { row: known, replayed: true };
        if (known?.receiptState === 'owed') await this.#receipts.appendBeforeOverwriting(known);
        const row = newRow(plan, (known?.attempts ?? 0) + 1, this.#time());
        // First the row, so that a repeat elsewhere waits for this transaction instead of applying it too.
        await saveOperation(tx, row);
        requested = true;
        recordStage('server.effect_requested');
        await tx.exec('SAVEPOINT waybill_effect', []);
        const outcome = await fn({
          operationId: plan.key.operationId,
          effectId: plan.effectId,
          connection: tx.connection,
          tx,
          applied: (value, seen) => ({ kind: 'applied', value, ...seen }),
          refused: (reason) => ({ kind: 'refused', reason }),
        });
        if (outcome.kind === 'refused') await tx.exec('ROLLBACK TO SAVEPOINT waybill_effect', []);
        await tx.exec('RELEASE SAVEPOINT waybill_effect', []);
        const settled = settledRow(row, plan, outcome, this.#time());
        await saveOperation(tx, settled);
        return { row: settled, replayed: false };
      });
    } catch (error) {
      if (!requested) throw error;
      const kept = error instanceof CommitError ? await this.#keptAfterAll(plan, error) : undefined;
      if (kept === undefined) {
        await this.#failed(plan);
        throw error;
      }
      committed = { row: kept, replayed: false };
    }
    return this.#conclude(plan, committed.row, committed.replayed);
  }

  /** After the commit, or for a repeat: read back where that is still due, write the receipt, give the result. */
  async #conclude<R, C>(plan: Plan<C>, row: OperationRow, replayed: boolean): Promise<EffectResult<R>> {
    let { facts } = row;
    if (row.state === 'applied' && row.receipt === undefined) {
      const found = await this.#readBack(plan, row);
      if (found.kind === 'denied') {
        const failed: ReceiptFacts = {
          ...facts,
          outcome: 'failed',
          stage: 'read_back',
          effectId: undefined,
          ...observation(facts.expected, found.seen),
          observedAt: this.#time(),
        };
        await this.#writeFailure(plan, row.effectId, failed);
        throw new EffectNotConfirmedError(plan.key.operationId, facts.receiptId, found.detail);
      }
      if (found.kind === 'confirmed') {
        facts = {
          ...facts,
          stage: 'read_back',
          ...observation(facts.expected, found.seen, facts.version),
          observedAt: this.#time(),
        };
      }
    }
    if (!replayed) {
      recordStage(row.state === 'applied' ? 'server.effect_confirmed' : 'server.effect_failed');
    }
    const receipt =
      row.receiptState === 'written'
        ? 'written'
        : await this.#receipts.write(plan.database, row, row.state, facts);
    if (receipt === 'written') {
      recordStage('receipt.enqueued', {
        [ATTR_RECEIPT_ID]: facts.receiptId,
        [ATTR_RECEIPT_STATE]: 'pending',
        ...(replayed ? { [ATTR_EFFECT_REPLAYED]: true } : {}),
      });
    }
    const base = {
      operationId: plan.key.operationId,
      operationIdSource: plan.ids.operationIdSource,
      receiptId: facts.receiptId,
      receipt,
      replayed,
    } as const;
    const value: unknown = row.result === undefined ? undefined : JSON.parse(row.result);
    return row.state === 'refused'
      ? { kind: 'refused', reason: String(value), ...base }
      : { kind: 'applied', value: value as R, effectId: row.effectId, ...base };
  }

  /** A read back that cannot be made proves nothing either way: the effect stays committed, and the problem is told. */
  async #readBack<C>(plan: Plan<C>, row: OperationRow): Promise<ReadBack | { readonly kind: 'unread' }> {
    const { readBack } = plan.request;
    try {
      return await plan.database.read(async (connection) => {
        const kept = await findOperation(connection, plan.key);
        const seen = await readBack?.(connection.connection);
        if (kept?.effectId !== row.effectId) {
          return {
            kind: 'denied',
            seen,
            detail: 'the transaction was reported as committed and is not there',
          };
        }
        if (readBack === undefined) return { kind: 'unread' };
        return judgeReadBack(row.facts.expected, row.facts.version, seen);
      });
    } catch (error) {
      this.#receipts.problem(`operation ${plan.key.operationId} could not be read back`, error);
      return { kind: 'unread' };
    }
  }

  /**
   * After a commit that failed: the row, when the commit took place nevertheless; undefined when it did not.
   *
   * @throws EffectUnknownError when that cannot be said.
   */
  async #keptAfterAll<C>(plan: Plan<C>, error: CommitError): Promise<OperationRow | undefined> {
    let row: OperationRow | undefined;
    try {
      row = await plan.database.read((connection) => findOperation(connection, plan.key));
    } catch {
      throw new EffectUnknownError(plan.key.operationId, error);
    }
    if (row?.effectId === plan.effectId) return row;
    if (!error.over) throw new EffectUnknownError(plan.key.operationId, error);
    return undefined;
  }

  /** The transaction is rolled back: the target is read for the version that it has, and a failed receipt written. */
  async #failed<C>(plan: Plan<C>): Promise<void> {
    const { readBack } = plan.request;
    let seenThere: Partial<ReceiptFacts> = {};
    if (readBack !== undefined) {
      try {
        const seen = await plan.database.read(async ({ connection }) => readBack(connection));
        seenThere = { ...observation(plan.request.expected, seen), stage: 'read_back' };
      } catch (problem) {
        this.#receipts.problem(`the target of operation ${plan.key.operationId} could not be read`, problem);
      }
    }
    const { facts } = newRow(plan, 1, this.#time());
    await this.#writeFailure(plan, plan.effectId, {
      ...facts,
      ...seenThere,
      observedAt: this.#time(),
    });
  }

  /** Keeps the failure beside the data, so that the same id may be tried again, and writes its receipt. */
  async #writeFailure<C>(plan: Plan<C>, effectId: string, facts: ReceiptFacts): Promise<void> {
    const row: OperationRow = { ...newRow(plan, facts.attempt, this.#time()), state: 'failed', facts };
    let saved = row;
    try {
      saved = await plan.database.transaction(async (tx) => {
        const known = await findOperation(tx, plan.key);
        const attempts =
          known === undefined ? 1 : known.effectId === effectId ? known.attempts : known.attempts + 1;
        const failed = { ...row, attempts, facts: { ...facts, attempt: attempts } };
        await saveOperation(tx, failed);
        return failed;
      });
    } catch (error) {
      this.#receipts.problem(`the failure of operation ${plan.key.operationId} could not be kept`, error);
    }
    recordStage('server.effect_failed');
    const receipt = await this.#receipts.write(plan.database, saved, 'failed', saved.facts);
    if (receipt === 'written') {
      recordStage('receipt.enqueued', {
        [ATTR_RECEIPT_ID]: facts.receiptId,
        [ATTR_RECEIPT_STATE]: 'pending',
      });
    }
  }
}
