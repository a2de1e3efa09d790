import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { binary } from '../../../../scripts/collector/build.mjs';

const configurations = fileURLToPath(new URL('../../../../collector-config/', import.meta.url));

/** Path of a configuration file, shipped (`audit-first.yaml`) or of the tests (`./store.yaml`). */
export function configuration(name: string): string {
  return name.startsWith('./')
    ? fileURLToPath(new URL(`../${name.slice(2)}`, import.meta.url))
    : join(configurations, name);
}

/**
 * The path of a program, or undefined where it cannot be built. That is a reason to skip on a developer's machine and
 * a failure in CI: a pipeline that was not run is a guess.
 */
export function program(which: 'collector' | 'jaeger'): string | undefined {
  const path = binary(which);
  if (path !== undefined) return path;
  const reason = `${which}: Go is not installed and ${which === 'collector' ? 'OTELCOL_BIN' : 'JAEGER_BIN'} is not set`;
  if (process.env['CI'] === 'true') throw new Error(reason);
  process.stderr.write(`skipped: ${reason}\n`);
  return undefined;
}

const given = new Set<number>();

/** A free port of the loopback interface, free again when this returns and never given twice. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  if (given.has(address.port)) return freePort();
  given.add(address.port);
  return address.port;
}

/** Waits until `probe` gives something other than undefined; names what was waited for when it never does. */
export async function until<T>(
  what: string,
  probe: () => T | undefined | Promise<T | undefined>,
  timeoutMs = 30_000,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = await probe();
    if (value !== undefined) return value;
    if (Date.now() > deadline) throw new Error(`waited ${String(timeoutMs)} ms in vain for: ${what}`);
    await delay(50);
  }
}

export interface Ports {
  readonly grpc: number;
  readonly http: number;
  readonly findings: number;
  readonly health: number;
  readonly metrics: number;
  readonly self: number;
}

export interface Running {
  readonly ports: Ports;
  /** Folder of the queue and the files; it outlives a kill and goes with `remove`. */
  readonly data: string;
  /** Everything that the process has printed. */
  output(): string;
  /** SIGKILL: nothing is flushed. */
  kill(): Promise<void>;
  /** SIGTERM, and SIGKILL after 20 s. */
  stop(): Promise<void>;
  remove(): void;
}

export interface CollectorOptions {
  /** See {@link configuration}. */
  readonly config: string;
  /** Variables beyond addresses and folders. */
  readonly env?: Readonly<Record<string, string>>;
  /** Configuration files that are laid over the first. */
  readonly extra?: readonly string[];
  readonly gates?: readonly string[];
  /** Start again where an earlier one was killed. */
  readonly again?: Running;
}

async function choosePorts(): Promise<Ports> {
  const [grpc, http, findings, health, metrics, self] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  return { grpc, http, findings, health, metrics, self };
}

/** Starts a Collector on free ports and waits until it answers. */
export async function startCollector(path: string, options: CollectorOptions): Promise<Running> {
  const ports = options.again?.ports ?? (await choosePorts());
  const data = options.again?.data ?? mkdtempSync(join(tmpdir(), 'waybill-collector-'));
  const files = [options.config, ...(options.extra ?? [])].flatMap((name) => [
    '--config',
    configuration(name),
  ]);
  const gates = (options.gates ?? []).map((gate) => `--feature-gates=+${gate}`);
  const child = spawn(path, [...files, ...gates], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      WAYBILL_OTLP_GRPC: `127.0.0.1:${String(ports.grpc)}`,
      WAYBILL_OTLP_HTTP: `127.0.0.1:${String(ports.http)}`,
      WAYBILL_FINDINGS_HTTP: `127.0.0.1:${String(ports.findings)}`,
      WAYBILL_HEALTH: `127.0.0.1:${String(ports.health)}`,
      WAYBILL_METRICS: `127.0.0.1:${String(ports.metrics)}`,
      WAYBILL_SELF_PORT: String(ports.self),
      WAYBILL_DATA: data,
      WAYBILL_METRICS_FLUSH: '1s',
      WAYBILL_DECISION_WAIT: '2s',
      ...options.env,
    },
  });
  const log = join(data, 'output.log');
  child.stdout.on('data', (chunk: Buffer) => {
    appendFileSync(log, chunk);
  });
  child.stderr.on('data', (chunk: Buffer) => {
    appendFileSync(log, chunk);
  });
  const output = (): string => {
    try {
      return readFileSync(log, 'utf8');
    } catch {
      return '';
    }
  };
  await until(`the Collector to answer on ${String(ports.http)}`, async () => {
    if (child.exitCode !== null) {
      throw new Error(`the Collector ended with ${String(child.exitCode)}:\n${output().slice(-4000)}`);
    }
    try {
      await fetch(`http://127.0.0.1:${String(ports.http)}/`);
      await fetch(`http://127.0.0.1:${String(ports.self)}/metrics`);
      return true;
    } catch {
      return undefined;
    }
  });
  return {
    ports,
    data,
    output,
    kill: () => end(child, 'SIGKILL'),
    stop: () => end(child, 'SIGTERM'),
    remove: () => {
      rmSync(data, { recursive: true, force: true });
    },
  };
}

/** Ends a process that a test started and waits for its end. */
export async function end(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill(signal);
  const timer = setTimeout(() => {
    child.kill('SIGKILL');
  }, 20_000);
  await gone;
  clearTimeout(timer);
}

/** Samples of a Prometheus text page, `name{labels}` -> value. */
export async function scrape(port: number): Promise<ReadonlyMap<string, number>> {
  const page = await (await fetch(`http://127.0.0.1:${String(port)}/metrics`)).text();
  const samples = new Map<string, number>();
  for (const line of page.split('\n')) {
    const match = /^([a-zA-Z_:][^ ]*(?:\{.*\})?) ([0-9.eE+-]+)/.exec(line);
    if (match?.[1] !== undefined && match[2] !== undefined) samples.set(match[1], Number(match[2]));
  }
  return samples;
}

/** Sum of all samples of a metric whose labels contain every given one. */
export function sumOf(
  samples: ReadonlyMap<string, number>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  let sum = 0;
  for (const [key, value] of samples) {
    if (key !== name && !key.startsWith(`${name}{`)) continue;
    if (Object.entries(labels).every(([label, wanted]) => key.includes(`${label}="${wanted}"`))) sum += value;
  }
  return sum;
}
