/** The auditor's own rules. Each is a file here, a test beside it and a page in `docs/rules/`, all of one name. */
import type { Rule } from '../rule.js';
import { duplicateEffect } from './duplicate-effect.js';
import { evidenceLost } from './evidence-lost.js';
import { falseFailure } from './false-failure.js';
import { falseSuccess } from './false-success.js';
import { inputDamaged } from './input-damaged.js';
import { maskedOutcome } from './masked-outcome.js';
import { missingStage } from './missing-stage.js';
import { replyLost } from './reply-lost.js';
import { ruleCrashed } from './rule-crashed.js';
import { streamWithoutResult } from './stream-without-result.js';
import { successWithoutReceipt } from './success-without-receipt.js';
import { unsafeRetry } from './unsafe-retry.js';

export { formatMessage } from './message.js';

/** In the order of their pages; the report is sorted, so the order here changes nothing. */
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
];
