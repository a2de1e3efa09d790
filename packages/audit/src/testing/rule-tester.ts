/**
 * Tests of a rule from evidence: OTLP JSON and receipts in, findings out, through the whole auditor. What a rule sees
 * here is what it sees on an export.
 */
import { audit } from '../audit.js';
import type { Finding } from '../report.js';
import type { Level, Rule } from '../rule.js';

/** Evidence of one case. Objects are written as JSON; the lists as JSON Lines. */
export interface RuleCase {
  /** The claim; it becomes the name of the test. */
  readonly name: string;
  /** OTLP JSON: an object, several, or text of any format that the readers know. */
  readonly traces: object | readonly object[] | string;
  readonly receipts?: readonly object[];
  readonly targets?: readonly object[];
  readonly outbox?: readonly object[];
  readonly asOfUnixNano?: bigint;
  readonly graceMs?: number;
  /** Level and options of the rule, as in a configuration. */
  readonly setting?: Level | readonly [Level, unknown];
}

/** What one expected finding must say; what is left out may be anything. */
export interface ExpectedFinding {
  readonly messageId?: string;
  readonly message?: string;
  readonly level?: Finding['level'];
  readonly certainty?: Finding['certainty'];
  readonly operation?: string | null;
  readonly callId?: string | null;
}

export interface InvalidRuleCase extends RuleCase {
  /** In the order of the report: by operation, then by place. */
  readonly findings: readonly ExpectedFinding[];
}

export interface RuleCases {
  /** Evidence in which the rule finds nothing. */
  readonly valid: readonly RuleCase[];
  readonly invalid: readonly InvalidRuleCase[];
}

/** The two functions of a test framework: those of Vitest, Jest, Mocha or `node:test` fit. */
export interface TestFramework {
  readonly describe: (name: string, body: () => void) => unknown;
  readonly test: (name: string, body: () => Promise<void>) => unknown;
}

function lines(records: readonly object[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}

function textOf(traces: RuleCase['traces']): string {
  if (typeof traces === 'string') return traces;
  return lines(Array.isArray(traces) ? traces : [traces]);
}

/** The findings of one rule in the evidence of one case. A rule that throws is the finding `rule-crashed`. */
export async function findingsOf(rule: Rule<unknown>, input: RuleCase): Promise<readonly Finding[]> {
  const records = (name: string, list: readonly object[] | undefined) =>
    list === undefined ? {} : { [name]: [{ path: `${name}.jsonl`, text: lines(list) }] };
  const report = await audit(
    {
      traces: [
        {
          kind: 'bytes',
          id: 's1',
          path: 'traces.jsonl',
          bytes: new TextEncoder().encode(textOf(input.traces)),
        },
      ],
      ...records('receipts', input.receipts),
      ...records('targets', input.targets),
      ...records('outbox', input.outbox),
    },
    {
      graceMs: input.graceMs ?? 0,
      rules: [rule],
      ...(input.asOfUnixNano === undefined ? {} : { asOfUnixNano: input.asOfUnixNano }),
      ...(input.setting === undefined ? {} : { config: { rules: { [rule.meta.id]: input.setting } } }),
    },
  );
  const damage = report.findings.find((finding) => finding.rule === 'input-damaged');
  if (damage !== undefined) throw new Error(`The evidence of '${input.name}' is damaged: ${damage.message}`);
  return report.findings.filter(
    (finding) => finding.rule === rule.meta.id || finding.rule === 'rule-crashed',
  );
}

/** Why `found` is not what was expected; undefined when it is. */
function difference(found: readonly Finding[], expected: readonly ExpectedFinding[]): string | undefined {
  const told = found.map(
    (finding) => `\n  ${finding.level} ${finding.rule} (${finding.messageId}): ${finding.message}`,
  );
  if (found.length !== expected.length) {
    return `expected ${expected.length} finding(s), found ${found.length}:${told.join('') || ' none'}`;
  }
  for (const [index, want] of expected.entries()) {
    const finding = found[index];
    for (const [key, value] of Object.entries(want)) {
      const actual: unknown = finding?.[key as keyof ExpectedFinding];
      if (actual !== value) {
        return `finding ${index + 1}: expected ${key} ${JSON.stringify(value)}, found ${JSON.stringify(actual)}`;
      }
    }
  }
  return undefined;
}

export interface RuleTester {
  /** Declares one test a case. An empty list of `invalid` is refused: such a test could not fail. */
  run(rule: Rule<unknown>, cases: RuleCases): void;
}

/**
 * @example
 * import { describe, test } from 'vitest';
 * import { createRuleTester } from '@waybill/audit/testing';
 *
 * createRuleTester({ describe, test }).run(chargeOnce, {
 *   valid: [{ name: 'one charge', traces: oneCharge }],
 *   invalid: [{ name: 'two charges', traces: twoCharges, findings: [{ messageId: 'twice' }] }],
 * });
 */
export function createRuleTester(framework: TestFramework): RuleTester {
  return {
    run(rule, { valid, invalid }) {
      if (invalid.length === 0) {
        throw new Error(
          `${rule.meta.id} has no invalid case. Remedy: add evidence in which it finds something.`,
        );
      }
      framework.describe(rule.meta.id, () => {
        for (const input of [...valid.map((each) => ({ ...each, findings: [] })), ...invalid]) {
          const kind = input.findings.length === 0 ? 'valid' : 'invalid';
          framework.test(`${kind}: ${input.name}`, async () => {
            const wrong = difference(await findingsOf(rule, input), input.findings);
            if (wrong !== undefined) throw new Error(`${rule.meta.id}, '${input.name}': ${wrong}`);
          });
        }
      });
    },
  };
}
