/** The operation id is known with other parameters: a new intention needs a new id. Nothing was executed. */
export class OperationConflictError extends Error {
  override readonly name = 'OperationConflictError';
  readonly code = 'idempotency_conflict';
  readonly operationId: string;
  constructor(operationId: string) {
    super(
      `operation ${operationId} was already used with other parameters; nothing was executed. ` +
        'Repeat the first parameters to get its result, or name a new operation',
    );
    this.operationId = operationId;
  }
}

/** Nobody named the operation and the server demands a name. Nothing was executed. */
export class OperationIdRequiredError extends Error {
  override readonly name = 'OperationIdRequiredError';
  readonly code = 'idempotency_key_required';
  constructor() {
    super(
      'this effect needs an operation id: send one in _meta (io.waybill/operationId), so that a repeat can be recognised',
    );
  }
}

/** A transaction could not be committed. */
export class CommitError extends Error {
  override readonly name = 'CommitError';
  /**
   * True when the transaction is over (rolled back, or its connection closed), so that reading the database decides
   * whether it was committed. False when it may still be committed, for instance after a lost connection to a server.
   */
  readonly over: boolean;
  constructor(over: boolean, cause: unknown) {
    super(`the transaction could not be committed: ${messageOf(cause)}`, { cause });
    this.over = over;
  }
}

/** The target does not show what was applied. A `failed` receipt with the version seen was written. */
export class EffectNotConfirmedError extends Error {
  override readonly name = 'EffectNotConfirmedError';
  readonly operationId: string;
  readonly receiptId: string;
  constructor(operationId: string, receiptId: string, detail: string) {
    super(`operation ${operationId} is not confirmed by its target: ${detail}`);
    this.operationId = operationId;
    this.receiptId = receiptId;
  }
}

/** Neither commit nor roll-back is proven: the effect may be there. Read the target before repeating. */
export class EffectUnknownError extends Error {
  override readonly name = 'EffectUnknownError';
  readonly operationId: string;
  constructor(operationId: string, cause: unknown) {
    super(`whether operation ${operationId} was applied is not known: ${messageOf(cause)}`, { cause });
    this.operationId = operationId;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
