import { defineRule, type Rule } from '../rule.js';
import { builtin } from './page.js';
import { placesOfOperation, toolOf } from './support.js';

export const duplicateEffect: Rule = defineRule({
  meta: {
    ...builtin('duplicate-effect'),
    description: 'One operation changed its target more than once.',
    messages: { twice: '{tool}: one operation took effect {count} times' },
    on: { verdicts: ['duplicate_effect'] },
    defaultOptions: undefined,
  },
  create: (context) => ({
    operation(operation) {
      if (operation.verdict.verdict !== 'duplicate_effect') return;
      const atLeast = operation.effects?.atLeast ?? 2;
      context.report({
        messageId: 'twice',
        data: {
          tool: toolOf(operation.calls[0]),
          count: operation.effects?.atMost === atLeast ? atLeast : `at least ${atLeast}`,
        },
        at: placesOfOperation(operation),
      });
    },
  }),
});
