import { ATTR_ARGS_DIGEST } from '@waybill/core';
import { defineRule, type Call, type Rule } from '../rule.js';
import { builtin } from './page.js';
import { attempts, placesOf, textAttribute, toolOf } from './support.js';

function digestOf(call: Call): string | undefined {
  return textAttribute(call.client, ATTR_ARGS_DIGEST) ?? textAttribute(call.server, ATTR_ARGS_DIGEST);
}

export const operationKeyReused: Rule = defineRule({
  meta: {
    ...builtin('operation-key-reused'),
    description: 'One operation id was used for two different requests.',
    messages: {
      tool: 'one operation id stands for calls of two tools, {first} and {second}',
      arguments: '{second}: one operation id stands for calls with different arguments',
      judged: '{second}: one operation id stands for two sets of parameters',
    },
    defaultOptions: undefined,
  },
  create: (context) => ({
    operation(operation) {
      const [first, ...others] = attempts(operation);
      if (first === undefined) return;
      for (const call of others) {
        const digests = [digestOf(first), digestOf(call)];
        const otherTool = first.tool !== undefined && call.tool !== undefined && first.tool !== call.tool;
        const otherArguments =
          digests[0] !== undefined && digests[1] !== undefined && digests[0] !== digests[1];
        if (!otherTool && !otherArguments) continue;
        context.report({
          messageId: otherTool ? 'tool' : 'arguments',
          data: { first: toolOf(first), second: toolOf(call) },
          at: [...placesOf(first), ...placesOf(call)],
          call,
        });
        return;
      }
      if (operation.verdict.reason !== 'same_key_different_params') return;
      context.report({
        messageId: 'judged',
        data: { second: toolOf(first) },
        at: operation.calls.flatMap(placesOf),
      });
    },
  }),
});
