import { defineRule, type EvidenceRef, type Rule } from '../rule.js';
import { builtin } from './page.js';

function sameSpan(a: EvidenceRef, b: EvidenceRef): boolean {
  return a.source === b.source && a.traceId === b.traceId && a.spanId === b.spanId;
}

export const sequenceGap: Rule = defineRule({
  meta: {
    ...builtin('sequence-gap'),
    description:
      'A numbered record has a hole: something that was recorded was taken out or lost on the way.',
    messages: {
      stage: 'a numbered record is not whole: {note}',
      call: 'a call of this process is missing from the evidence: {note}',
    },
    defaultOptions: undefined,
  },
  create: (context) => ({
    operation(operation) {
      const dropped = operation.gaps.filter(
        (gap) => gap.kind === 'dropped_events' || gap.kind === 'truncated_input',
      );
      for (const gap of operation.gaps) {
        if (gap.kind === 'stage_hole') {
          // The emitter said itself that it dropped events: that explains the hole, and evidence-lost reports it.
          if (dropped.some((other) => sameSpan(other.at, gap.at))) continue;
          context.report({ messageId: 'stage', data: { note: gap.note }, at: [gap.at] });
        } else if (gap.kind === 'call_hole') {
          // Says something only when the input is complete for that process, which cannot be known from it.
          context.report({ messageId: 'call', data: { note: gap.note }, at: [gap.at], level: 'info' });
        }
      }
    },
  }),
});
