import type { ClientStage } from '@waybill/core';
import { defineRule, type Call, type Rule } from '../rule.js';
import { builtin } from './page.js';
import { mayHaveEffect, milliseconds, placeOfStage, stageOf, toolOf } from './support.js';

const givingUp: readonly ClientStage[] = ['client.timeout', 'client.cancelled', 'client.failed'];

/** The two hosts' clocks agree at least on the order of request and reception; otherwise they compare nothing. */
function clocksAgree(call: Call): boolean {
  const sent = stageOf(call.client, 'client.sent');
  const received = stageOf(call.server, 'server.received');
  return sent !== undefined && received !== undefined && received.timeUnixNano >= sent.timeUnixNano;
}

export const effectAfterGivingUp: Rule = defineRule({
  meta: {
    ...builtin('effect-after-giving-up'),
    description: 'The change was made after the caller had stopped waiting or had cancelled.',
    messages: {
      cancelled: '{tool}: the server made the change after it had received the cancellation',
      late: '{tool}: by the clocks the change was made {ms} ms after the caller gave up ({stage})',
    },
    needs: ['client', 'server'],
    on: { effectKinds: ['write', 'destructive', 'unknown'] },
    defaultOptions: undefined,
  },
  create: (context) => ({
    call(call) {
      if (!mayHaveEffect(call)) return;
      const confirmed = stageOf(call.server, 'server.effect_confirmed');
      if (confirmed === undefined) return;
      const cancel = stageOf(call.server, 'server.cancel_received');
      if (cancel?.seq !== undefined && confirmed.seq !== undefined && cancel.seq < confirmed.seq) {
        context.report({
          messageId: 'cancelled',
          data: { tool: toolOf(call) },
          at: [
            ...placeOfStage(call.server, 'server.cancel_received'),
            ...placeOfStage(call.server, 'server.effect_confirmed'),
          ],
          call,
        });
        return;
      }
      if (!clocksAgree(call)) return;
      for (const stage of givingUp) {
        const gaveUp = stageOf(call.client, stage);
        if (gaveUp === undefined || confirmed.timeUnixNano <= gaveUp.timeUnixNano) continue;
        context.report({
          messageId: 'late',
          data: {
            tool: toolOf(call),
            stage,
            ms: milliseconds(confirmed.timeUnixNano - gaveUp.timeUnixNano),
          },
          at: [...placeOfStage(call.client, stage), ...placeOfStage(call.server, 'server.effect_confirmed')],
          call,
          certainty: 'suspected',
        });
        return;
      }
    },
  }),
});
