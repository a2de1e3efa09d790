import { defineRule, type Rule } from '../rule.js';
import { builtin } from './page.js';

export const receiptUnbound: Rule = defineRule({
  meta: {
    ...builtin('receipt-unbound'),
    description: 'A receipt does not name the target and the version that it is about.',
    messages: {
      unbound:
        'receipt {receipt} names no target id or no version, so nothing can be held against the target',
    },
    needs: ['receipts'],
    defaultOptions: undefined,
  },
  create: (context) => ({
    operation(operation) {
      for (const receipt of operation.receipts) {
        if (receipt.bound !== false) continue;
        context.report({ messageId: 'unbound', data: { receipt: receipt.receiptId }, at: [receipt.at] });
      }
    },
  }),
});
