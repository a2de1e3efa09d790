import { ATTR_ARGS_DIGEST, ATTR_EFFECT_REPLAYED } from '@waybill/core';
import { defineRule, type Call, type Operation, type Rule } from '../rule.js';
import { builtin } from './page.js';
import {
  attempts,
  compare,
  endedUnanswered,
  inOrder,
  mayHaveEffect,
  placesOf,
  seen,
  textAttribute,
  toldBy,
  toolOf,
} from './support.js';

/** Ids of these sources say that the request is the same, never that the intention is. */
const weakSources: ReadonlySet<string> = new Set(['framework', 'argument', 'derived', 'generated']);

interface Attempt {
  readonly call: Call;
  readonly operation: Operation;
}

function digestOf(call: Call): string | undefined {
  return textAttribute(call.client, ATTR_ARGS_DIGEST) ?? textAttribute(call.server, ATTR_ARGS_DIGEST);
}

/** A redirect or a refusal asked for this leg: the one before it got an answer, although no JSON-RPC response. */
function askedFor(leg: Call, by: Call): boolean {
  return (
    (leg.retryOrigin === 'redirect' || leg.retryOrigin === 'sdk') && toldBy(by)?.outcome === 'HTTP_ERROR'
  );
}

export const unsafeRetry: Rule = defineRule({
  meta: {
    ...builtin('unsafe-retry'),
    description: 'A call was repeated in a way that allows its effect to happen twice.',
    messages: {
      overlap: '{tool}: an attempt began while an earlier one of the same operation was still running',
      newKey:
        '{tool} was sent again with the same arguments under another operation id, after a call that got no answer',
      weakKey:
        '{tool} was sent again under an operation id ({source}) that does not prove the same intention',
    },
    on: { effectKinds: ['write', 'destructive', 'unknown'], runAttribute: ATTR_ARGS_DIGEST },
    defaultOptions: undefined,
  },
  create: (context) => ({
    operation(operation) {
      const legs = attempts(operation).filter(mayHaveEffect);
      for (const [index, call] of legs.entries()) {
        const earlier = legs.slice(0, index);
        const running = earlier.find(
          (leg) => leg.endTimeUnixNano === undefined || leg.endTimeUnixNano > call.startTimeUnixNano,
        );
        if (running) {
          context.report({
            messageId: 'overlap',
            data: { tool: toolOf(call) },
            at: [...placesOf(running), ...placesOf(call)],
            call,
          });
          return;
        }
        const unanswered = earlier.find((leg) => endedUnanswered(leg) && !askedFor(call, leg));
        const source = operation.idSource ?? '';
        if (!unanswered || !weakSources.has(source)) continue;
        if (seen(call.server?.attribute(ATTR_EFFECT_REPLAYED)) === true) continue;
        context.report({
          messageId: 'weakKey',
          data: { tool: toolOf(call), source },
          at: [...placesOf(unanswered), ...placesOf(call)],
          call,
          certainty: 'suspected',
        });
        return;
      }
    },
    run(run) {
      const byRequest = new Map<string, Attempt[]>();
      for (const operation of run.operations()) {
        for (const call of attempts(operation).filter(mayHaveEffect)) {
          const digest = digestOf(call);
          if (digest === undefined) continue;
          const key = JSON.stringify([call.tool ?? '', digest]);
          byRequest.set(key, [...(byRequest.get(key) ?? []), { call, operation }]);
        }
      }
      for (const same of byRequest.values()) {
        same.sort(
          (a, b) =>
            compare(a.call.startTimeUnixNano, b.call.startTimeUnixNano) ||
            compare(a.operation.key, b.operation.key),
        );
        const told = new Set<string>();
        for (const [index, { call, operation }] of same.entries()) {
          const first = same
            .slice(0, index)
            .find(
              (other) =>
                other.operation.key !== operation.key &&
                endedUnanswered(other.call) &&
                inOrder(operation.calls)[0]?.callId === call.callId,
            );
          if (!first || told.has(operation.key)) continue;
          told.add(operation.key);
          context.report({
            operation,
            messageId: 'newKey',
            data: { tool: toolOf(call) },
            at: [...placesOf(first.call), ...placesOf(call)],
            call,
            certainty: 'suspected',
          });
        }
      }
    },
  }),
});
