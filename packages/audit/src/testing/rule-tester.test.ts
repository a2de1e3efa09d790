import { describe, expect, test } from 'vitest';
import { defineRule, type Rule } from '../rule.js';
import { createRuleTester, findingsOf, type RuleCases } from './rule-tester.js';

const text = (key: string, value: string) => ({ key, value: { stringValue: value } });
const otlp = (...tools: readonly string[]) => ({
  resourceSpans: [
    {
      resource: { attributes: [text('service.name', 'agent')] },
      scopeSpans: [
        {
          scope: { name: 'waybill' },
          spans: tools.map((tool, index) => ({
            traceId: '0af7651916cd43dd8448eb211c80319c',
            spanId: `a00000000000000${index}`,
            name: `tools/call ${tool}`,
            kind: 3,
            startTimeUnixNano: String(1_790_000_000_000_000_000n + BigInt(index)),
            endTimeUnixNano: String(1_790_000_000_000_000_100n + BigInt(index)),
            attributes: [
              text('mcp.method.name', 'tools/call'),
              text('gen_ai.tool.name', tool),
              text('waybill.operation.id', 'order-7'),
              text('waybill.call.id', `c-${index}`),
            ],
          })),
        },
      ],
    },
  ],
});

const chargeOnce: Rule<unknown> = defineRule<unknown>({
  meta: {
    id: 'acme/charge-once',
    defaultLevel: 'error',
    description: 'A charge was made more than once.',
    messages: { twice: '{tool} was called {count} times in one operation' },
    defaultOptions: undefined,
  },
  create: (context) => ({
    operation(operation) {
      const charges = operation.calls.filter((call) => call.tool === 'charge');
      if (charges.length < 2) return;
      context.report({ messageId: 'twice', data: { tool: 'charge', count: charges.length }, at: [] });
    },
  }),
});

const cases: RuleCases = {
  valid: [
    { name: 'one charge', traces: otlp('charge') },
    { name: 'switched off', traces: otlp('charge', 'charge'), setting: 'off' },
  ],
  invalid: [
    {
      name: 'two charges',
      traces: otlp('charge', 'charge'),
      findings: [
        {
          messageId: 'twice',
          level: 'error',
          operation: 'order-7',
          message: 'charge was called 2 times in one operation',
        },
      ],
    },
  ],
};

createRuleTester({ describe, test }).run(chargeOnce, cases);

/** The tests that a tester declares, to be run by hand. */
function declared(ruleCases: RuleCases): readonly (() => Promise<void>)[] {
  const bodies: (() => Promise<void>)[] = [];
  createRuleTester({
    describe: (_name, body) => body(),
    test: (_name, body) => bodies.push(body),
  }).run(chargeOnce, ruleCases);
  return bodies;
}

describe('a tester', () => {
  test('fails a valid case in which the rule finds something, and says what', async () => {
    const [body] = declared({ ...cases, valid: [{ name: 'wrong', traces: otlp('charge', 'charge') }] });
    await expect(body?.()).rejects.toThrow(
      /'wrong': expected 0 finding\(s\), found 1:[^]*charge was called 2 times/,
    );
  });

  test('fails an invalid case whose finding says something else', async () => {
    const [body] = declared({
      valid: [],
      invalid: [{ name: 'wrong', traces: otlp('charge', 'charge'), findings: [{ level: 'info' }] }],
    });
    await expect(body?.()).rejects.toThrow(/expected level "info", found "error"/);
  });

  test('refuses a rule without an invalid case', () => {
    expect(() => declared({ valid: cases.valid, invalid: [] })).toThrow(/no invalid case/);
  });

  test('refuses damaged evidence instead of judging the rest of it', async () => {
    await expect(findingsOf(chargeOnce, { name: 'torn', traces: '{"resourceSpans":[' })).rejects.toThrow(
      /damaged/,
    );
  });

  test('shows a rule that throws as a finding', async () => {
    const crashing: Rule<unknown> = {
      ...chargeOnce,
      create: () => ({
        operation() {
          throw new Error('boom');
        },
      }),
    };
    expect(await findingsOf(crashing, { name: 'crash', traces: otlp('charge') })).toMatchObject([
      { rule: 'rule-crashed', message: 'rule acme/charge-once threw: Error: boom' },
    ]);
  });
});
