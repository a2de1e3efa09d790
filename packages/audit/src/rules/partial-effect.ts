import { defineRule, type Rule } from '../rule.js';
import { builtin } from './page.js';
import { placesOfOperation, toolOf } from './support.js';

export const partialEffect: Rule = defineRule({
  meta: {
    ...builtin('partial-effect'),
    description: 'Of several changes that belong together only some were made.',
    messages: { partial: '{tool}: some of the changes of this operation were made and some were not' },
    defaultOptions: undefined,
  },
  create: (context) => ({
    operation(operation) {
      if (!operation.verdict.flags.includes('partial_effect')) return;
      context.report({
        messageId: 'partial',
        data: { tool: toolOf(operation.calls[0]) },
        at: placesOfOperation(operation),
      });
    },
  }),
});
