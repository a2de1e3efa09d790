import { ATTR_SDK_ACCEPTED, ATTR_SDK_OUTCOME } from '@waybill/core';
import { defineRule, type Rule } from '../rule.js';
import { builtin } from './page.js';
import { outcomeOf, placesOf, seen, toolOf } from './support.js';

/** Outcomes that an SDK may hand to its caller as they are. */
const plain: ReadonlySet<string> = new Set(['TOOL_SUCCESS', 'TOOL_ERROR', 'INPUT_REQUIRED', 'TASK_PENDING']);
const failures: ReadonlySet<string> = new Set(['TOOL_ERROR', 'JSONRPC_ERROR']);

export const maskedOutcome: Rule = defineRule({
  meta: {
    ...builtin('masked-outcome'),
    description: 'The caller was shown something better than what was on the wire.',
    messages: {
      accepted: '{tool}: the reply was {outcome}, and the SDK gave it to its caller as a result',
      sides: '{tool}: the client shows {client}, the server answered {server}',
    },
    needs: ['client'],
    defaultOptions: undefined,
  },
  create: (context) => ({
    call(call) {
      const client = outcomeOf(call.client);
      if (client === undefined) return;
      const sdk = seen(call.client?.attribute(ATTR_SDK_OUTCOME));
      const accepted = seen(call.client?.attribute(ATTR_SDK_ACCEPTED)) === true || sdk === 'TOOL_SUCCESS';
      if (accepted && !plain.has(client.outcome)) {
        context.report({
          messageId: 'accepted',
          data: {
            tool: toolOf(call),
            outcome: client.reason ? `${client.outcome} (${client.reason})` : client.outcome,
          },
          at: placesOf(call),
          call,
        });
        return;
      }
      const server = outcomeOf(call.server);
      if (client.outcome !== 'TOOL_SUCCESS' || server === undefined || !failures.has(server.outcome)) return;
      context.report({
        messageId: 'sides',
        data: { tool: toolOf(call), client: client.outcome, server: server.outcome },
        at: placesOf(call),
        call,
        certainty: 'suspected',
        // Where both sides saw the wire, one of two records is wrong, and which one cannot be known from here.
        ...(client.source === 'derived' ? {} : { level: 'info' as const }),
      });
    },
  }),
});
