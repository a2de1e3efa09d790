import { defineRule, type EvidenceRef, type Gap, type Rule } from '../rule.js';
import { builtin } from './page.js';
import { placesOfOperation } from './support.js';

/** What is lost and not merely never recorded. Sampling has a rule of its own, a foreign emitter lost nothing. */
const words: Readonly<Partial<Record<Gap['kind'], string>>> = {
  dropped_events: 'span events were dropped',
  stage_hole: 'a stage is missing from a numbered record',
  call_hole: 'a call is missing from a numbered record',
  span_missing: 'a span is missing',
  truncated_input: 'an input ends early',
  partial_answer: 'a backend answered in part',
  collector_loss: 'a Collector or SDK lost spans',
  degraded: 'a hook of the instrumentation was missing',
};
const sides: readonly (readonly [flag: string, text: string])[] = [
  ['trace_missing_client', 'there is no record of the client'],
  ['trace_missing_server', 'there is no record of the server'],
];

export const evidenceLost: Rule = defineRule({
  meta: {
    ...builtin('evidence-lost'),
    description: 'Something that was recorded did not arrive here; its absence proves nothing.',
    messages: { lost: 'evidence is missing: {what}' },
    defaultOptions: undefined,
  },
  create: (context) => ({
    operation(operation) {
      const what = new Set<string>();
      const at: EvidenceRef[] = [];
      for (const gap of operation.gaps) {
        const text = words[gap.kind];
        if (text === undefined) continue;
        what.add(text);
        at.push(gap.at);
      }
      // Receipts without any call are the subject of receipt-without-trace.
      if (operation.calls.length > 0) {
        for (const [flag, text] of sides) if (operation.verdict.flags.includes(flag)) what.add(text);
      }
      if (what.size === 0) return;
      context.report({
        messageId: 'lost',
        data: { what: [...what].sort().join('; ') },
        at: at.length > 0 ? at : placesOfOperation(operation).slice(0, 2),
      });
    },
  }),
});
