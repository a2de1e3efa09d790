import { describe, expect, test } from 'vitest';
import { defineRule, type Rule } from '../rule.js';
import { checkConfig } from './check.js';

function ruleOf(id: string, meta: Partial<Rule<unknown>['meta']> = {}): Rule<unknown> {
  return defineRule<unknown>({
    meta: { id, description: 'd', defaultLevel: 'error', messages: {}, defaultOptions: undefined, ...meta },
    create: () => ({}),
  });
}
const currency = ruleOf('acme/charge', {
  defaultOptions: { currency: 'EUR' },
  optionsSchema: {
    type: 'object',
    properties: { currency: { enum: ['EUR', 'USD'] } },
    additionalProperties: false,
  },
});
const acme = { name: 'acme', rules: { charge: currency } };

const suppression = { rule: 'reply-lost', reason: 'known', until: '2027-01-31' };

describe('a configuration that can be used has no problem', () => {
  test.each<[claim: string, config: unknown]>([
    ['empty', {}],
    ['a level', { rules: { 'reply-lost': 'off' } }],
    ['options', { rules: { 'clock-order': ['warning', { toleranceMs: 50 }] } }],
    ['a plugin with options', { plugins: [acme], rules: { 'acme/charge': ['error', { currency: 'USD' }] } }],
    ['receipts of tools', { receipts: { required: ['payments/*'] } }],
    ['a suppression', { suppress: [{ ...suppression, tool: 'set_*', operation: 'row-*' }] }],
  ])('%s', (_claim, config) => {
    expect(checkConfig(config)).toEqual([]);
  });

  test('a rule from beside it is known', () => {
    expect(checkConfig({ rules: { 'acme/charge': 'info' } }, [currency])).toEqual([]);
  });
});

describe('what is wrong is named with its member', () => {
  test.each<[claim: string, config: unknown, at: string, problem: RegExp]>([
    ['no object', 7, '', /must be object/],
    ['a misspelled member', { rule: {} }, '', /there is no member 'rule'/],
    [
      'a level that is none',
      { rules: { 'reply-lost': 'warn' } },
      "rules['reply-lost']",
      /its level is "warn", and must be one of error, warning, info, off/,
    ],
    ['a level in a list', { rules: { 'clock-order': ['warn', {}] } }, "rules['clock-order']", /one of error/],
    ['a list of three', { rules: { 'clock-order': ['info', {}, 1] } }, "rules['clock-order']", /more than 2/],
    [
      'a rule that is not there',
      { rules: { 'lost-reply': 'off' } },
      "rules['lost-reply']",
      /no rule 'lost-reply'; near to it are .*reply-lost/,
    ],
    [
      'an option of the wrong type',
      { rules: { 'clock-order': ['info', { toleranceMs: 'five' }] } },
      "rules['clock-order'], option toleranceMs",
      /must be number/,
    ],
    [
      'an option out of range',
      { rules: { 'clock-order': ['info', { toleranceMs: -1 }] } },
      "rules['clock-order'], option toleranceMs",
      />= 0/,
    ],
    [
      'an option that is not there',
      { rules: { 'clock-order': ['info', { tolerance: 5 }] } },
      "rules['clock-order']",
      /there is no member 'tolerance'/,
    ],
    [
      'options of a rule without any',
      { rules: { 'reply-lost': ['info', { a: 1 }] } },
      "rules['reply-lost']",
      /the rule reply-lost takes no options/,
    ],
    [
      "an option of a plugin's rule",
      { plugins: [acme], rules: { 'acme/charge': ['error', { currency: 'DM' }] } },
      "rules['acme/charge'], option currency",
      /one of EUR, USD/,
    ],
    ['a plugin without rules', { plugins: [{ name: 'x' }] }, 'plugins[0]', /'rules'/],
    ['two rules of one id', { plugins: [acme, acme] }, 'plugins', /two rules are called 'acme\/charge'/],
    [
      'a suppression without a reason',
      { suppress: [{ rule: 'reply-lost', until: '2027-01-31' }] },
      'suppress[0]',
      /'reason'/,
    ],
    [
      'a suppression without an end',
      { suppress: [{ rule: 'reply-lost', reason: 'x' }] },
      'suppress[0]',
      /'until'/,
    ],
    [
      'an end that is no date',
      { suppress: [{ ...suppression, until: 'soon' }] },
      'suppress[0].until',
      /'soon' is no date/,
    ],
    [
      'a suppression of no rule',
      { suppress: [{ ...suppression, rule: 'nope' }] },
      'suppress[0].rule',
      /no rule 'nope'/,
    ],
  ])('%s', (_claim, config, at, problem) => {
    const problems = checkConfig(config);
    expect(problems.map((each) => each.at)).toEqual([at]);
    expect(problems[0]?.problem).toMatch(problem);
    expect(problems[0]?.remedy).not.toBe('');
  });

  test('every problem is told, not the first alone', () => {
    const config = { rules: { nope: 'off', 'clock-order': ['info', { toleranceMs: '5' }] } };
    expect(checkConfig(config)).toHaveLength(2);
  });

  test('a schema that is none is a defect of the rule', () => {
    const broken = ruleOf('acme/broken', { defaultOptions: {}, optionsSchema: { type: 'nope' } });
    const [problem] = checkConfig({ rules: { 'acme/broken': ['info', {}] } }, [broken]);
    expect(problem?.problem).toMatch(/optionsSchema of the rule acme\/broken is no JSON Schema/);
  });
});
