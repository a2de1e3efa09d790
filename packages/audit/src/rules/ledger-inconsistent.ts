import { defineRule, type Rule } from '../rule.js';
import { builtin } from './page.js';

export const ledgerInconsistent: Rule = defineRule({
  meta: {
    ...builtin('ledger-inconsistent'),
    description: 'The ledger contradicts its own proofs or a checkpoint that was kept outside it.',
    messages: { inconsistent: 'the ledger of this receipt is inconsistent: {problem}' },
    needs: ['ledger'],
    defaultOptions: undefined,
  },
  create: (context) => ({
    operation(operation) {
      for (const { problem, at } of operation.ledgerProblems ?? []) {
        context.report({ messageId: 'inconsistent', data: { problem }, at: [at] });
      }
    },
  }),
});
