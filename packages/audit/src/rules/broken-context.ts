import { defineRule, type Rule } from '../rule.js';
import { builtin } from './page.js';
import { placesOf, toolOf } from './support.js';

export const brokenContext: Rule = defineRule({
  meta: {
    ...builtin('broken-context'),
    description:
      'Trace context was lost or reused, so that a trace viewer shows this call in the wrong place.',
    messages: {
      split:
        '{tool}: client and server recorded the call in two traces; the context did not travel with the request',
      stale:
        '{tool}: the parent of the {side} span had ended before it began; the context of something else was reused',
    },
    defaultOptions: undefined,
  },
  create: (context) => ({
    call(call) {
      const client = new Set(call.client?.spans.map((span) => span.traceId));
      const server = call.server?.spans.map((span) => span.traceId) ?? [];
      if (client.size > 0 && server.length > 0 && !server.some((trace) => client.has(trace))) {
        context.report({ messageId: 'split', data: { tool: toolOf(call) }, at: placesOf(call), call });
      }
      for (const name of ['client', 'server'] as const) {
        const side = call[name];
        if (side?.parentEnded === undefined) continue;
        context.report({
          messageId: 'stale',
          data: { tool: toolOf(call), side: name },
          at: [...side.spans.slice(0, 1), side.parentEnded],
          call,
        });
      }
    },
  }),
});
