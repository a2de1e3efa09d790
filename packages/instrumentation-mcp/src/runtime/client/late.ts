import { SpanKind, context } from '@opentelemetry/api';
import {
  ATTR_FLAGS,
  ATTR_OUTCOME,
  ATTR_OUTCOME_REASON,
  ATTR_STAGE_SEQ,
  STAGE_EVENT_PREFIX,
  eventNameOf,
} from '@waybill/core';
import type { RuntimeCore } from '../core.js';
import { stageIdentity } from '../signals.js';
import { type ClientLeg, contextOf, linkTo } from './leg.js';

/** Name of the span that carries a stage which came after its own span had ended. */
export const LATE_SPAN_NAME: string = `${STAGE_EVENT_PREFIX}late_result`;

/** Told of one call: a peer may go on answering for ever. */
const MAX_LATE = 3;

/**
 * A response that came after its call had settled. The span of the call takes no more events, so the stage goes out on
 * a span of no length, linked to the call, whatever `stageSignal` says, and to the journal where there is one.
 */
export function recordLate(core: RuntimeCore, leg: ClientLeg, message: unknown): void {
  const late = leg.late < MAX_LATE ? leg.reading?.late(message) : undefined;
  if (late === undefined || leg.ids === undefined || leg.stages === undefined) return;
  leg.late += 1;
  const detail = {
    [ATTR_OUTCOME]: late.fact.outcome,
    ...(late.fact.reason === undefined ? {} : { [ATTR_OUTCOME_REASON]: late.fact.reason }),
  };
  if (!leg.ended) {
    leg.stages.record('client.late_result', detail);
    return;
  }
  const around = contextOf(leg);
  const target = { side: 'client' as const, span: leg.span, context: around, ids: leg.ids };
  const { seq } = leg.stages.recordLate('client.late_result', detail);
  const attributes = { ...detail, [ATTR_STAGE_SEQ]: seq };
  const span = core.deps.tracer().startSpan(
    LATE_SPAN_NAME,
    {
      kind: SpanKind.INTERNAL,
      attributes: { ...stageIdentity(core, target), [ATTR_FLAGS]: [late.flag] },
      links: [linkTo('late_result_of', leg.span.spanContext())],
    },
    around,
  );
  context.with(around, () => {
    span.addEvent(eventNameOf('client.late_result'), attributes);
    span.end();
  });
}
