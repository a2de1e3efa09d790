import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ExportedSpan } from '../loading/harness.js';
import { ours } from '../programs/support.js';
import { exportTo, runNode, startCollector } from '../loading/harness.js';

/** What a caller was told of one call, as the program prints it. */
export interface Told {
  readonly result?: { readonly isError?: boolean };
  readonly error?: { readonly name: string; readonly code?: string | number; readonly message: string };
}

export const CALLS = ['ok', 'reports', 'throws', 'unknown', 'slow'] as const;
export type Call = (typeof CALLS)[number];
/** By transport. */
export type Answers = Readonly<Record<string, Readonly<Record<Call, Told>>>>;

export interface Patched {
  readonly module: string;
  readonly version?: string;
  readonly format: string;
  readonly missing: readonly string[];
}

export interface Played {
  /** Nothing where the program did not come to its end. */
  readonly answers: Answers | undefined;
  /** What was told on stderr and how the program ended, where that was not in silence and with 0. */
  readonly trouble: string;
  readonly spans: readonly ExportedSpan[];
  /** `patchReport()` of each process, the client's and that of the server over stdio. */
  readonly reports: Readonly<Record<string, readonly Patched[]>>;
}

/** How a runtime is started. */
export interface Launch {
  readonly cwd: string;
  readonly command: readonly [string, ...string[]];
  readonly program: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Arguments that bring the plugin into Node, by the files of the folder. */
export function nodeOptions(folder: string, format: 'esm' | 'cjs'): string {
  const file = (name: string): string => join(folder, name);
  return format === 'esm'
    ? ['otel.mjs', 'report.mjs'].map((name) => `--import ${pathToFileURL(file(name)).href}`).join(' ')
    : ['otel.cjs', 'report.cjs'].map((name) => `--require ${file(name)}`).join(' ');
}

/** Runs a program of the matrix to its end, with a collector of its own behind it. */
export async function play({ cwd, command, program, env }: Launch): Promise<Played> {
  const collector = await startCollector();
  const folder = mkdtempSync(join(tmpdir(), 'waybill-matrix-'));
  try {
    const run = await runNode([program], {
      cwd,
      command,
      timeoutMs: 90_000,
      env: { ...exportTo(collector), MATRIX_REPORTS: folder, ...env },
    });
    const ended = run.code === 0 ? '' : `ended with ${run.code ?? run.signal}. `;
    return {
      answers: run.stdout.startsWith('{') ? (JSON.parse(run.stdout) as Answers) : undefined,
      trouble: ended + run.stderr,
      spans: ours(collector.spans),
      reports: readReports(folder),
    };
  } finally {
    await collector.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function readReports(folder: string): Readonly<Record<string, readonly Patched[]>> {
  return Object.fromEntries(
    readdirSync(folder).map((file) => {
      const { patched } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as { patched: Patched[] };
      return [file.replace(/\.json$/, ''), patched];
    }),
  );
}
