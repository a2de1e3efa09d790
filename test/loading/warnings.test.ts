import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture, fixtureUrl, runNode } from './harness.js';

const REGISTER = import.meta.resolve('@waybill/instrumentation-mcp/register');
const BY_NODE_SDK = ['--import', fixtureUrl('otel.mjs')];
const BY_REGISTER = ['--import', REGISTER, '--import', fixtureUrl('sdk-only.mjs')];
const SILENT_EXPORT = {
  OTEL_TRACES_EXPORTER: 'none',
  OTEL_METRICS_EXPORTER: 'none',
  OTEL_LOGS_EXPORTER: 'none',
};

let root: string;

beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'waybill-warnings-')));
  await Promise.all(['v1-http', 'v1-memory', 'v2-http'].map(bundle));
}, 120_000);
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

/** One file with the SDK inside, as a bundler leaves it: no hook and no path leads to its classes. */
async function bundle(program: string): Promise<void> {
  await build({
    configFile: false,
    logLevel: 'silent',
    ssr: { noExternal: true },
    build: {
      ssr: fixture(`${program}.mjs`),
      outDir: join(root, 'bundles'),
      emptyOutDir: false,
      rollupOptions: { output: { entryFileNames: `${program}.mjs`, codeSplitting: false } },
    },
  });
}

/** A folder with a package.json, its main module and, where wanted, an SDK package in its node_modules. */
function application(
  name: string,
  main: { readonly file: string; readonly from?: string; readonly text?: string },
  dependencies: Readonly<Record<string, string>> = {},
): string {
  const folder = join(root, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, dependencies }));
  if (main.from !== undefined) cpSync(main.from, join(folder, main.file));
  else writeFileSync(join(folder, main.file), main.text ?? '');
  return join(folder, main.file);
}

function codes(stderr: string): string[] {
  return [...stderr.matchAll(/\[(WAYBILL_\w+)\]/g)].map(([, code]) => code ?? '');
}

describe('a program without MCP stays silent', () => {
  it.each([
    { way: 'NodeSDK', args: BY_NODE_SDK },
    { way: 'register', args: BY_REGISTER },
  ])('registered by $way', async ({ args }) => {
    const main = application('plain', {
      file: 'main.mjs',
      text:
        "import { createServer } from 'node:http';\n" +
        "const s = createServer((q, r) => r.end('ok')); await new Promise((r) => s.listen(0, '127.0.0.1', r));\n" +
        "console.log(await (await fetch('http://127.0.0.1:' + s.address().port)).text()); s.close(); s.closeAllConnections();\n",
    });
    expect(await runNode([...args, main], { env: SILENT_EXPORT })).toMatchObject({
      code: 0,
      stdout: 'ok\n',
      stderr: '',
    });
  });

  it('also when a tool runs that only lies beside an SDK', async () => {
    const main = application('neighbour/node_modules/compiler', {
      file: 'main.mjs',
      text: "console.log('done');\n",
    });
    linkSdk(join(root, 'neighbour'));
    expect(await runNode([...BY_REGISTER, main], { env: SILENT_EXPORT })).toMatchObject({
      code: 0,
      stderr: '',
    });
  });
});

describe('an SDK that is not seen is told once, with the remedy', () => {
  it.each(['v1-http', 'v2-http'])('bundled %s: by its own request', async (program) => {
    const main = join(root, 'bundles', `${program}.mjs`);
    const run = await runNode([...BY_NODE_SDK, main], { env: SILENT_EXPORT });
    expect(run).toMatchObject({ code: 0, stdout: '{"content":[{"type":"text","text":"hello ada"}]}\n' });
    expect(codes(run.stderr)).toEqual(['WAYBILL_NOT_PATCHED']);
    expect(run.stderr).toContain('A request with MCP headers');
    expect(run.stderr).toContain('instrumentModules()');
  });

  it('bundled beside a copy that was patched in place and is not used: by its own request', async () => {
    const main = application(
      'beside',
      { file: 'main.mjs', from: join(root, 'bundles', 'v1-http.mjs') },
      { '@modelcontextprotocol/sdk': '1' },
    );
    linkSdk(dirname(main));
    const run = await runNode([...BY_NODE_SDK, main], { env: SILENT_EXPORT });
    expect(run.code).toBe(0);
    expect(codes(run.stderr)).toEqual(['WAYBILL_NOT_PATCHED']);
  });

  it('in reach of the application and nothing patched: at exit', async () => {
    const main = application(
      'unseen',
      { file: 'main.mjs', from: join(root, 'bundles', 'v1-memory.mjs') },
      { '@modelcontextprotocol/sdk': '1' },
    );
    linkSdk(dirname(main));
    const run = await runNode([...BY_REGISTER, main], { env: SILENT_EXPORT });
    expect(run).toMatchObject({ code: 0, stdout: '{"content":[{"type":"text","text":"hello ada"}]}\n' });
    expect(codes(run.stderr)).toEqual(['WAYBILL_NOT_PATCHED']);
    expect(run.stderr).toContain(
      'depends on @modelcontextprotocol/sdk 1.32.2 (supported: >=1.10.0 <2), and nothing',
    );
  });

  it('also when the program ends by process.exit()', async () => {
    const main = application(
      'exits',
      { file: 'main.mjs', text: 'process.exit(3);\n' },
      { '@modelcontextprotocol/sdk': '1' },
    );
    linkSdk(dirname(main));
    const run = await runNode([...BY_REGISTER, main], { env: SILENT_EXPORT });
    expect(run.code).toBe(3);
    expect(codes(run.stderr)).toEqual(['WAYBILL_NOT_PATCHED']);
  });

  it('loaded before the instrumentation in a version that cannot be patched: at start', async () => {
    const main = application(
      'old',
      { file: 'main.cjs', text: "console.log('ran');\n" },
      { '@modelcontextprotocol/sdk': '1.9' },
    );
    const sdk = join(dirname(main), 'node_modules/@modelcontextprotocol/sdk');
    mkdirSync(join(sdk, 'dist/cjs/shared'), { recursive: true });
    writeFileSync(
      join(sdk, 'package.json'),
      JSON.stringify({ name: '@modelcontextprotocol/sdk', version: '1.9.0' }),
    );
    writeFileSync(join(sdk, 'dist/cjs/shared/protocol.js'), 'exports.Protocol = class {};\n');
    const preload = join(dirname(main), 'preload.cjs');
    writeFileSync(preload, "require('@modelcontextprotocol/sdk/dist/cjs/shared/protocol.js');\n");
    const run = await runNode(['--require', preload, ...BY_NODE_SDK, main], { env: SILENT_EXPORT });
    expect(run).toMatchObject({ code: 0, stdout: 'ran\n' });
    expect(codes(run.stderr)).toEqual(['WAYBILL_NOT_PATCHED']);
    expect(run.stderr).toContain('@modelcontextprotocol/sdk 1.9.0');
  });

  it('not at all where warnings are switched off', async () => {
    const run = await runNode(['--no-warnings', ...BY_NODE_SDK, join(root, 'bundles', 'v1-http.mjs')], {
      env: SILENT_EXPORT,
    });
    expect(run).toMatchObject({ code: 0, stderr: '' });
  });
});

it('a program whose worker uses the SDK is not judged by its main thread', async () => {
  const run = await runNode([...BY_REGISTER, fixture('worker.mjs')], { env: SILENT_EXPORT });
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expect(run.stdout).toContain('hello ada');
});

describe('calls without an OpenTelemetry SDK', () => {
  it('are told once', async () => {
    const run = await runNode(['--import', REGISTER, fixture('v1-memory.mjs')]);
    expect(run).toMatchObject({ code: 0, stdout: '{"content":[{"type":"text","text":"hello ada"}]}\n' });
    expect(codes(run.stderr)).toEqual(['WAYBILL_NO_SDK']);
  });

  it.each([
    ['OTEL_SDK_DISABLED', 'true'],
    ['OTEL_TRACES_EXPORTER', 'none'],
  ])('are a wish with %s=%s', async (name, value) => {
    const run = await runNode(['--import', REGISTER, fixture('v1-memory.mjs')], { env: { [name]: value } });
    expect(run).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('WAYBILL_CONFIG', () => {
  it.each([
    { name: 'absent.mjs', text: undefined, expected: 'cannot be loaded' },
    { name: 'throws.mjs', text: "throw new Error('no key');", expected: 'no key' },
    { name: 'empty.mjs', text: 'export const config = {};', expected: 'no default export' },
  ])('that is $name is named, and the program runs', async ({ name, text, expected }) => {
    const file = join(root, name);
    if (text !== undefined) writeFileSync(file, text);
    const run = await runNode([...BY_REGISTER, fixture('v1-memory.mjs')], {
      env: { ...SILENT_EXPORT, WAYBILL_CONFIG: file },
    });
    expect(run.code).toBe(0);
    expect(codes(run.stderr)).toEqual(['WAYBILL_CONFIG']);
    expect(run.stderr).toContain(file);
    expect(run.stderr).toContain(expected);
  });
});

/** Puts the real SDK v1 into the node_modules of `folder`. */
function linkSdk(folder: string): void {
  const scope = join(folder, 'node_modules/@modelcontextprotocol');
  mkdirSync(scope, { recursive: true });
  const protocol = fileURLToPath(import.meta.resolve('@modelcontextprotocol/sdk/shared/protocol.js'));
  symlinkSync(join(dirname(protocol), '../../..'), join(scope, 'sdk'));
}
