import { describe, expect, test } from 'vitest';
import { matchesPattern, suppress } from './suppressions.js';
import { buildFinding } from './testing.js';

const NOW = BigInt(Date.parse('2026-09-21T12:00:00Z')) * 1_000_000n;
const none: ReadonlySet<string> = new Set();

describe('a suppression', () => {
  test.each([
    { claim: 'of the rule alone', fields: {}, suppressed: 1 },
    { claim: 'of its tool', fields: { tool: 'set_status' }, suppressed: 1 },
    { claim: 'of a pattern of tools', fields: { tool: 'set_*' }, suppressed: 1 },
    { claim: 'of another tool', fields: { tool: 'get_*' }, suppressed: 0 },
    { claim: 'of its operation', fields: { operation: 'row-42:*' }, suppressed: 1 },
    { claim: 'of another operation', fields: { operation: 'row-43:*' }, suppressed: 0 },
    {
      claim: 'of both, where one does not fit',
      fields: { tool: 'set_status', operation: 'x' },
      suppressed: 0,
    },
    { claim: 'of another rule', fields: { rule: 'false-success' }, suppressed: 0 },
  ])('$claim suppresses $suppressed', ({ fields, suppressed }) => {
    const one = { rule: 'reply-lost', reason: 'known', until: '2027-01-31', ...fields };
    const result = suppress([buildFinding()], [one], NOW, none);
    expect([result.suppressed.length, result.kept.length]).toEqual([suppressed, 1 - suppressed]);
    expect(result.notes.length).toBe(1 - suppressed);
  });

  test.each([
    { until: '2026-09-21', holds: true },
    { until: '2026-09-20', holds: false },
    { until: '2026-09-21T12:00:01Z', holds: true },
    { until: '2026-09-21T11:59:59Z', holds: false },
    { until: 'when it is mended', holds: false },
  ])('until $until holds at noon of 2026-09-21: $holds', ({ until, holds }) => {
    const { suppressed, notes } = suppress(
      [buildFinding()],
      [{ rule: 'reply-lost', reason: 'known', until }],
      NOW,
      none,
    );
    expect(suppressed.length).toBe(holds ? 1 : 0);
    expect(notes).toEqual(
      holds ? [] : [`the suppression of reply-lost ended on ${until} (known); its findings count again`],
    );
  });

  test('that matches nothing says so, but for a rule that could not be evaluated', () => {
    const unused = { rule: 'reply-lost', tool: 'nope', reason: 'known', until: '2027-01-31' };
    expect(suppress([], [unused], NOW, none).notes).toEqual([
      'the suppression of reply-lost for tool nope (known) matches no finding; take it out, or correct its patterns',
    ]);
    expect(suppress([], [unused], NOW, new Set(['reply-lost'])).notes).toEqual([]);
  });
});

test.each([
  ['a.b', 'a.b', true],
  ['a.b', 'axb', false],
  ['a*', 'a\nb', true],
  ['*', '', true],
  ['(*)', '(x)', true],
  ['a*c', 'ab', false],
  ['a*a', 'a', false],
  ['ab*ba', 'aba', false],
  ['*b*', 'abc', true],
  ['a**c', 'abc', true],
  ['*a*b*', 'ba', false],
])('pattern %j on %j: %s', (pattern, text, fits) => {
  expect(matchesPattern(pattern, text)).toBe(fits);
});

test('a pattern of many stars on a long text ends', () => {
  expect(matchesPattern(`${'*a'.repeat(30)}*b`, 'a'.repeat(100_000))).toBe(false);
});
