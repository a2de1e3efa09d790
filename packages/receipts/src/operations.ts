/**
 * The table `waybill_operation`: one row per operation id and scope, written in the transaction of the effect. It is
 * what recognises a repeat, what proves after a crash that the effect was committed, and what keeps a receipt owed
 * until the sink has it.
 */
import type { ReceiptFacts, SqlTx } from './types.js';

/** The table, for services whose database user may not create it. Understood by SQLite and PostgreSQL. */
export const OPERATION_TABLE = `CREATE TABLE IF NOT EXISTS waybill_operation (
  scope TEXT NOT NULL,
  operation_id TEXT NOT NULL,
  params_hash TEXT NOT NULL,
  state TEXT NOT NULL,
  effect_id TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  result TEXT,
  facts TEXT NOT NULL,
  receipt TEXT,
  receipt_state TEXT NOT NULL,
  PRIMARY KEY (scope, operation_id)
)`;

/** `running` is never seen from outside: it lives inside the transaction that settles it. */
export type OperationState = 'running' | 'applied' | 'refused' | 'failed';

export interface OperationRow {
  readonly scope: string;
  readonly operationId: string;
  readonly paramsHash: string;
  readonly state: OperationState;
  readonly effectId: string;
  readonly attempts: number;
  /** JSON: the value of an applied effect, the reason of a refused one. */
  readonly result: string | undefined;
  /** What the receipt would say as far as the transaction knew it. */
  readonly facts: ReceiptFacts;
  /** The receipt's line once it is final: a repeated append has the same bytes. */
  readonly receipt: string | undefined;
  readonly receiptState: 'owed' | 'written';
}

export interface OperationKey {
  readonly scope: string;
  readonly operationId: string;
}

const COLUMNS =
  'scope, operation_id, params_hash, state, effect_id, attempts, result, facts, receipt, receipt_state';

export async function findOperation(tx: SqlTx, key: OperationKey): Promise<OperationRow | undefined> {
  const { rows } = await tx.exec(
    `SELECT ${COLUMNS} FROM waybill_operation WHERE scope = $1 AND operation_id = $2`,
    [key.scope, key.operationId],
  );
  const [row] = rows;
  return row === undefined ? undefined : operationRow(row);
}

export async function owedOperations(tx: SqlTx): Promise<readonly OperationRow[]> {
  const { rows } = await tx.exec(
    `SELECT ${COLUMNS} FROM waybill_operation WHERE receipt_state = 'owed' ORDER BY scope, operation_id`,
    [],
  );
  return rows.map(operationRow);
}

/** Writes a row, new or over the one of an earlier attempt. */
export async function saveOperation(tx: SqlTx, row: OperationRow): Promise<void> {
  await tx.exec(
    `INSERT INTO waybill_operation (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     ON CONFLICT (scope, operation_id) DO UPDATE SET params_hash = excluded.params_hash, state = excluded.state,
       effect_id = excluded.effect_id, attempts = excluded.attempts, result = excluded.result,
       facts = excluded.facts, receipt = excluded.receipt, receipt_state = excluded.receipt_state`,
    [
      row.scope,
      row.operationId,
      row.paramsHash,
      row.state,
      row.effectId,
      row.attempts,
      row.result ?? null,
      JSON.stringify(row.facts),
      row.receipt ?? null,
      row.receiptState,
    ],
  );
}

/**
 * Fixes the line of a receipt, once: of two writers the first wins and both append its bytes.
 *
 * @returns the line that stands; undefined when the row is gone or belongs to a later attempt.
 */
export async function fixReceipt(
  tx: SqlTx,
  key: OperationKey,
  receiptId: string,
  state: OperationState,
  line: string,
): Promise<string | undefined> {
  const row = await findOperation(tx, key);
  if (row?.facts.receiptId !== receiptId) return undefined;
  if (row.receipt !== undefined) return row.receipt;
  await saveOperation(tx, { ...row, state, receipt: line });
  return line;
}

export async function markWritten(tx: SqlTx, key: OperationKey, line: string): Promise<void> {
  await tx.exec(
    `UPDATE waybill_operation SET receipt_state = 'written' WHERE scope = $1 AND operation_id = $2 AND receipt = $3`,
    [key.scope, key.operationId, line],
  );
}

function operationRow(row: Readonly<Record<string, unknown>>): OperationRow {
  const state = text(row, 'state');
  const receiptState = text(row, 'receipt_state');
  if (!isState(state) || (receiptState !== 'owed' && receiptState !== 'written')) {
    throw new Error(`waybill_operation holds a row with state ${state} and receipt_state ${receiptState}`);
  }
  return {
    scope: text(row, 'scope'),
    operationId: text(row, 'operation_id'),
    paramsHash: text(row, 'params_hash'),
    state,
    effectId: text(row, 'effect_id'),
    attempts: Number(row['attempts']),
    result: optionalText(row, 'result'),
    facts: JSON.parse(text(row, 'facts')) as ReceiptFacts,
    receipt: optionalText(row, 'receipt'),
    receiptState,
  };
}

function isState(value: string): value is OperationState {
  return value === 'running' || value === 'applied' || value === 'refused' || value === 'failed';
}

function text(row: Readonly<Record<string, unknown>>, column: string): string {
  const value = optionalText(row, column);
  if (value === undefined) throw new Error(`waybill_operation.${column} is empty`);
  return value;
}

function optionalText(row: Readonly<Record<string, unknown>>, column: string): string | undefined {
  const value = row[column];
  return typeof value === 'string' ? value : undefined;
}
