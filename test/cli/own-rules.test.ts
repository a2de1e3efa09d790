/** Rules of one's own: in a plugin, by `--rule`, one that crashes, and the tester of the public export. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { ALL, auditWith, place, rulesOf } from './configured.js';
import { exportOf, receiptOf } from './evidence.js';

afterAll(place.remove);

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
