import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

interface Operation {
  readonly operationId: string;
  readonly verdict: string;
  readonly told: string;
  readonly flags: readonly string[];
}
interface Finding {
  readonly rule: string;
  readonly level: string;
  readonly operation: string;
}

let folder: string;
let printed: string;
let exitCode: number;
let report: { readonly operations: readonly Operation[]; readonly findings: readonly Finding[] };

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'waybill-demo-'));
  printed = (await run(process.execPath, [join(root, 'examples/todo/dist/demo.js')], { cwd: folder })).stdout;
  const audit = [
    'audit',
    'demo-out/traces.jsonl',
    '--receipts',
    'demo-out/receipts.jsonl',
    '--targets',
    'demo-out/targets.jsonl',
    '--format',
    'json',
  ];
  const result = await run(process.execPath, [join(root, 'packages/cli/bin/waybill.js'), ...audit], {
    cwd: folder,
  }).then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: { code: number; stdout: string }) => error,
  );
  exitCode = result.code;
  report = JSON.parse(result.stdout) as typeof report;
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const rounds = [
  ['page-1:done:v1', 'TOOL_SUCCESS', 'verified_done', [], []],
  ['list:v1', 'TOOL_SUCCESS', 'no_effect_expected', [], []],
  ['page-3:done:v1', 'TIMEOUT', 'unknown_needs_reconciliation', [], []],
  ['page-4:done:v1', 'TRANSPORT_ERROR/reset', 'verified_done', ['reply_lost'], ['reply-lost']],
  ['page-5:done:v1', 'TOOL_SUCCESS', 'false_success', [], ['false-success', 'success-without-receipt']],
  [
    'page-6:done:v1',
    'STREAM_INCOMPLETE/closed_before_response',
    'verified_done',
    ['reply_lost'],
    ['reply-lost', 'stream-without-result'],
  ],
  ['page-7:done:v1', 'HTTP_ERROR', 'unknown_needs_reconciliation', [], []],
  ['page-8:done:v1', 'JSONRPC_ERROR', 'unknown_needs_reconciliation', [], []],
  ['page-99:done:v1', 'TOOL_ERROR', 'verified_not_done', [], []],
  [
    'page-10:archived:v1',
    'TOOL_SUCCESS',
    'false_success',
    [],
    ['false-success', 'missing-stage', 'success-without-receipt'],
  ],
] as const;

describe('the demo', () => {
  test.each(rounds)('%s: told %s, judged %s', (operationId, told, verdict, flags, findings) => {
    const operation = report.operations.find((candidate) => candidate.operationId === operationId);
    expect(operation).toMatchObject({ told, verdict, flags });
    const loud = report.findings.filter(
      (finding) => finding.operation === operationId && finding.level !== 'info',
    );
    expect([...new Set(loud.map(({ rule }) => rule))].sort()).toEqual([...findings]);
  });

  test('prints its rounds in order, each with its verdict', () => {
    const verdicts = [...printed.matchAll(/^ {4}verdict {3}(\S+?),? /gm)].map(([, verdict]) => verdict);
    expect(verdicts).toEqual(rounds.map(([, , verdict]) => verdict));
  });

  test('ends the command line with 1, since there are findings', () => {
    expect(exitCode).toBe(1);
  });

  test('keeps its receipts out of reach of the client: only the server was told their path', () => {
    const client = readFileSync(join(root, 'examples/todo/src/client.ts'), 'utf8');
    expect(client).not.toMatch(/receipt/i);
  });
});

describe('the README', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');

  test('shows the bootstrap file as it is', () => {
    expect(readme).toContain(readFileSync(join(root, 'examples/todo/otel.mjs'), 'utf8'));
  });

  test('shows what the demo prints', () => {
    const shown = printed.slice(printed.indexOf(' 1. '), printed.indexOf('Evidence in')).trimEnd();
    expect(readme).toContain(shown);
  });
});
