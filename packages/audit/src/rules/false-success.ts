import { defineRule, type Rule } from '../rule.js';
import { builtin } from './page.js';
import { inOrder, placesOf, toldBy, toolOf } from './support.js';

export const falseSuccess: Rule = defineRule({
  meta: {
    ...builtin('false-success'),
    description:
      'The caller was told that the change was made; a failure receipt or the target says it was not.',
    messages: {
      receipt: '{tool} reported success; its own receipt says that the change failed',
      target: '{tool} reported success; the target does not hold the change',
    },
    on: { verdicts: ['false_success'] },
    defaultOptions: undefined,
  },
  create: (context) => ({
    operation(operation) {
      if (operation.verdict.verdict !== 'false_success') return;
      const call = inOrder(operation.calls).find((leg) => toldBy(leg)?.outcome === 'TOOL_SUCCESS');
      const failures = operation.receipts.filter((receipt) => receipt.outcome !== 'applied');
      context.report({
        messageId: failures.length > 0 ? 'receipt' : 'target',
        data: { tool: toolOf(call ?? operation.calls[0]) },
        at: [
          ...(call ? placesOf(call) : []),
          ...failures.map((receipt) => receipt.at),
          ...(operation.target ? [operation.target.at] : []),
        ],
        ...(call ? { call } : {}),
      });
    },
  }),
});
