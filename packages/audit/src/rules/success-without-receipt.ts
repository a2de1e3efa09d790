import { defineRule, type Call, type Operation, type Rule } from '../rule.js';
import { builtin } from './page.js';
import { compare, inOrder, mayHaveEffect, placesOf, toldBy, toolOf } from './support.js';

function successfulCall(operation: Operation): Call | undefined {
  return inOrder(operation.calls).find(
    (call) => mayHaveEffect(call) && toldBy(call)?.outcome === 'TOOL_SUCCESS',
  );
}

function hasReceipt(operation: Operation): boolean {
  return operation.receipts.some(
    (receipt) => receipt.outcome === 'applied' && receipt.verification !== 'invalid',
  );
}

interface Undeclared {
  calls: number;
  first: { readonly operation: Operation; readonly call: Call };
}

export const successWithoutReceipt: Rule = defineRule({
  meta: {
    ...builtin('success-without-receipt'),
    description: 'A tool that changes something reported success and no receipt shows the change.',
    messages: {
      missing: '{tool} reported success; no receipt shows that the change was applied',
      awaited: '{tool} reported success; its receipt is still within the grace period',
      undeclared:
        '{tool} reported success {count} time(s) and no receipts were declared for it: nothing here proves an effect',
    },
    on: { effectKinds: ['write', 'destructive', 'unknown'] },
    defaultOptions: undefined,
  },
  create: (context) => {
    const undeclared = new Map<string, Undeclared>();
    return {
      operation(operation) {
        if (operation.owesReceipt === 'no' || hasReceipt(operation)) return;
        const call = successfulCall(operation);
        if (call === undefined) return;
        if (operation.owesReceipt === 'undeclared') {
          context.keep();
          const known = undeclared.get(toolOf(call));
          if (known === undefined) undeclared.set(toolOf(call), { calls: 1, first: { operation, call } });
          else {
            known.calls += 1;
            // The smallest key stands for the tool: the order of visits must not show in the report.
            if (compare(operation.key, known.first.operation.key) < 0) known.first = { operation, call };
          }
          return;
        }
        const awaited = operation.verdict.action === 'wait';
        context.report({
          messageId: awaited ? 'awaited' : 'missing',
          data: { tool: toolOf(call) },
          at: placesOf(call),
          call,
          ...(awaited ? { level: 'info' as const } : {}),
        });
      },
      end() {
        for (const [tool, { calls, first }] of undeclared) {
          context.report({
            messageId: 'undeclared',
            data: { tool, count: calls },
            at: placesOf(first.call),
            call: first.call,
            operation: first.operation,
            level: 'info',
          });
        }
      },
    };
  },
});
