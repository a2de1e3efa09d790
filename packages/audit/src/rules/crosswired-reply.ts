import { ATTR_REPLY_CALL_ID, ATTR_RESULT_DIGEST } from '@waybill/core';
import { defineRule, type Rule } from '../rule.js';
import { builtin } from './page.js';
import { placesOf, textAttribute, toldBy, toolOf } from './support.js';

export const crosswiredReply: Rule = defineRule({
  meta: {
    ...builtin('crosswired-reply'),
    description: 'The caller was given a result that the server did not send for this call.',
    messages: {
      named: '{tool}: the client received the reply that the server made for call {other}',
      swapped: '{tool}: the client received another result than the server sent for this call',
    },
    needs: ['client'],
    on: { outcomes: ['TOOL_SUCCESS', 'TOOL_ERROR'] },
    defaultOptions: undefined,
  },
  create: (context) => ({
    call(call) {
      const outcome = toldBy(call)?.outcome;
      if (outcome !== 'TOOL_SUCCESS' && outcome !== 'TOOL_ERROR') return;
      // The server wrote into the reply whose it is; that needs no digest, and no record of the server.
      const other = textAttribute(call.client, ATTR_REPLY_CALL_ID);
      if (other !== undefined && other !== call.callId) {
        const data = { tool: toolOf(call), other };
        context.report({ messageId: 'named', data, at: placesOf(call), call });
        return;
      }
      // One request that arrived twice has two results; which one came back is no mix-up.
      if ((call.deliveries?.length ?? 1) > 1) return;
      const received = textAttribute(call.client, ATTR_RESULT_DIGEST);
      const sent = textAttribute(call.server, ATTR_RESULT_DIGEST);
      if (received === undefined || sent === undefined || received === sent) return;
      context.report({ messageId: 'swapped', data: { tool: toolOf(call) }, at: placesOf(call), call });
    },
  }),
});
