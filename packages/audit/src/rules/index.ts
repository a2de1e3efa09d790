/** The auditor's own rules. Each is a file here, a test beside it and a page in `docs/rules/`, all of one name. */
import type { Rule } from '../rule.js';
import { brokenContext } from './broken-context.js';
import { clockOrder } from './clock-order.js';
import { crosswiredReply } from './crosswired-reply.js';
import { deliveryCount } from './delivery-count.js';
import { duplicateEffect } from './duplicate-effect.js';
import { duplicateIntent } from './duplicate-intent.js';
import { effectAfterGivingUp } from './effect-after-giving-up.js';
import { evidenceLost } from './evidence-lost.js';
import { falseFailure } from './false-failure.js';
import { falseSuccess } from './false-success.js';
import { generatedOperationId } from './generated-operation-id.js';
import { inputDamaged } from './input-damaged.js';
import { inputRequiredUnanswered } from './input-required-unanswered.js';
import { ledgerInconsistent } from './ledger-inconsistent.js';
import { maskedOutcome } from './masked-outcome.js';
import { missingStage } from './missing-stage.js';
import { mrtrRoundInvalid } from './mrtr-round-invalid.js';
import { operationKeyReused } from './operation-key-reused.js';
import { partialEffect } from './partial-effect.js';
import { receiptInvalid } from './receipt-invalid.js';
import { receiptUnbound } from './receipt-unbound.js';
import { receiptWithoutTrace } from './receipt-without-trace.js';
import { replyLost } from './reply-lost.js';
import { ruleCrashed } from './rule-crashed.js';
import { sampledAway } from './sampled-away.js';
import { sequenceGap } from './sequence-gap.js';
import { statusMismatch } from './status-mismatch.js';
import { streamWithoutResult } from './stream-without-result.js';
import { successWithoutReceipt } from './success-without-receipt.js';
import { taskUnresolved } from './task-unresolved.js';
import { unsafeRetry } from './unsafe-retry.js';

export { formatMessage } from './message.js';

/** The order changes nothing: visits are independent and the report is sorted. */
export const builtinRules: readonly Rule<unknown>[] = [
  missingStage,
  streamWithoutResult,
  successWithoutReceipt,
  falseSuccess,
  inputDamaged,
  ruleCrashed,
  replyLost,
  falseFailure,
  evidenceLost,
  duplicateEffect,
  maskedOutcome,
  unsafeRetry,
  duplicateIntent,
  statusMismatch,
  brokenContext,
  clockOrder,
  effectAfterGivingUp,
  inputRequiredUnanswered,
  mrtrRoundInvalid,
  taskUnresolved,
  receiptWithoutTrace,
  receiptUnbound,
  receiptInvalid,
  ledgerInconsistent,
  crosswiredReply,
  operationKeyReused,
  sequenceGap,
  deliveryCount,
  partialEffect,
  generatedOperationId,
  sampledAway,
];
