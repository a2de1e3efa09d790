import { defineRule, type Rule } from '../rule.js';
import { builtin } from './page.js';

export const receiptWithoutTrace: Rule = defineRule({
  meta: {
    ...builtin('receipt-without-trace'),
    description: 'A receipt shows a change of which there is no span at all.',
    messages: { alone: 'a receipt shows a change ({object}) of which no call was recorded' },
    needs: ['receipts'],
    defaultOptions: undefined,
  },
  create: (context) => ({
    operation(operation) {
      const [first] = operation.receipts;
      if (operation.calls.length > 0 || first === undefined) return;
      context.report({
        messageId: 'alone',
        data: { object: first.object ?? first.receiptId },
        at: operation.receipts.map((receipt) => receipt.at),
      });
    },
  }),
});
