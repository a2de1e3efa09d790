import { expect, test } from 'vitest';
import { createEngine, type EngineResult } from './engine.js';
import { defineRule, type AuditConfig, type Rule } from './rule.js';
import { atMs, buildOperation } from './testing.js';

function ruleThat(create: Rule['create']): Rule {
  return defineRule({
    meta: {
      id: 'acme/rule',
      description: 'A rule of a test.',
      defaultLevel: 'warning',
      messages: { found: 'found' },
      defaultOptions: undefined,
    },
    create,
  });
}
const reporting = ruleThat((context) => ({
  operation: () => context.report({ messageId: 'found', at: [] }),
}));
const throwing = ruleThat(() => ({
  operation: () => {
    throw new Error('boom');
  },
}));

function run(rule: Rule, config: AuditConfig = {}): EngineResult {
  const engine = createEngine({
    rules: [rule],
    config,
    asOfUnixNano: atMs(0),
    graceNano: 0n,
    available: new Set(),
    own: [],
  });
  engine.visit(buildOperation());
  engine.visit(buildOperation());
  return engine.finish();
}

test('a rule that throws is one error that names it, and is not asked again', () => {
  const { findings } = run(throwing);
  expect(findings.map((each) => [each.rule, each.level, each.message])).toEqual([
    ['rule-crashed', 'error', 'rule acme/rule threw: Error: boom'],
  ]);
});

test.each([['error'], ['info']] as const)('a configured level %s wins over the default', (level) => {
  expect(run(reporting, { rules: { 'acme/rule': level } }).findings[0]?.level).toBe(level);
});

test('a rule that is off finds nothing', () => {
  expect(run(reporting, { rules: { 'acme/rule': 'off' } }).findings).toEqual([]);
});

// The evidence of these tests is of 2026-09-21.
test.each([
  { until: '2027-01-01', kept: 0, suppressed: 1, notes: 0 },
  { until: '2020-01-01', kept: 1, suppressed: 0, notes: 1 },
  { until: 'someday', kept: 1, suppressed: 0, notes: 1 },
])('a suppression until $until keeps $kept finding(s)', ({ until, ...expected }) => {
  const result = run(reporting, { suppress: [{ rule: 'acme/rule', reason: 'known', until }] });
  expect({
    kept: result.findings.length,
    suppressed: result.suppressed.length,
    notes: result.notes.length,
  }).toEqual(expected);
});
