/**
 * Configuration, suppressions, baseline, levels and rules of one's own, as a person meets them: files in a folder, the
 * command line, exit code and report.
 */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { spawnSync } from 'node:child_process';
import { afterAll, describe, expect, test } from 'vitest';
import { folder, run } from './cli.js';
import { exportOf, receiptOf } from './evidence.js';

/** Two operations of two tools whose stream broke: each owes `stream-without-result` and `reply-lost`. */
const lost = (tool: string, number: number): string =>
  exportOf({
    operation: `${tool}:${number}`,
    call: `c-${number}`,
    tool,
    outcome: 'STREAM_INCOMPLETE',
    reason: 'reset',
  });
const receipts = [1, 2].map((number) =>
  receiptOf({ operation: `${number === 1 ? 'send_mail' : 'set_status'}:${number}`, call: `c-${number}` }),
);

const place = folder({
  'lost.jsonl': lost('send_mail', 1) + lost('set_status', 2),
  'one.jsonl': lost('send_mail', 1),
  'receipts.jsonl': receipts.join(''),
  'one.receipts.jsonl': receipts.slice(0, 1).join(''),
});
afterAll(place.remove);

interface JsonReport {
  readonly coverage: { readonly notes: readonly string[] };
  readonly summary: { readonly suppressed: number };
  readonly operations: readonly { readonly key: string; readonly verdict: string }[];
  readonly findings: readonly JsonFinding[];
  readonly suppressed: readonly (JsonFinding & {
    readonly suppression: { readonly reason: string; readonly until: string };
  })[];
}
interface JsonFinding {
  readonly rule: string;
  readonly level: string;
  readonly tool: string | null;
  readonly operation: string | null;
  readonly message: string;
}

interface Audited {
  readonly code: number | null;
  readonly stderr: string;
  readonly report: JsonReport;
}

let number = 0;
/** Writes the configuration as a person would and audits with it; of the report, what was said. */
async function auditWith(config: string, ...args: readonly string[]): Promise<Audited> {
  number += 1;
  const file = `config-${number}.mjs`;
  writeFileSync(join(place.path, file), config);
  const inputs = args.some((arg) => arg.endsWith('.jsonl'))
    ? []
    : ['lost.jsonl', '--receipts', 'receipts.jsonl'];
  const ended = await run(['audit', ...inputs, ...args, '--config', file, '--format', 'json'], {
    cwd: place.path,
  });
  return {
    code: ended.code,
    stderr: ended.stderr,
    report: ended.stdout === '' ? NOTHING : (JSON.parse(ended.stdout) as JsonReport),
  };
}
const NOTHING: JsonReport = {
  coverage: { notes: [] },
  summary: { suppressed: 0 },
  operations: [],
  findings: [],
  suppressed: [],
};

const rulesOf = ({ report }: Audited): readonly string[] =>
  report.findings.map(({ rule, level, tool }) => `${level} ${rule} ${tool ?? '-'}`);

const ALL = [
  'warning reply-lost send_mail',
  'warning stream-without-result send_mail',
  'warning reply-lost set_status',
  'warning stream-without-result set_status',
];

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

// --- rules of one's own

const RULE = (id: string, create: string, meta = ''): string =>
  `{ meta: { id: '${id}', defaultLevel: 'warning', description: 'd', defaultOptions: undefined, messages: { seen: 'saw {tool}' }, ${meta} }, create: ${create} }`;
const SEES =
  '(context) => ({ call: (call) => context.report({ messageId: "seen", data: { tool: call.tool }, at: [], call }) })';
const CLEAN = exportOf();

writeFileSync(join(place.path, 'clean.jsonl'), CLEAN);
writeFileSync(join(place.path, 'clean.receipts.jsonl'), receiptOf());
const clean = ['clean.jsonl', '--receipts', 'clean.receipts.jsonl'] as const;

describe("a plugin's rules", () => {
  const plugin = (rule: string): string => `const plugin = { name: 'acme', rules: { one: ${rule} } };\n`;
  const withOptions = RULE(
    'acme/one',
    '(context) => ({ call: (call) => { if (call.tool === context.options.tool) context.report({ messageId: "seen", data: { tool: call.tool }, at: [], call }); } })',
    `optionsSchema: { type: 'object', properties: { tool: { type: 'string' } }, additionalProperties: false }`,
  ).replace('defaultOptions: undefined', `defaultOptions: { tool: 'none' }`);

  test('run at their own level', async () => {
    const ended = await auditWith(
      `${plugin(RULE('acme/one', SEES))}export default { plugins: [plugin] };`,
      ...clean,
    );
    expect(rulesOf(ended)).toEqual(['warning acme/one set_status']);
    expect(ended.code).toBe(1);
  });

  test('take level, options and suppressions like the built-in ones', async () => {
    const ended = await auditWith(
      `${plugin(withOptions)}export default { plugins: [plugin], rules: { 'acme/one': ['error', { tool: 'set_status' }] } };`,
      ...clean,
    );
    expect(rulesOf(ended)).toEqual(['error acme/one set_status']);
    const quiet = await auditWith(`${plugin(withOptions)}export default { plugins: [plugin] };`, ...clean);
    expect(quiet.report.findings).toEqual([]);
    const suppressed = await auditWith(
      `${plugin(RULE('acme/one', SEES))}export default { plugins: [plugin], suppress: [{ rule: 'acme/one', reason: 'r', until: '2027-01-01' }] };`,
      ...clean,
    );
    expect([suppressed.code, suppressed.report.summary.suppressed]).toEqual([0, 1]);
  });

  test('have their options checked by their own schema', async () => {
    const ended = await auditWith(
      `${plugin(withOptions)}export default { plugins: [plugin], rules: { 'acme/one': ['error', { tool: 7 }] } };`,
      ...clean,
    );
    expect(ended.code).toBe(2);
    expect(ended.stderr).toMatch(/rules\['acme\/one'\], option tool: it must be string/);
  });

  test('cannot take the id of another rule', async () => {
    const ended = await auditWith(
      `${plugin(RULE('reply-lost', SEES))}export default { plugins: [plugin] };`,
      ...clean,
    );
    expect(ended.code).toBe(2);
    expect(ended.stderr).toMatch(/plugins: two rules are called 'reply-lost'/);
  });
});

describe('--rule', () => {
  test('a file may hold several; the configuration sets their levels', async () => {
    writeFileSync(
      join(place.path, 'two.mjs'),
      `export default [${RULE('acme/a', SEES)}, ${RULE('acme/b', SEES)}];`,
    );
    const ended = await auditWith(
      `export default { rules: { 'acme/b': 'error' } };`,
      ...clean,
      '--rule',
      'two.mjs',
    );
    expect(rulesOf(ended)).toEqual(['warning acme/a set_status', 'error acme/b set_status']);
  });
});

describe('a rule that crashes', () => {
  test.each<[when: string, create: string, said: string]>([
    [
      'while it looks at a call',
      '() => ({ call: () => { throw new TypeError("no such member"); } })',
      'TypeError: no such member',
    ],
    ['when it is made', '() => { throw new Error("no options"); }', 'Error: no options'],
    ['at the end', '() => ({ end: () => { throw new Error("late"); } })', 'Error: late'],
    [
      'by a message that it does not have',
      '(context) => ({ call: () => context.report({ messageId: "nope", at: [] }) })',
      "it reports the message 'nope'",
    ],
    ['by throwing what is no error', '() => ({ call: () => { throw "text"; } })', 'text'],
  ])('%s is named by rule-crashed, and all others still run', async (_when, create, said) => {
    writeFileSync(
      join(place.path, 'crash.mjs'),
      `export default [${RULE('acme/crash', create)}, ${RULE('acme/after', SEES)}];`,
    );
    const ended = await auditWith('export default {};', '--rule', 'crash.mjs');
    const crashes = ended.report.findings.filter(({ rule }) => rule === 'rule-crashed');
    expect(crashes).toHaveLength(1);
    expect(crashes[0]).toMatchObject({ level: 'error' });
    expect(crashes[0]?.message).toContain(`rule acme/crash threw: `);
    expect(crashes[0]?.message).toContain(said);
    expect(rulesOf(ended).filter((each) => each.includes('acme/after'))).toHaveLength(2);
    expect(rulesOf(ended).filter((each) => ALL.includes(each))).toEqual(ALL);
    expect(ended.report.operations.map(({ verdict }) => verdict)).toEqual(['verified_done', 'verified_done']);
    expect(ended.code).toBe(1);
  });
});

describe('RuleTester of the public export', () => {
  const rule = RULE('acme/one', SEES);
  const suite = (invalid: string): string => `
    import { describe, test } from 'node:test';
    import { createRuleTester } from '@waybill/audit/testing';
    const traces = ${JSON.stringify(CLEAN)};
    createRuleTester({ describe, test }).run(${rule}, {
      valid: [{ name: 'switched off', traces, setting: 'off' }],
      invalid: [${invalid}],
    });`;
  const packages = fileURLToPath(new URL('../../packages/', import.meta.url));
  mkdirSync(join(place.path, 'node_modules', '@waybill'), { recursive: true });
  symlinkSync(join(packages, 'audit'), join(place.path, 'node_modules', '@waybill', 'audit'));

  test.each<[claim: string, invalid: string, code: number, said: RegExp]>([
    [
      'passes where the rule finds what is stated',
      `{ name: 'a call', traces, findings: [{ messageId: 'seen', message: 'saw set_status', callId: 'c-1', level: 'warning' }] }`,
      0,
      /pass 2/,
    ],
    [
      'fails where it finds something else, and says what',
      `{ name: 'a call', traces, findings: [{ message: 'saw nothing' }] }`,
      1,
      /expected message "saw nothing", found "saw set_status"/,
    ],
    [
      'fails where it finds less',
      `{ name: 'a call', traces, findings: [{}, {}] }`,
      1,
      /expected 2 finding\(s\), found 1/,
    ],
  ])('%s', (_claim, invalid, code, said) => {
    writeFileSync(join(place.path, 'rule.test.mjs'), suite(invalid));
    const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
    const ended = spawnSync(process.execPath, ['--test', '--test-reporter=spec', 'rule.test.mjs'], {
      cwd: place.path,
      encoding: 'utf8',
      env,
    });
    expect(ended.stdout + ended.stderr).toMatch(said);
    expect(ended.status).toBe(code);
  });
});
