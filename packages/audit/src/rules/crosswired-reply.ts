import { ATTR_RESULT_DIGEST } from '@waybill/core';
import { defineRule, type Rule } from '../rule.js';
import { builtin } from './page.js';
import { placesOf, textAttribute, toldBy, toolOf } from './support.js';

export const crosswiredReply: Rule = defineRule({
  meta: {
    ...builtin('crosswired-reply'),
    description: 'The caller was given a result that the server did not send for this call.',
    messages: { swapped: '{tool}: the client received another result than the server sent for this call' },
    needs: ['client', 'server'],
    on: { outcomes: ['TOOL_SUCCESS', 'TOOL_ERROR'] },
    defaultOptions: undefined,
  },
  create: (context) => ({
    call(call) {
      const outcome = toldBy(call)?.outcome;
      if (outcome !== 'TOOL_SUCCESS' && outcome !== 'TOOL_ERROR') return;
      // One request that arrived twice has two results; which one came back is no mix-up.
      if ((call.deliveries?.length ?? 1) > 1) return;
      const received = textAttribute(call.client, ATTR_RESULT_DIGEST);
      const sent = textAttribute(call.server, ATTR_RESULT_DIGEST);
      if (received === undefined || sent === undefined || received === sent) return;
      context.report({ messageId: 'swapped', data: { tool: toolOf(call) }, at: placesOf(call), call });
    },
  }),
});
