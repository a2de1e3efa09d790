import { ATTR_RPC_RESPONSE_STATUS_CODE, CLIENT_FAULT_CODES } from '@waybill/core';
import { defineRule, type Rule, type Side, type SideOutcome } from '../rule.js';
import { builtin } from './page.js';
import { outcomeOf, seen, toolOf } from './support.js';

const good: ReadonlySet<string> = new Set(['TOOL_SUCCESS', 'INPUT_REQUIRED', 'TASK_PENDING']);

/** What the conventions want; undefined where both are right. */
function wantedStatus(
  name: 'client' | 'server',
  side: Side,
  outcome: SideOutcome,
): 'error' | 'no error' | undefined {
  if (good.has(outcome.outcome)) return 'no error';
  if (outcome.outcome === 'CANCELLED') return name === 'client' ? 'no error' : undefined;
  if (name === 'client') return 'error';
  if (outcome.outcome === 'TOOL_ERROR') return 'error';
  // On the server the client's own mistakes are no error, and what happened to its reply is not its outcome.
  if (outcome.outcome !== 'JSONRPC_ERROR') return undefined;
  const code = Number(seen(side.attribute(ATTR_RPC_RESPONSE_STATUS_CODE)) ?? Number.NaN);
  return CLIENT_FAULT_CODES.includes(code) ? undefined : Number.isNaN(code) ? undefined : 'error';
}

export const statusMismatch: Rule = defineRule({
  meta: {
    ...builtin('status-mismatch'),
    description: 'The status of a span says something else than the outcome of its call.',
    messages: {
      hidden: '{tool}: the {side} span has status {status} although the call ended in {outcome}',
      raised: '{tool}: the {side} span has status error although the call ended in {outcome}',
    },
    defaultOptions: undefined,
  },
  create: (context) => ({
    call(call) {
      for (const name of ['client', 'server'] as const) {
        const side = call[name];
        const outcome = outcomeOf(side);
        // An outcome that was derived from the status cannot contradict it.
        if (!side?.status || !outcome || outcome.source === 'derived') continue;
        const wanted = wantedStatus(name, side, outcome);
        const isError = side.status === 'error';
        if (wanted === undefined || (wanted === 'error') === isError) continue;
        context.report({
          messageId: isError ? 'raised' : 'hidden',
          data: { tool: toolOf(call), side: name, status: side.status, outcome: outcome.outcome },
          at: side.spans.slice(0, 1),
          call,
        });
      }
    },
  }),
});
