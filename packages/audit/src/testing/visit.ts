import type { Level, Operation, Report, Rule } from '../rule.js';
import { formatMessage } from '../rules/message.js';
import { buildRun } from './builder.js';

/** A finding as a test wants to read it. */
export interface VisitFinding {
  readonly messageId: string;
  readonly message: string;
  readonly level: Level;
  readonly certainty: 'proven' | 'suspected';
  readonly operation: string | undefined;
  readonly callId: string | undefined;
  readonly report: Report;
}

export interface VisitOptions<O> {
  readonly options?: O;
  readonly asOfUnixNano?: bigint;
  readonly graceNano?: bigint;
}

/**
 * Runs one rule over operations made by hand: every operation, every call, one run of all of them, the end.
 * A message id that the rule does not declare, or a message with an unfilled name, is an error.
 */
export function visit<O>(
  rule: Rule<O>,
  operations: readonly Operation[],
  { options, asOfUnixNano = 0n, graceNano = 0n }: VisitOptions<O> = {},
): readonly VisitFinding[] {
  const findings: VisitFinding[] = [];
  let current: Operation | undefined;
  const visitor = rule.create({
    options: options ?? rule.meta.defaultOptions,
    asOfUnixNano,
    graceNano,
    keep: () => undefined,
    report(report) {
      const template = rule.meta.messages[report.messageId];
      if (template === undefined) {
        throw new Error(`${rule.meta.id} reports '${report.messageId}', which is not among its messages.`);
      }
      const message = formatMessage(template, report.data);
      const unfilled = /\{[A-Za-z0-9_]+\}/.exec(message);
      if (unfilled) throw new Error(`${rule.meta.id}: no value for ${unfilled[0]} in '${message}'.`);
      findings.push({
        messageId: report.messageId,
        message,
        level: report.level ?? rule.meta.defaultLevel,
        certainty: report.certainty ?? 'proven',
        operation: (report.operation ?? current)?.key,
        callId: report.call?.callId,
        report,
      });
    },
  });
  for (const operation of operations) {
    current = operation;
    visitor.operation?.(operation);
    for (const call of operation.calls) visitor.call?.(call, operation);
  }
  current = undefined;
  visitor.run?.(buildRun(operations));
  visitor.end?.();
  return findings;
}
