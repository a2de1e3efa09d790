import { defineRule, type Rule } from '../rule.js';
import { builtin } from './page.js';
import { mayHaveEffect, toolOf } from './support.js';

export const deliveryCount: Rule = defineRule({
  meta: {
    ...builtin('delivery-count'),
    description: 'A request that was sent once arrived at the server more than once.',
    messages: { repeated: '{tool}: one request arrived {count} times' },
    needs: ['server'],
    defaultOptions: undefined,
  },
  create: (context) => ({
    call(call) {
      const deliveries = call.deliveries ?? [];
      if (deliveries.length < 2) return;
      context.report({
        messageId: 'repeated',
        data: { tool: toolOf(call), count: deliveries.length },
        at: [...(call.client?.spans.slice(0, 1) ?? []), ...deliveries],
        call,
        ...(mayHaveEffect(call) ? {} : { level: 'info' as const }),
      });
    },
  }),
});
