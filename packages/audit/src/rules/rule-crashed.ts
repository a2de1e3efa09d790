import { defineRule, type Rule } from '../rule.js';
import { builtin } from './page.js';

/** Reported by the auditor itself when a rule throws: a rule that fails must never look like a rule that passed. */
export const ruleCrashed: Rule = defineRule({
  meta: {
    ...builtin('rule-crashed'),
    description: 'A rule threw an error; what it would have found is not known.',
    messages: { crashed: 'rule {rule} threw: {error}' },
    defaultOptions: undefined,
  },
  create: () => ({}),
});
