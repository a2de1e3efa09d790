import { defineRule, type Rule } from '../rule.js';
import { builtin } from './page.js';
import { inOrder, placesOf, toldBy, toolOf } from './support.js';

const refusals: ReadonlySet<string> = new Set(['TOOL_ERROR', 'JSONRPC_ERROR', 'HTTP_ERROR']);

export const falseFailure: Rule = defineRule({
  meta: {
    ...builtin('false-failure'),
    description: 'The caller was told that the call failed, and the effect is there.',
    messages: { applied: '{tool} answered {outcome}, and the change was made all the same' },
    defaultOptions: undefined,
  },
  create: (context) => ({
    operation(operation) {
      if (!operation.verdict.flags.includes('false_failure')) return;
      const call = inOrder(operation.calls).findLast((leg) => refusals.has(toldBy(leg)?.outcome ?? ''));
      context.report({
        messageId: 'applied',
        data: {
          tool: toolOf(call ?? operation.calls[0]),
          outcome: (call && toldBy(call)?.outcome) ?? 'an error',
        },
        at: [...(call ? placesOf(call) : []), ...operation.receipts.map((receipt) => receipt.at)],
        ...(call ? { call } : {}),
      });
    },
  }),
});
