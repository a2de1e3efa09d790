import { defineRule, type Rule } from '../rule.js';
import { builtin } from './page.js';

/** Reasons of the decision table under which a receipt stands against the target or against another receipt. */
const contradictions: Readonly<Record<string, string>> = {
  receipts_contradict: 'two receipts of one effect contradict each other',
  target_contradicts_receipt: 'the target contradicts the receipt',
  receipt_says_done_target_says_no: 'the receipt says that the change was made, the target does not hold it',
  receipt_says_failed_target_says_done: 'the receipt says that the change failed, the target holds it',
  outbox_says_done_target_says_no: 'the outbox says that the change was made, the target does not hold it',
};

/**
 * One rule for every way in which a receipt cannot be believed: it fails verification, or verified evidence stands
 * against it. Which of the two it is says the message (`invalid`, `contradicted`); for whoever acts on the finding both
 * mean the same: the receipt proves nothing here.
 */
export const receiptInvalid: Rule = defineRule({
  meta: {
    ...builtin('receipt-invalid'),
    description: 'A receipt fails verification, is of another operation, or is contradicted.',
    messages: {
      invalid: 'receipt {receipt} fails verification: {problem}',
      contradicted: '{problem}',
    },
    defaultOptions: undefined,
  },
  create: (context) => ({
    operation(operation) {
      let named = false;
      for (const receipt of operation.receipts) {
        if (receipt.verification !== 'invalid') continue;
        named = true;
        context.report({
          messageId: 'invalid',
          data: { receipt: receipt.receiptId, problem: receipt.problem ?? 'no reason recorded' },
          at: [receipt.at],
        });
      }
      const reason = operation.verdict.reason ?? '';
      if (named || operation.verdict.verdict !== 'evidence_conflict') return;
      const problem = Object.hasOwn(contradictions, reason) ? contradictions[reason] : undefined;
      if (problem === undefined) return;
      context.report({
        messageId: 'contradicted',
        data: { problem },
        at: [
          ...operation.receipts.map((receipt) => receipt.at),
          ...(operation.target ? [operation.target.at] : []),
        ],
      });
    },
  }),
});
