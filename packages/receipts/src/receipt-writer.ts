import { messageOf } from './errors.js';
import { fixReceipt, markWritten } from './operations.js';
import type { OperationRow, OperationState } from './operations.js';
import { receiptLine } from './receipt-line.js';
import type { Speaker } from './receipt-line.js';
import type { EffectDatabase, ReceiptFacts, ReceiptSink } from './types.js';

/** Brings receipts from the operation's row to the sink, so that a crash at any point leaves one receipt in the end. */
export class ReceiptWriter {
  readonly #speaker: Speaker;
  readonly #sink: ReceiptSink;
  readonly #onProblem: ((problem: Error) => void) | undefined;

  constructor(speaker: Speaker, sink: ReceiptSink, onProblem: ((problem: Error) => void) | undefined) {
    this.#speaker = speaker;
    this.#sink = sink;
    this.#onProblem = onProblem;
  }

  /** The row of a failed attempt is taken over by the next one; its receipt must not go with it. */
  async appendBeforeOverwriting(row: OperationRow): Promise<void> {
    try {
      await this.#sink.append(row.receipt ?? (await receiptLine(row.facts, this.#speaker)));
    } catch (error) {
      this.problem(`the receipt of an earlier attempt of operation ${row.operationId} is lost`, error);
    }
  }

  /** Fixes the line beside the data, appends it durably, and notes that it was. Never throws. */
  async write<C>(
    database: EffectDatabase<C>,
    row: OperationRow,
    state: OperationState,
    facts: ReceiptFacts,
  ): Promise<'written' | 'owed'> {
    try {
      const own = row.receipt ?? (await receiptLine(facts, this.#speaker));
      let line = own;
      try {
        line = (await database.transaction((tx) => fixReceipt(tx, row, facts.receiptId, state, own))) ?? own;
      } catch (error) {
        // The database that failed is no reason to withhold the receipt of its failure.
        if (facts.outcome !== 'failed') throw error;
      }
      await this.#sink.append(line);
      await database
        .transaction((tx) => markWritten(tx, row, line))
        .catch((error: unknown) => {
          // It will be appended once more, with the same bytes and the same receipt id.
          this.problem(`the receipt of operation ${row.operationId} is written but not noted`, error);
        });
      return 'written';
    } catch (error) {
      this.problem(`the receipt of operation ${row.operationId} could not be written and stays owed`, error);
      return 'owed';
    }
  }

  /** Tells of a receipt that is not where it should be. Never throws. */
  problem(what: string, cause: unknown): void {
    const problem = new Error(`${what}: ${messageOf(cause)}`, { cause });
    if (this.#onProblem === undefined) {
      process.emitWarning(problem.message, 'WaybillReceiptWarning');
      return;
    }
    try {
      this.#onProblem(problem);
    } catch {
      // The effect is settled; a listener that fails must not undo what its caller is told.
    }
  }
}
