import { defineRule, type Rule } from '../rule.js';
import { builtin } from './page.js';
import { endedUnanswered, inOrder, outcomeOf, placesOf, toolOf } from './support.js';

export const replyLost: Rule = defineRule({
  meta: {
    ...builtin('reply-lost'),
    description: 'The work was done or begun, and no response of the server reached the caller on any leg.',
    messages: {
      lost: '{tool}: no response reached the caller ({told}); {effect}',
      cancelled: '{tool}: the caller cancelled and saw no response; {effect}',
    },
    defaultOptions: undefined,
  },
  create: (context) => ({
    operation(operation) {
      if (!operation.verdict.flags.includes('reply_lost')) return;
      const calls = inOrder(operation.calls).filter(endedUnanswered);
      const last = calls.at(-1);
      const told = outcomeOf(last?.client);
      // Who cancels does not wait for a reply; losing it is what was asked for.
      const cancelled = told?.outcome === 'CANCELLED';
      context.report({
        messageId: cancelled ? 'cancelled' : 'lost',
        data: {
          tool: toolOf(last ?? operation.calls[0]),
          told: told ? (told.reason ? `${told.outcome}, ${told.reason}` : told.outcome) : 'no outcome',
          effect:
            operation.verdict.verdict === 'verified_done'
              ? 'the change was made'
              : 'whether it was made is judged apart',
        },
        at: last ? placesOf(last) : [],
        ...(last ? { call: last } : {}),
        ...(cancelled ? { level: 'info' as const } : {}),
      });
    },
  }),
});
