import { defineRule, type Rule } from '../rule.js';
import { builtin } from './page.js';
import { toolOf } from './support.js';

/** A slow tool behind keep-alives looks exactly like this at the timeout, so it is no alarm by itself. */
const OPEN_AT_TIMEOUT = 'open_no_response_at_timeout';
/** A body or a line that was cut: no stream of events, and a reply channel all the same that began and never completed. */
const notAStream: ReadonlySet<string> = new Set(['partial_body', 'partial_line']);

export const streamWithoutResult: Rule = defineRule({
  meta: {
    ...builtin('stream-without-result'),
    description: 'A reply began to arrive and ended before the result of its request.',
    messages: {
      ended: '{tool}: the reply stream ended ({reason}) without the result',
      open: '{tool}: the reply stream was open, without a result, when the caller stopped waiting',
      cut: '{tool}: the reply was cut ({reason}) before the result was complete',
    },
    needs: ['client'],
    on: { outcomes: ['STREAM_INCOMPLETE'] },
    defaultOptions: undefined,
  },
  create: (context) => ({
    call(call) {
      const outcome = call.client?.outcome();
      if (outcome?.state !== 'seen' || outcome.value.outcome !== 'STREAM_INCOMPLETE') return;
      const reason = outcome.value.reason ?? 'reason not recorded';
      const messageId = reason === OPEN_AT_TIMEOUT ? 'open' : notAStream.has(reason) ? 'cut' : 'ended';
      context.report({
        messageId,
        data: { tool: toolOf(call), reason },
        at: [outcome.at],
        call,
        certainty: outcome.value.source === 'derived' ? 'suspected' : 'proven',
        ...(messageId === 'open' ? { level: 'info' as const } : {}),
      });
    },
  }),
});
