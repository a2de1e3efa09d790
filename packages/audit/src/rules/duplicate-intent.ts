import { ATTR_ARGS_DIGEST } from '@waybill/core';
import { defineRule, type Call, type Operation, type Rule } from '../rule.js';
import { builtin } from './page.js';
import { attempts, compare, mayHaveEffect, placesOf, textAttribute, toldBy, toolOf } from './support.js';

/** Verdicts under which nothing was done, so that nothing was done twice. */
const nothingDone: ReadonlySet<string> = new Set(['verified_not_done', 'not_delivered']);

interface Intent {
  readonly operation: Operation;
  readonly call: Call;
}

function digestOf(call: Call): string | undefined {
  return textAttribute(call.client, ATTR_ARGS_DIGEST) ?? textAttribute(call.server, ATTR_ARGS_DIGEST);
}

/** The caller itself gave both operations their ids and saw both succeed: then it most likely wants both. */
function isDeliberate({ operation, call }: Intent): boolean {
  return operation.idSource === 'caller' && toldBy(call)?.outcome === 'TOOL_SUCCESS';
}

export const duplicateIntent: Rule = defineRule({
  meta: {
    ...builtin('duplicate-intent'),
    description: 'Two operations of one run ask for the same change with the same arguments.',
    messages: {
      twice:
        '{tool} was asked for twice in this run with the same arguments, under two operations: {first} and {second}',
    },
    on: { effectKinds: ['write', 'destructive', 'unknown'], runAttribute: ATTR_ARGS_DIGEST },
    defaultOptions: undefined,
  },
  create: (context) => ({
    run(run) {
      const byRequest = new Map<string, Intent[]>();
      for (const operation of run.operations()) {
        if (nothingDone.has(operation.verdict.verdict)) continue;
        const call = attempts(operation).find((leg) => mayHaveEffect(leg) && digestOf(leg) !== undefined);
        if (call === undefined) continue;
        const key = JSON.stringify([call.tool ?? '', digestOf(call)]);
        const same = byRequest.get(key);
        if (same === undefined) byRequest.set(key, [{ operation, call }]);
        else same.push({ operation, call });
      }
      for (const same of byRequest.values()) {
        same.sort(
          (a, b) =>
            compare(a.call.startTimeUnixNano, b.call.startTimeUnixNano) ||
            compare(a.operation.key, b.operation.key),
        );
        const [first, ...others] = same;
        if (first === undefined) continue;
        for (const second of others) {
          context.report({
            operation: second.operation,
            messageId: 'twice',
            data: { tool: toolOf(second.call), first: first.operation.key, second: second.operation.key },
            at: [...placesOf(first.call), ...placesOf(second.call)],
            call: second.call,
            // Equal arguments are the same request; that it is the same intention is never more than likely.
            certainty: 'suspected',
            ...(isDeliberate(first) && isDeliberate(second) ? { level: 'info' as const } : {}),
          });
        }
      }
    },
  }),
});
