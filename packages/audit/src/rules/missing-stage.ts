import { ATTR_EFFECT_REPLAYED, CLIENT_END_STAGES, SERVER_END_STAGES, type Stage } from '@waybill/core';
import {
  defineRule,
  type Call,
  type Fact,
  type Operation,
  type Rule,
  type Side,
  type StageFact,
} from '../rule.js';
import { builtin } from './page.js';
import { outcomeOf, placeOfStage, seen, stageOf, toolOf } from './support.js';

/** A stage that the record of one side owes and provably does not hold. */
interface MissingStage {
  readonly stage: Stage;
  /** Seen stages that make it owed. */
  readonly owedBy: readonly Stage[];
}

const neverHandedOver: ReadonlySet<string> = new Set(['connect', 'dns', 'tls']);

function isAbsent(side: Side, stage: Stage): boolean {
  return side.stage(stage).state === 'absent';
}

function countOf(fact: Fact<StageFact>): number {
  return fact.state === 'seen' ? (fact.value.count ?? 1) : 0;
}

function missingAtClient(side: Side): readonly MissingStage[] {
  const missing: MissingStage[] = [];
  const outcome = outcomeOf(side);
  const nothingSent =
    outcome?.outcome === 'CANCELLED' ||
    (outcome?.outcome === 'TRANSPORT_ERROR' && neverHandedOver.has(outcome.reason ?? ''));
  if (isAbsent(side, 'client.sent') && !nothingSent) missing.push({ stage: 'client.sent', owedBy: [] });
  if (CLIENT_END_STAGES.every((stage) => isAbsent(side, stage))) {
    missing.push({ stage: 'client.result_received', owedBy: ['client.sent'] });
  }
  return missing;
}

/** A tool that uses `effect()` elsewhere succeeded without any effect: neither made now nor by an earlier attempt. */
function succeededWithoutEffect(call: Call, operation: Operation): boolean {
  return (
    call.usesEffect === true &&
    call.server !== undefined &&
    call.effectKind !== 'read' &&
    outcomeOf(call.server)?.outcome === 'TOOL_SUCCESS' &&
    seen(call.server.attribute(ATTR_EFFECT_REPLAYED)) !== true &&
    isAbsent(call.server, 'server.effect_requested') &&
    isAbsent(call.server, 'server.effect_confirmed') &&
    operation.calls.every((other) => stageOf(other.server, 'server.effect_confirmed') === undefined)
  );
}

function missingAtServer(side: Side): readonly MissingStage[] {
  const missing: MissingStage[] = [];
  if (isAbsent(side, 'server.received')) missing.push({ stage: 'server.received', owedBy: [] });
  const confirmed = side.stage('server.effect_confirmed');
  const failed = side.stage('server.effect_failed');
  const requested = countOf(side.stage('server.effect_requested'));
  // One of the two answering "absent" means that the record is complete, and only then do counts mean anything.
  const complete = side.complete ?? (confirmed.state === 'absent' || failed.state === 'absent');
  if (
    complete &&
    confirmed.state !== 'unrecorded' &&
    failed.state !== 'unrecorded' &&
    requested > countOf(confirmed) + countOf(failed)
  ) {
    missing.push({ stage: 'server.effect_confirmed', owedBy: ['server.effect_requested'] });
  }
  if (SERVER_END_STAGES.every((stage) => isAbsent(side, stage))) {
    missing.push({ stage: 'server.result_sent', owedBy: ['server.received'] });
  }
  return missing;
}

export const missingStage: Rule = defineRule({
  meta: {
    ...builtin('missing-stage'),
    description:
      'A stage that must have happened is not there, although the record of this side is complete.',
    messages: {
      missing: '{tool}: {stage} never happened, although the record of the {side} is complete',
      unclosed:
        '{tool}: the server asked for an effect and neither confirmed it nor said that it failed; the record of the server is complete',
      effectless:
        '{tool} reported success without asking for any effect, although it is a tool that makes its changes through effect()',
      unended: '{tool}: the {side} recorded no end of the call, although its record is complete',
    },
    defaultOptions: undefined,
  },
  create: (context) => ({
    call(call: Call, operation: Operation) {
      const report = (name: 'client' | 'server', side: Side, missing: MissingStage): void => {
        const fact = side.stage(missing.stage);
        context.report({
          messageId:
            missing.stage === 'server.effect_confirmed'
              ? 'unclosed'
              : missing.owedBy.length > 0
                ? 'unended'
                : 'missing',
          data: { tool: toolOf(call), stage: missing.stage, side: name },
          at: [
            ...missing.owedBy.flatMap((stage) => placeOfStage(side, stage)),
            ...(fact.state === 'absent' ? [fact.proof] : []),
          ],
          call,
        });
      };
      if (call.client)
        for (const missing of missingAtClient(call.client)) report('client', call.client, missing);
      if (call.server)
        for (const missing of missingAtServer(call.server)) report('server', call.server, missing);
      if (call.server && succeededWithoutEffect(call, operation)) {
        context.report({
          messageId: 'effectless',
          data: { tool: toolOf(call) },
          at: call.server.spans.slice(0, 1),
          call,
        });
      }
    },
  }),
});
