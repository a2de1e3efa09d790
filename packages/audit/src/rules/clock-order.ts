import type { Call, EvidenceRef, Rule, SeenStage, Side } from '../rule.js';
import { defineRule } from '../rule.js';
import { builtin } from './page.js';
import { milliseconds, placeOfStage, stageOf, toolOf } from './support.js';

export interface ClockOrderOptions {
  /** How far the clocks of two hosts may differ before it is worth a line. Milliseconds. */
  readonly toleranceMs: number;
}

/** Inside one process times come from one clock; a millisecond covers its rounding. */
const WITHIN_ONE_CLOCK = 1_000_000n;

interface Disorder {
  readonly messageId: 'before' | 'after' | 'inside';
  readonly by: bigint;
  readonly at: readonly EvidenceRef[];
  readonly first: string;
  readonly second: string;
}

/** The later end of a pair that must be in order; undefined when it is, or when one was not seen. */
function between(call: Call): readonly Disorder[] {
  const found: Disorder[] = [];
  const sent = stageOf(call.client, 'client.sent');
  const received = stageOf(call.server, 'server.received');
  if (sent && received && received.timeUnixNano < sent.timeUnixNano) {
    found.push({
      messageId: 'before',
      by: sent.timeUnixNano - received.timeUnixNano,
      at: [...placeOfStage(call.client, 'client.sent'), ...placeOfStage(call.server, 'server.received')],
      first: 'client.sent',
      second: 'server.received',
    });
  }
  const answered = stageOf(call.server, 'server.result_sent');
  const arrived = stageOf(call.client, 'client.result_received');
  if (answered && arrived && arrived.timeUnixNano < answered.timeUnixNano) {
    found.push({
      messageId: 'after',
      by: answered.timeUnixNano - arrived.timeUnixNano,
      at: [
        ...placeOfStage(call.server, 'server.result_sent'),
        ...placeOfStage(call.client, 'client.result_received'),
      ],
      first: 'server.result_sent',
      second: 'client.result_received',
    });
  }
  return found;
}

/**
 * The first pair of numbered stages whose times run against their numbers. Each span counts from 1: two deliveries of
 * one request are two clocks.
 */
function within(side: Side): Disorder | undefined {
  const latest = new Map<string, SeenStage>();
  for (const stage of side.stages?.() ?? []) {
    if (stage.seq === undefined || stage.timeUnixNano === 0n) continue;
    const span = `${stage.at.traceId ?? ''}:${stage.at.spanId ?? ''}`;
    const before = latest.get(span);
    if (before && stage.timeUnixNano + WITHIN_ONE_CLOCK < before.timeUnixNano) {
      return {
        messageId: 'inside',
        by: before.timeUnixNano - stage.timeUnixNano,
        at: [before.at, stage.at],
        first: before.name,
        second: stage.name,
      };
    }
    if (!before || stage.timeUnixNano > before.timeUnixNano) latest.set(span, stage);
  }
  return undefined;
}

export const clockOrder: Rule<ClockOrderOptions> = defineRule<ClockOrderOptions>({
  meta: {
    ...builtin('clock-order'),
    description: 'Recorded times contradict the order in which things must have happened.',
    messages: {
      before:
        '{tool}: by the clocks {second} came {ms} ms before {first}; the clocks of the two hosts differ',
      after: '{tool}: by the clocks {second} came {ms} ms before {first}; the clocks of the two hosts differ',
      inside: '{tool}: {second} is numbered after {first} and dated {ms} ms before it, on the same side',
    },
    defaultOptions: { toleranceMs: 5 },
    optionsSchema: {
      type: 'object',
      properties: { toleranceMs: { type: 'number', minimum: 0 } },
      additionalProperties: false,
    },
  },
  create: (context) => ({
    call(call) {
      const tolerance = BigInt(Math.round(context.options.toleranceMs * 1e6));
      const disorders = between(call).filter((disorder) => disorder.by > tolerance);
      for (const side of [call.client, call.server]) {
        const disorder = side && within(side);
        if (disorder) disorders.push(disorder);
      }
      for (const { messageId, by, at, first, second } of disorders) {
        context.report({
          messageId,
          data: { tool: toolOf(call), first, second, ms: milliseconds(by) },
          at,
          call,
        });
      }
    },
  }),
});
