/**
 * Levels, options, suppressions and baseline, as a person meets them: files in a folder, the command line, exit code and
 * report.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { run } from './cli.js';
import { ALL, NOTHING, auditWith, place, rulesOf } from './configured.js';

afterAll(place.remove);

describe('levels and --fail-on', () => {
  test('nothing configured: two findings an operation, and exit code 1', async () => {
    const ended = await auditWith('export default {};');
    expect(rulesOf(ended)).toEqual(ALL);
    expect(ended.code).toBe(1);
  });

  test.each<[failOn: string, code: number, level: string]>([
    ['error', 0, 'warning'],
    ['warning', 1, 'warning'],
    ['info', 1, 'info'],
    ['warning', 0, 'info'],
    ['never', 0, 'error'],
    ['error', 1, 'error'],
  ])('--fail-on %s ends with %i where every finding is of level %s', async (failOn, code, level) => {
    const rules = { 'reply-lost': level, 'stream-without-result': level };
    const ended = await auditWith(`export default ${JSON.stringify({ rules })};`, '--fail-on', failOn);
    expect(ended.report.findings.map((finding) => finding.level)).toEqual([level, level, level, level]);
    expect(ended.code).toBe(code);
  });

  test('a rule that is off finds nothing, and nothing says that it passed', async () => {
    const ended = await auditWith(`export default { rules: { 'reply-lost': 'off' } };`);
    expect(rulesOf(ended)).toEqual(ALL.filter((each) => each.includes('stream')));
  });
});

describe('options of a rule', () => {
  const examples = fileURLToPath(new URL('../../docs/rules/examples/', import.meta.url));
  const clocks = [
    join(examples, 'clock-order.jsonl'),
    '--receipts',
    join(examples, 'clock-order.receipts.jsonl'),
  ];

  test('an option changes what the rule finds', async () => {
    const strict = await auditWith(
      `export default { rules: { 'clock-order': ['warning', { toleranceMs: 5 }] } };`,
      ...clocks,
    );
    expect(rulesOf(strict)).toContain('warning clock-order set_status');
    const lax = await auditWith(
      `export default { rules: { 'clock-order': ['warning', { toleranceMs: 60000 }] } };`,
      ...clocks,
    );
    expect(rulesOf(lax)).not.toContain('warning clock-order set_status');
  });

  test.each<[claim: string, config: string, said: RegExp]>([
    [
      'of the wrong type',
      `export default { rules: { 'clock-order': ['info', { toleranceMs: '5 ms' }] } };`,
      /configuration config-\d+\.mjs: rules\['clock-order'\], option toleranceMs: it must be number\n {2}Remedy: .*docs\/rules\/clock-order\.md/,
    ],
    [
      'that the rule does not have',
      `export default { rules: { 'clock-order': ['info', { tolerance: 5 }] } };`,
      /rules\['clock-order'\]: there is no member 'tolerance'/,
    ],
    [
      'of a rule that takes none',
      `export default { rules: { 'reply-lost': ['info', { quiet: true }] } };`,
      /the rule reply-lost takes no options/,
    ],
    [
      'of a rule that is not there',
      `export default { rules: { 'lost-reply': 'off' } };`,
      /there is no rule 'lost-reply'; near to it are .*reply-lost/,
    ],
    ['as a level that is none', `export default { rules: { 'reply-lost': 'warn' } };`, /its level is "warn"/],
    [
      'of two rules at once',
      `export default { rules: { 'reply-lost': 'warn', 'clock-order': ['info', { toleranceMs: -1 }] } };`,
      /reply-lost[^]*\n {2}and rules\['clock-order'\], option toleranceMs: it must be >= 0/,
    ],
  ])('one %s is wrong usage that names file, rule and option', async (_claim, config, said) => {
    const ended = await auditWith(config);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toMatch(/^waybill: configuration config-\d+\.mjs: .+\n[^]*Remedy: /);
    expect(ended.stderr).toMatch(said);
    expect(ended.report).toBe(NOTHING);
  });
});

describe('suppressions', () => {
  const suppress = (...list: readonly object[]): string =>
    `export default { suppress: ${JSON.stringify(list)} };`;
  const known = { rule: 'reply-lost', reason: 'the gateway cuts at 30 s', until: '2027-01-31' };

  test('take a finding out of the count, and stay in the report with reason and end', async () => {
    const ended = await auditWith(suppress(known, { ...known, rule: 'stream-without-result' }));
    expect(ended.code).toBe(0);
    expect(ended.report.findings).toEqual([]);
    expect(ended.report.summary.suppressed).toBe(4);
    expect(ended.report.suppressed[0]).toMatchObject({
      rule: 'reply-lost',
      suppression: { reason: 'the gateway cuts at 30 s', until: '2027-01-31' },
    });
  });

  test.each<[claim: string, fields: object, left: readonly string[]]>([
    ['a tool', { tool: 'send_mail' }, ALL.slice(1)],
    ['a pattern of tools', { tool: 'send_*' }, ALL.slice(1)],
    ['an operation', { operation: 'set_status:2' }, [...ALL.slice(0, 2), ...ALL.slice(3)]],
    ['a pattern of operations', { operation: '*:2' }, [...ALL.slice(0, 2), ...ALL.slice(3)]],
    ['every tool', { tool: '*' }, [...ALL.slice(1, 2), ...ALL.slice(3)]],
    ['tool and operation', { tool: 'send_*', operation: '*:2' }, ALL],
  ])('hold for %s alone', async (_claim, fields, left) => {
    const ended = await auditWith(suppress({ ...known, ...fields }));
    expect(rulesOf(ended)).toEqual(left);
    expect(ended.code).toBe(1);
  });

  test('that have ended count again, and the report says so', async () => {
    const ended = await auditWith(suppress({ ...known, until: '2026-01-31' }));
    expect(rulesOf(ended)).toEqual(ALL);
    expect(ended.report.coverage.notes).toEqual([
      'the suppression of reply-lost ended on 2026-01-31 (the gateway cuts at 30 s); its findings count again',
    ]);
  });

  test('end by the time of the evidence, so that a report stays the same tomorrow', async () => {
    const ended = await auditWith(suppress(known), '--as-of', '2027-02-01T00:00:00Z');
    expect(rulesOf(ended)).toEqual(ALL);
    const day = await auditWith(suppress(known), '--as-of', '2027-01-31T23:59:59Z');
    expect(day.report.summary.suppressed).toBe(2);
  });

  test('that match nothing are named', async () => {
    const ended = await auditWith(suppress({ ...known, tool: 'sendmail' }));
    expect(rulesOf(ended)).toEqual(ALL);
    expect(ended.report.coverage.notes).toEqual([
      'the suppression of reply-lost for tool sendmail (the gateway cuts at 30 s) matches no finding; take it out, or correct its patterns',
    ]);
  });

  test.each<[claim: string, fields: object, said: RegExp]>([
    ['without a reason', { reason: undefined }, /suppress\[0\]: .*'reason'/],
    ['without an end', { until: undefined }, /suppress\[0\]: .*'until'/],
    [
      'with an end that is no date',
      { until: 'when mended' },
      /suppress\[0\]\.until: 'when mended' is no date/,
    ],
    [
      'of a rule that is not there',
      { rule: 'reply_lost' },
      /suppress\[0\]\.rule: there is no rule 'reply_lost'/,
    ],
  ])('%s are wrong usage', async (_claim, fields, said) => {
    const ended = await auditWith(suppress({ ...known, ...fields }));
    expect(ended.code).toBe(2);
    expect(ended.stderr).toMatch(said);
  });
});

describe('a baseline', () => {
  test('holds for what it found, in another export too, and not for what is new', async () => {
    const first = await run(
      [
        'audit',
        'one.jsonl',
        '--receipts',
        'one.receipts.jsonl',
        '--format',
        'json',
        '--output',
        'before.json',
      ],
      { cwd: place.path },
    );
    expect(first.code).toBe(1);
    const again = await auditWith(
      'export default {};',
      'one.jsonl',
      '--receipts',
      'one.receipts.jsonl',
      '--baseline',
      'before.json',
    );
    expect([
      again.code,
      again.report.findings.filter(({ level }) => level !== 'info'),
      again.report.summary.suppressed,
    ]).toEqual([0, [], 2]);
    const more = await auditWith(
      'export default {};',
      'lost.jsonl',
      '--receipts',
      'receipts.jsonl',
      '--baseline',
      'before.json',
    );
    expect(more.code).toBe(1);
    expect(rulesOf(more)).toEqual(ALL.slice(2));
  });
});
