import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { BIN, folder, run } from './cli.js';
import { FOREIGN, exportOf, receiptOf } from './evidence.js';

const good = exportOf();
const place = folder({
  'good.json': good,
  'receipts.jsonl': receiptOf(),
  'failed.jsonl': receiptOf({ result: 'failed' }),
  'lost.json': exportOf({ outcome: 'STREAM_INCOMPLETE', reason: 'reset' }),
  'half.jsonl': good + good.slice(0, 200),
  'middle.jsonl': `${good}{oops}\n${exportOf({ operation: 'row-43:done:v1', call: 'c-2' })}`,
  'text.txt': 'hello\n',
  'other.json': '{"a":1}\n',
  'empty.json': '',
  'foreign.json': FOREIGN,
  'rule.mjs': `export default {
    meta: { id: 'acme/every-call', defaultLevel: 'error', description: 'd', defaultOptions: undefined,
      messages: { seen: 'a call of {tool}' } },
    create: (context) => ({ call: (call) => context.report({ messageId: 'seen', data: { tool: call.tool ?? '?' }, at: [], call }) }),
  };`,
  'crash.mjs': `export default {
    meta: { id: 'acme/crash', defaultLevel: 'info', description: 'd', defaultOptions: undefined, messages: {} },
    create: () => ({ call: () => { throw new Error('boom'); } }),
  };`,
  'norule.mjs': 'export default 7;',
  'config.mjs': `export default { rules: { 'reply-lost': 'off', 'stream-without-result': 'info' } };`,
});
mkdirSync(join(place.path, 'no-traces'));
mkdirSync(join(place.path, 'nested'));
afterAll(place.remove);

const audit = (...args: readonly string[]) => run(['audit', ...args], { cwd: place.path });
interface JsonReport {
  readonly operations: readonly { readonly verdict: string }[];
  readonly findings: readonly { readonly rule: string; readonly level: string; readonly message: string }[];
}
const json = (stdout: string): JsonReport => JSON.parse(stdout);

describe('exit codes', () => {
  test.each<[claim: string, code: number, args: readonly string[]]>([
    ['a clean call with its receipt', 0, ['good.json', '--receipts', 'receipts.jsonl']],
    ['a warning', 1, ['lost.json', '--receipts', 'receipts.jsonl']],
    [
      'a warning, failing on errors only',
      0,
      ['lost.json', '--receipts', 'receipts.jsonl', '--fail-on', 'error'],
    ],
    ['an error', 1, ['good.json', '--receipts', 'failed.jsonl', '--fail-on', 'error']],
    ['an unknown option', 2, ['good.json', '--nope']],
    ['no input named', 2, []],
    ['an unknown format', 2, ['good.json', '--format', 'xml']],
    ['a moment without a zone', 2, ['good.json', '--as-of', '2026-09-21T14:13:20']],
    ['a rule file that is not there', 2, ['good.json', '--rule', 'nowhere.mjs']],
    ['a rule file without a rule', 2, ['good.json', '--rule', 'norule.mjs']],
    ['a configuration that is not there', 2, ['good.json', '--config', 'nowhere.mjs']],
    ['an output that cannot be written', 2, ['good.json', '--output', 'nowhere/report.json']],
    ['nothing readable', 3, ['text.txt']],
    ['no span of a tool call', 3, ['foreign.json']],
    ['evidence required and not there', 4, ['good.json', '--fail-on', 'never', '--require-evidence']],
    ['evidence required and there', 0, ['good.json', '--receipts', 'receipts.jsonl', '--require-evidence']],
    ['findings beat weak evidence', 1, ['good.json', '--require-evidence']],
  ])('%s: %i', async (_claim, code, args) => {
    const ended = await audit(...args);
    expect({ code: ended.code, stderr: ended.stderr }).toMatchObject({ code });
    if (code === 2) expect(ended.stderr).toMatch(/^waybill: .+\n[^]*Remedy: /);
  });
});

describe('bad input is named with its place, and the rest is judged', () => {
  test.each<[claim: string, file: string, code: number, named: RegExp]>([
    ['half a last line', 'half.jsonl', 1, /half\.jsonl:2: .*Remedy: /],
    ['not JSON among good lines', 'middle.jsonl', 1, /middle\.jsonl:2: .*Remedy: /],
    ['not JSON', 'text.txt', 3, /text\.txt:1: .*Remedy: /],
    ['not OTLP', 'other.json', 3, /other\.json:1: .*Remedy: /],
    ['empty', 'empty.json', 3, /empty\.json.*Remedy: /],
    ['a file that is not there', 'nowhere.json', 3, /nowhere\.json.*Remedy: /],
    ['a folder without trace files', 'no-traces', 3, /no-traces.*Remedy: /],
    ['no spans of ours', 'foreign.json', 3, /read 1 span; nothing in it is of an MCP tool call[^]*Remedy: /],
  ])('%s', async (_claim, file, code, named) => {
    const ended = await audit(file, '--format', 'json');
    expect(ended.code).toBe(code);
    expect(ended.stderr).toMatch(named);
    expect(() => json(ended.stdout)).not.toThrow();
  });

  test('one bad file among good ones costs nothing else', async () => {
    const ended = await audit(
      'good.json',
      'text.txt',
      'nowhere.json',
      '--receipts',
      'receipts.jsonl',
      '--format',
      'json',
    );
    expect(ended.code).toBe(1);
    expect(json(ended.stdout).operations.map((operation) => operation.verdict)).toEqual(['verified_done']);
    expect(json(ended.stdout).findings.map((finding) => finding.rule)).toEqual([
      'input-damaged',
      'input-damaged',
    ]);
  });

  test('receipts that cannot be read are named', async () => {
    const ended = await audit('good.json', '--receipts', 'no-traces', '--format', 'json');
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/no-traces.*Remedy: /);
  });
});

describe('output', () => {
  test('standard input is read by its dash', async () => {
    const ended = await run(['audit', '-', '--format', 'json'], { input: good });
    expect(json(ended.stdout).operations).toHaveLength(1);
  });

  test('the same evidence gives the same bytes', async () => {
    const one = await audit('good.json', 'lost.json', '--format', 'json');
    const other = await audit('good.json', 'lost.json', '--format', 'json');
    expect(other.stdout).toBe(one.stdout);
  });

  test('a file gets the report, stdout stays empty, and no part file is left', async () => {
    const ended = await audit(
      'good.json',
      '--format',
      'json',
      '--output',
      'report.json',
      '--fail-on',
      'never',
    );
    expect(ended).toMatchObject({ code: 0, stdout: '' });
    const path = join(place.path, 'report.json');
    expect(json(readFileSync(path, 'utf8')).operations).toHaveLength(1);
    expect(existsSync(`${path}.part`)).toBe(false);
  });

  test('not a terminal: no escape sequence', async () => {
    expect((await audit('lost.json')).stdout).not.toContain('\u001B');
  });

  test('a reader that goes away is no error', async () => {
    const many = folder({
      'many.jsonl': Array.from({ length: 3000 }, (_, n) =>
        exportOf({ operation: `op-${n}`, call: `c-${n}` }),
      ).join(''),
    });
    try {
      const command = `"${process.execPath}" "${BIN}" audit many.jsonl --format json; echo "code $?" >&2`;
      const child = spawn('sh', ['-c', `(${command}) | head -c 100`], { cwd: many.path, stdio: 'pipe' });
      let stderr = '';
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        stderr += text;
      });
      child.stdout.resume();
      await new Promise((resolve) => child.on('close', resolve));
      expect(stderr.trim()).toBe('code 1');
    } finally {
      many.remove();
    }
  });
});

describe("rules and configuration of one's own", () => {
  test('--rule adds a rule at its level', async () => {
    const ended = await audit(
      'good.json',
      '--receipts',
      'receipts.jsonl',
      '--rule',
      'rule.mjs',
      '--format',
      'json',
    );
    expect(ended.code).toBe(1);
    expect(json(ended.stdout).findings).toMatchObject([
      { rule: 'acme/every-call', level: 'error', message: 'a call of set_status' },
    ]);
  });

  test('a rule that throws is a finding and never a clean exit', async () => {
    const ended = await audit(
      'good.json',
      '--receipts',
      'receipts.jsonl',
      '--rule',
      'crash.mjs',
      '--format',
      'json',
    );
    expect(ended.code).toBe(1);
    expect(json(ended.stdout).findings).toMatchObject([
      { rule: 'rule-crashed', level: 'error', message: 'rule acme/crash threw: Error: boom' },
    ]);
  });

  test('the configuration sets levels', async () => {
    const ended = await audit(
      'lost.json',
      '--receipts',
      'receipts.jsonl',
      '--config',
      'config.mjs',
      '--format',
      'json',
    );
    expect(ended.code).toBe(0);
    expect(json(ended.stdout).findings.map(({ rule, level }) => [rule, level])).toEqual([
      ['stream-without-result', 'info'],
    ]);
  });
});

describe('a configuration that lies beside the evidence', () => {
  const beside = folder({
    'lost.json': readFileSync(join(place.path, 'lost.json'), 'utf8'),
    'waybill.config.mjs':
      "process.stderr.write('it ran\\n'); export default { rules: { 'reply-lost': 'off' } };",
  });
  afterAll(beside.remove);

  test('is code, and is named before it runs', async () => {
    const { stderr } = await run(['audit', 'lost.json', '--format', 'json'], { cwd: beside.path });
    expect(stderr).toMatch(/^waybill: running waybill\.config\.mjs of this folder.*--no-config.*\nit ran\n/);
  });

  test('is left alone with --no-config', async () => {
    const { stderr, stdout } = await run(['audit', 'lost.json', '--no-config', '--format', 'json'], {
      cwd: beside.path,
    });
    expect(stderr).not.toContain('it ran');
    expect(json(stdout).findings.map(({ rule }) => rule)).toContain('reply-lost');
  });
});

describe('a baseline', () => {
  test('what an earlier report found no longer fails, what is new does', async () => {
    await audit('lost.json', '--receipts', 'receipts.jsonl', '--format', 'json', '--output', 'before.json');
    const same = await audit('lost.json', '--receipts', 'receipts.jsonl', '--baseline', 'before.json');
    expect(same.code).toBe(0);
    expect(same.stdout).toContain('suppressed: 2 findings');
    const worse = await audit('good.json', '--receipts', 'failed.jsonl', '--baseline', 'before.json');
    expect(worse.code).toBe(1);
  });

  test('a file that is no report is wrong usage', async () => {
    const ended = await audit('good.json', '--baseline', 'other.json');
    expect(ended).toMatchObject({ code: 2 });
    expect(ended.stderr).toMatch(/other\.json.*\n.*Remedy: /);
  });
});

describe('explain', () => {
  const explain = (...args: readonly string[]) => run(['explain', ...args], { cwd: place.path });

  test('tells the story of an operation that is found by a call', async () => {
    const ended = await explain('c-1', 'good.json', '--receipts', 'receipts.jsonl');
    expect(ended.code).toBe(0);
    expect(ended.stdout).toMatch(/^Operation row-42:done:v1: set_status[^]*Verdict: verified_done/);
  });

  test('gives it as JSON', async () => {
    const ended = await explain('row-42:done:v1', 'good.json', '--json');
    expect(JSON.parse(ended.stdout)).toMatchObject({ operation: { key: 'row-42:done:v1' } });
  });

  test.each<[claim: string, code: number, args: readonly string[], said: string]>([
    ['an operation that is not there', 2, ['zz', 'good.json'], 'is called zz'],
    ['an id that fits two', 2, ['row-4', 'middle.jsonl'], 'fits 2 operations'],
    ['nothing readable', 3, ['row', 'text.txt'], 'no operation could be read'],
  ])('%s: %i', async (_claim, code, args, said) => {
    const ended = await explain(...args);
    expect(ended.code).toBe(code);
    expect(ended.stderr).toMatch(/^waybill: .+\n {2}Remedy: /);
    expect(ended.stderr).toContain(said);
  });
});

test('--version and --help load nothing and end well', async () => {
  expect(await run(['--version'])).toMatchObject({ code: 0, stdout: '0.1.0\n', stderr: '' });
  const help = await run(['audit', '--help']);
  expect(help.code).toBe(0);
  expect(help.stdout).toContain('Examples:');
});

test('no command at all is wrong usage and shows the help', async () => {
  const ended = await run([]);
  expect(ended).toMatchObject({ code: 2, stdout: '' });
  expect(ended.stderr).toContain('waybill audit traces.json');
});
