import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StdioServerCommand } from '@waybill/lab';
import { cleanEnvironment, startCollector, type ExportedSpan } from '../../loading/harness.js';

/** SDK 1.x at 2025-11-25; SDK 2.x by default (2025-11-25); SDK 2.x pinned to 2026-07-28. */
export const CLIENTS = ['v1', 'v2', 'v2_2026'] as const;
export type SdkClient = (typeof CLIENTS)[number];

export interface CallSpec {
  readonly params: {
    readonly name: string;
    readonly arguments?: object;
    readonly _meta?: object;
  };
  readonly options: { readonly timeout: number } & Readonly<Record<string, unknown>>;
  /** 0: before the call is made. */
  readonly abortAfterMs?: number;
  /** A word, or an error object whose identity is checked. */
  readonly abortReason?: string;
  readonly progress?: boolean;
  /** Nobody handles the promise. */
  readonly forget?: boolean;
  readonly toolDefinition?: object;
}
export interface Job {
  readonly key: string;
  readonly client: SdkClient;
  readonly transport:
    | { readonly kind: 'http' | 'legacy'; readonly url: string }
    | ({ readonly kind: 'stdio' } & StdioServerCommand);
  readonly calls: readonly CallSpec[];
  /** Calls wait for each other; otherwise they start in one turn. */
  readonly sequence?: boolean;
  readonly listTools?: boolean;
  /** Milliseconds between the last settling and the end of the client. */
  readonly lingerMs?: number;
  /** The application closes its client with calls in flight. */
  readonly closeAfterMs?: number;
  readonly fetch?: 'throws' | 'passes';
}

export interface Settled {
  readonly pending?: true;
  readonly result?: { readonly isError?: boolean; readonly resultType?: string };
  readonly error?: {
    readonly class: string;
    readonly name: string;
    readonly message: string;
    readonly code?: string | number;
  };
  readonly progress?: readonly unknown[];
}
export interface Observed {
  readonly key: string;
  readonly settled: readonly Settled[];
  /** Answer to `tools/list`, where the job asked. */
  readonly tools?: unknown;
  /** Indexes of the calls in the order in which they settled. */
  readonly order: readonly number[];
  readonly onerror: readonly { readonly name: string; readonly message: string }[];
  /** The application could not even connect, or its client threw outside a call. */
  readonly broken?: unknown;
}
export interface ProgramRun {
  readonly observed: ReadonlyMap<string, Observed>;
  readonly unhandled: readonly unknown[];
  readonly uncaught: readonly unknown[];
  readonly warnings: readonly unknown[];
  readonly stderr: string;
  /** As exported by OTLP; none without the plugin. */
  readonly spans: readonly ExportedSpan[];
  /** The same as it came: OTLP JSON, one request each. */
  readonly otlp: readonly string[];
}

const CALLER = fileURLToPath(new URL('../application/caller.mjs', import.meta.url));
const OTEL = new URL('../application/otel.mjs', import.meta.url).href;

/** Node options of a program under the plugin: registered as its README says, beside an SDK that exports. */
export const INSTRUMENTED: readonly string[] = [
  '--import',
  import.meta.resolve('@waybill/instrumentation-mcp/register'),
  '--import',
  OTEL,
];

export function exportTo(endpoint: string): Record<string, string> {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'none',
    OTEL_NODE_RESOURCE_DETECTORS: 'none',
  };
}

/**
 * Runs the jobs in a process of their own, with the plugin or with nothing at all. Jobs that start servers of their own
 * are given the environment that instruments these too (none without the plugin).
 */
export async function runApplication(
  jobs: readonly Job[] | ((environment: Record<string, string>) => readonly Job[]),
  options: { readonly plugin: boolean; readonly concurrency?: number; readonly timeoutMs?: number },
): Promise<ProgramRun> {
  const collector = await startCollector();
  const folder = mkdtempSync(join(tmpdir(), 'waybill-wire-'));
  try {
    const files = [join(folder, 'jobs.json'), join(folder, 'observed.json')] as const;
    const environment: Record<string, string> = options.plugin
      ? { ...exportTo(collector.endpoint), NODE_OPTIONS: INSTRUMENTED.join(' ') }
      : {};
    const list = typeof jobs === 'function' ? jobs(environment) : jobs;
    writeFileSync(files[0], JSON.stringify({ jobs: list, concurrency: options.concurrency ?? 24 }));
    const stderr = await runNode(
      [...(options.plugin ? INSTRUMENTED : []), CALLER, ...files],
      options.plugin ? exportTo(collector.endpoint) : {},
      options.timeoutMs ?? 120_000,
    );
    const { observed, ...rest } = JSON.parse(readFileSync(files[1], 'utf8')) as Omit<
      ProgramRun,
      'observed'
    > & { observed: Observed[] };
    return {
      ...rest,
      stderr,
      observed: new Map(observed.map((each) => [each.key, each])),
      spans: collector.spans,
      otlp: collector.requests,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await collector.close();
  }
}

/** Resolves with stderr; rejects with it when the program failed or had to be killed. */
function runNode(args: readonly string[], env: object, timeoutMs: number): Promise<string> {
  const child = spawn(process.execPath, args, {
    env: { ...cleanEnvironment(), ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      if (code === 0) resolve(stderr);
      else reject(new Error(`the application ended with ${code ?? signal}: ${stderr}`));
    });
  });
}
