import { defineRule, type Rule } from '../rule.js';
import { builtin } from './page.js';
import { inOrder, placesOf, toldBy, toolOf } from './support.js';

export const inputRequiredUnanswered: Rule = defineRule({
  meta: {
    ...builtin('input-required-unanswered'),
    description: 'The server asked for input to go on, and no later leg brought it.',
    messages: {
      waiting:
        '{tool}: the server asked for input {ms} ms before the end of the evidence, and no leg answered',
    },
    on: { outcomes: ['INPUT_REQUIRED'] },
    defaultOptions: undefined,
  },
  create: (context) => ({
    operation(operation) {
      const calls = inOrder(operation.calls);
      const asked = calls.at(-1);
      if (asked === undefined || toldBy(asked)?.outcome !== 'INPUT_REQUIRED') return;
      const since = context.asOfUnixNano - (asked.endTimeUnixNano ?? asked.startTimeUnixNano);
      // Inside the grace period the answer may simply not be there yet.
      if (since <= context.graceNano) return;
      context.report({
        messageId: 'waiting',
        data: { tool: toolOf(asked), ms: Number(since > 0n ? since / 1_000_000n : 0n) },
        at: placesOf(asked),
        call: asked,
      });
    },
  }),
});
