/**
 * Receipts of real effects: `effect()` applies a change once per operation, reads its target back and writes a receipt
 * before the call returns. Works with and without the instrumentation.
 */
export { createEffects } from './effects.js';
export {
  CommitError,
  EffectNotConfirmedError,
  EffectUnknownError,
  OperationConflictError,
  OperationIdRequiredError,
} from './errors.js';
export { fileReceipts } from './file-receipts.js';
export type { FileReceipts } from './file-receipts.js';
export { OPERATION_TABLE } from './operations.js';
export { sqliteDatabase } from './sqlite.js';
export type { SqliteConnection } from './sqlite.js';
export type {
  EffectContext,
  EffectDatabase,
  EffectOutcome,
  EffectRequest,
  EffectResult,
  Effects,
  EffectsOptions,
  ReceiptSink,
  Seen,
  SqlConnection,
  SqlTx,
  Target,
} from './types.js';
export { classifyRetry } from './retry/classify-retry.js';
export { RETRY_DEFAULTS } from './retry/delay.js';
export { outcomeOfError, outcomeOfResult } from './retry/outcome-of-error.js';
export { retryAdvice, retrying } from './retry/retrying.js';
export type { RetryingOptions, ToolCaller } from './retry/retrying.js';
export type {
  RetryAdvice,
  RetryContract,
  RetryDecision,
  RetryNeed,
  RetryOutcome,
  RetryProgress,
  RetryTool,
} from './retry/types.js';
