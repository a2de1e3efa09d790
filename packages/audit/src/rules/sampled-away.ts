import { defineRule, type Gap, type Operation, type Rule } from '../rule.js';
import { builtin } from './page.js';
import { compare } from './support.js';

export const sampledAway: Rule = defineRule({
  meta: {
    ...builtin('sampled-away'),
    description: 'Sampling before this input removed spans, so that absence proves nothing here.',
    messages: {
      sampled:
        '{count} operation(s) show that spans were sampled before they came here; send the audit branch unsampled',
    },
    defaultOptions: undefined,
  },
  create: (context) => {
    let count = 0;
    let first: { readonly operation: Operation; readonly gap: Gap } | undefined;
    return {
      operation(operation) {
        const gap = operation.gaps.find((candidate) => candidate.kind === 'unsampled');
        if (gap === undefined) return;
        context.keep();
        count += 1;
        if (!first || compare(operation.key, first.operation.key) < 0) first = { operation, gap };
      },
      // Once for the whole input: it is one setting somewhere, not a fault of each call.
      end() {
        if (!first) return;
        context.report({
          messageId: 'sampled',
          data: { count },
          at: [first.gap.at],
          operation: first.operation,
        });
      },
    };
  },
});
