import { defineRule, type Call, type Operation, type Rule } from '../rule.js';
import { builtin } from './page.js';
import { compare, mayHaveEffect, placesOf, toolOf } from './support.js';

interface Tool {
  count: number;
  first: { readonly operation: Operation; readonly call: Call };
}

export const generatedOperationId: Rule = defineRule({
  meta: {
    ...builtin('generated-operation-id'),
    description: 'A tool that changes something was called without an operation id of the caller.',
    messages: {
      generated:
        '{tool}: {count} operation(s) without an id of the caller; a repeat of one cannot be told from a new intention',
    },
    on: { effectKinds: ['write', 'destructive', 'unknown'] },
    defaultOptions: undefined,
  },
  create: (context) => {
    const tools = new Map<string, Tool>();
    return {
      operation(operation) {
        const call = operation.calls.find(mayHaveEffect);
        if (call === undefined) return;
        if (operation.operationId !== undefined && operation.idSource !== 'generated') return;
        context.keep();
        const known = tools.get(toolOf(call));
        if (known === undefined) tools.set(toolOf(call), { count: 1, first: { operation, call } });
        else {
          known.count += 1;
          // The smallest key stands for the tool: the order of visits must not show in the report.
          if (compare(operation.key, known.first.operation.key) < 0) known.first = { operation, call };
        }
      },
      end() {
        for (const [tool, { count, first }] of tools) {
          context.report({
            messageId: 'generated',
            data: { tool, count },
            at: placesOf(first.call),
            call: first.call,
            operation: first.operation,
          });
        }
      },
    };
  },
});
