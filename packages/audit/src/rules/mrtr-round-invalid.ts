import { defineRule, type Call, type Rule } from '../rule.js';
import { builtin } from './page.js';
import { endedUnanswered, inOrder, placesOf, toldBy, toolOf } from './support.js';

const continuable: ReadonlySet<string> = new Set(['INPUT_REQUIRED', 'TASK_PENDING']);

export const mrtrRoundInvalid: Rule = defineRule({
  meta: {
    ...builtin('mrtr-round-invalid'),
    description:
      'A leg continues a call that asked for nothing, was of another tool, or had its answer already.',
    messages: {
      ended: '{tool}: a leg continues a call that had ended in {outcome} and asked for nothing',
      tool: '{tool}: a leg continues a call of another tool, {other}',
      again:
        '{tool}: the same request for input was answered by two legs, and the first of them had a response',
    },
    on: { minCalls: 2 },
    defaultOptions: undefined,
  },
  create: (context) => ({
    operation(operation) {
      const byId = new Map(operation.calls.map((call) => [call.callId, call]));
      const answered = new Map<string, Call>();
      for (const call of inOrder(operation.calls)) {
        const earlier = call.continues === undefined ? undefined : byId.get(call.continues);
        // A leg whose predecessor is not in the evidence lost a record; that is no wrong round.
        if (!earlier) continue;
        const at = [...placesOf(earlier), ...placesOf(call)];
        const outcome = toldBy(earlier)?.outcome;
        if (outcome !== undefined && !continuable.has(outcome)) {
          context.report({ messageId: 'ended', data: { tool: toolOf(call), outcome }, at, call });
        }
        if (call.tool !== undefined && earlier.tool !== undefined && call.tool !== earlier.tool) {
          context.report({ messageId: 'tool', data: { tool: call.tool, other: earlier.tool }, at, call });
        }
        const first = answered.get(earlier.callId);
        // Polls of a task repeat by design; so does a round whose first leg got no answer.
        if (first && outcome === 'INPUT_REQUIRED' && !endedUnanswered(first)) {
          context.report({
            messageId: 'again',
            data: { tool: toolOf(call) },
            at: [...placesOf(first), ...placesOf(call)],
            call,
          });
        }
        answered.set(earlier.callId, call);
      }
    },
  }),
});
