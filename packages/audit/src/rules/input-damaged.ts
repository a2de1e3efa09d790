import { defineRule, type Rule } from '../rule.js';
import { builtin } from './page.js';

/** Reported by the auditor itself, which alone knows the inputs; here are its level, words and page. */
export const inputDamaged: Rule = defineRule({
  meta: {
    ...builtin('input-damaged'),
    description: 'A part of an input could not be read; the rest of it was judged.',
    messages: { damaged: '{place}: {reason}. Remedy: {remedy}' },
    defaultOptions: undefined,
  },
  create: () => ({}),
});
