import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { META_PREFIX } from '@waybill/core';
import { cleanEnvironment, exportTo, runNode, startCollector } from '../loading/harness.js';
import type { ExportedSpan } from '../loading/harness.js';

export const FOLDER: string = import.meta.dirname;
const LOOPBACK = `--import ${new URL('loopback.mjs', import.meta.url).href}`;
const MAIN = {
  '0.1.16': 'node_modules/@modelcontextprotocol/conformance/dist/index.js',
  '0.2.0-alpha.12': 'node_modules/conformance-next/dist/index.js',
};

export interface Checks {
  /** What the suite wrote into `checks.json`, by scenario, without what is new in every run. */
  readonly scenarios: Readonly<Record<string, readonly unknown[]>>;
  readonly passed: number;
  readonly failed: number;
}

export interface Leg extends Checks {
  /** What the subject exported. */
  readonly spans: readonly ExportedSpan[];
}

interface Suite {
  readonly version: keyof typeof MAIN;
  /** Node 22 or later. */
  readonly node: string;
}

/** Runs scenarios against a server of this folder. `otel` is the plugin's `--import` URL, or nothing for a run without. */
export async function serverLeg(
  suite: Suite,
  server: readonly string[],
  args: readonly string[],
  otel: string | undefined,
): Promise<Leg> {
  const collector = await startCollector();
  const child = spawn(process.execPath, server, {
    cwd: FOLDER,
    env: { ...cleanEnvironment(), ...exportTo(collector), NODE_OPTIONS: importOf(otel) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  try {
    const url = `http://127.0.0.1:${await portOf(child)}/mcp`;
    const checks = await conformance(suite, ['server', '--url', url, ...args], {});
    child.kill('SIGTERM');
    await ended;
    return { ...checks, spans: collector.spans };
  } finally {
    child.kill('SIGKILL');
    await collector.close();
  }
}

/** Plays one scenario to a client of this folder. */
export async function clientLeg(
  suite: Suite,
  client: string,
  scenario: string,
  otel: string | undefined,
): Promise<Leg> {
  const collector = await startCollector();
  try {
    // The suite hands its environment on; `env` gives the client its own.
    const command = `env NODE_OPTIONS="${importOf(otel)}" ${process.execPath} ${client}`;
    const checks = await conformance(
      suite,
      ['client', '--command', command, '--scenario', scenario],
      exportTo(collector),
    );
    return { ...checks, spans: collector.spans };
  } finally {
    await collector.close();
  }
}

async function conformance(
  { version, node }: Suite,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Checks> {
  const output = mkdtempSync(join(tmpdir(), 'waybill-conformance-'));
  try {
    const run = await runNode([MAIN[version], ...args, '-o', output], {
      cwd: FOLDER,
      command: [node],
      env: { ...env, NODE_OPTIONS: LOOPBACK },
      timeoutMs: 200_000,
    });
    const checks = readChecks(output);
    if (checks.passed + checks.failed === 0) {
      throw new Error(`the suite checked nothing (exit code ${run.code}): ${run.stdout}${run.stderr}`);
    }
    return checks;
  } finally {
    rmSync(output, { recursive: true, force: true });
  }
}

function readChecks(folder: string): Checks {
  const scenarios: Record<string, readonly unknown[]> = {};
  let passed = 0;
  let failed = 0;
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
    if (!file.endsWith('checks.json')) continue;
    const checks = JSON.parse(readFileSync(join(folder, file), 'utf8')) as { status: string }[];
    passed += checks.filter(({ status }) => status === 'SUCCESS').length;
    failed += checks.filter(({ status }) => status === 'FAILURE').length;
    const scenario = file.replace(/-\d{4}-\d\d-\d\dT[\d-]+Z.checks\.json$/, '');
    scenarios[scenario] = checks.map(steady);
  }
  return { scenarios, passed, failed };
}

/** Response headers, measured delays and secrets that differ between two runs of the same program. */
const UNSTEADY: ReadonlySet<string> = new Set([
  'actualDelayMs',
  'code_challenge',
  'code_verifier',
  'computedChallenge',
  'content-length',
  'etag',
  'storedChallenge',
]);

/** What the plugin puts into `params._meta`, by design. */
const OURS = new RegExp(`^(?:traceparent|tracestate|baggage|${META_PREFIX}.*)$`);

/**
 * A check without what differs between two runs of the same program (times, ports, random names), and with the
 * `params._meta` of a quoted request as the program made it.
 */
function steady(value: unknown): unknown {
  if (typeof value === 'string') return steadyText(value);
  // Ids that the suite makes of the clock.
  if (typeof value === 'number') return value > 1e12 ? '<ms>' : value;
  if (Array.isArray(value)) return value.map(steady);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).flatMap(([key, part]): [string, unknown][] => {
    if (UNSTEADY.has(key)) return [[key, '<varies>']];
    return key === 'params' ? ownParams(steady(part)) : [[key, steady(part)]];
  });
  return Object.fromEntries(entries);
}

/** The entry `params` of a request without our half of its `_meta`, and without what is empty then. */
function ownParams(value: unknown): [string, unknown][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [['params', value]];
  const { _meta: meta = {}, ...rest } = value as { readonly _meta?: object };
  const own = Object.entries(meta).filter(([name]) => !OURS.test(name));
  const params = own.length === 0 ? rest : { ...rest, _meta: Object.fromEntries(own) };
  return Object.keys(params).length === 0 ? [] : [['params', params]];
}

function steadyText(text: string): string {
  return text
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replaceAll(/\b1\d{12}\b/g, '<ms>')
    .replaceAll(/(?<=(?:127\.0\.0\.1|localhost)(?::|%3A))\d+/g, '<port>')
    .replaceAll(/(?<=code_challenge=)[\w-]+/g, '<varies>')
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g, '<uuid>');
}

async function portOf(child: ChildProcess): Promise<number> {
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new Error('a server without pipes');
  let errors = '';
  stderr.setEncoding('utf8').on('data', (chunk: string) => (errors += chunk));
  const first = once(stdout, 'data', { signal: AbortSignal.timeout(60_000) });
  const gone = once(child, 'exit').then(() => {
    throw new Error(`the server ended: ${errors}`);
  });
  const [chunk] = (await Promise.race([first, gone])) as [Buffer];
  gone.catch(() => undefined);
  return Number(chunk.toString());
}

function importOf(otel: string | undefined): string {
  return otel === undefined ? '' : `--import ${otel}`;
}
