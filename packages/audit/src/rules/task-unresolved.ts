import { defineRule, type Rule } from '../rule.js';
import { builtin } from './page.js';
import { inOrder, placesOf, toldBy, toolOf } from './support.js';

export const taskUnresolved: Rule = defineRule({
  meta: {
    ...builtin('task-unresolved'),
    description: 'A task handle came back instead of a result, and no later leg fetched the result.',
    messages: { pending: '{tool}: the task was last seen pending, {ms} ms before the end of the evidence' },
    on: { outcomes: ['TASK_PENDING'] },
    defaultOptions: undefined,
  },
  create: (context) => ({
    operation(operation) {
      const last = inOrder(operation.calls).at(-1);
      if (last === undefined || toldBy(last)?.outcome !== 'TASK_PENDING') return;
      const since = context.asOfUnixNano - (last.endTimeUnixNano ?? last.startTimeUnixNano);
      // Inside the grace period the next poll may simply not be there yet.
      if (since <= context.graceNano) return;
      context.report({
        messageId: 'pending',
        data: { tool: toolOf(last), ms: Number(since / 1_000_000n) },
        at: placesOf(last),
        call: last,
      });
    },
  }),
});
