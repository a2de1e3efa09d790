import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** A span as it was exported, its attributes as plain values. */
export interface ExportedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client' | 'other';
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly string[];
  /** Attributes of the events, in their order. */
  readonly eventAttributes: readonly Readonly<Record<string, unknown>>[];
  readonly scope: string;
}

export interface Collector {
  /** Value for OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly endpoint: string;
  /** Everything received so far, in order of arrival. */
  readonly spans: readonly ExportedSpan[];
  /** The same as it came: OTLP JSON, one request each. */
  readonly requests: readonly string[];
  close(): Promise<void>;
}

/** An OTLP/HTTP receiver for JSON on a port of its own. */
export async function startCollector(): Promise<Collector> {
  const spans: ExportedSpan[] = [];
  const requests: string[] = [];
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      if (request.url === '/v1/traces') {
        requests.push(body);
        spans.push(...readSpans(JSON.parse(body)));
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    spans,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export interface ProgramRun {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Runs Node to its end, or kills it after `timeoutMs` so that a hanging program fails its test with what it wrote. */
export async function runNode(
  args: readonly string[],
  options: {
    readonly env?: Readonly<Record<string, string>>;
    readonly cwd?: string;
    readonly timeoutMs?: number;
    readonly command?: readonly [string, ...string[]];
  } = {},
): Promise<ProgramRun> {
  const [command, ...before] = options.command ?? [process.execPath];
  const child = spawn(command, [...before, ...args], {
    cwd: options.cwd,
    env: { ...cleanEnvironment(), ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const timer = setTimeout(() => child.kill('SIGKILL'), options.timeoutMs ?? 30_000);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ stdout, stderr, code, signal });
    });
  });
}

/** The environment without what would reach into the child: test runner, Node options, OpenTelemetry and our own. */
export function cleanEnvironment(): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined && !/^(?:OTEL_|WAYBILL_|NODE_|VITEST)/.test(name)) kept[name] = value;
  }
  return kept;
}

/** A program that was run to its end, what it exported, and what it patched where it left a report. */
export interface ObservedRun {
  readonly run: ProgramRun;
  readonly spans: readonly ExportedSpan[];
  readonly report: unknown;
}

/** Runs a program with a collector of its own behind it. */
export async function observe(
  args: readonly string[],
  options: Parameters<typeof runNode>[1] = {},
): Promise<ObservedRun> {
  const collector = await startCollector();
  const folder = mkdtempSync(join(tmpdir(), 'waybill-observe-'));
  const reportFile = join(folder, 'report.json');
  try {
    const env = { ...exportTo(collector), TEST_PATCH_REPORT: reportFile, ...options.env };
    const run = await runNode(args, { ...options, env });
    const report: unknown = existsSync(reportFile) ? JSON.parse(readFileSync(reportFile, 'utf8')) : undefined;
    return { run, spans: collector.spans, report };
  } finally {
    await collector.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The environment that sends traces, and nothing else, to `collector`. */
export function exportTo(collector: Collector): Record<string, string> {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'none',
    OTEL_NODE_RESOURCE_DETECTORS: 'none',
  };
}

export function fixture(name: string): string {
  return fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
}

export function fixtureUrl(name: string): string {
  return pathToFileURL(fixture(name)).href;
}

/** The client and the server span of the one call of `tool`; throws with the names of all spans when it is not so. */
export function pairOf(
  spans: readonly ExportedSpan[],
  tool: string,
): { readonly client: ExportedSpan; readonly server: ExportedSpan } {
  const ofTool = spans.filter(({ name }) => name === `tools/call ${tool}`);
  const clients = ofTool.filter(({ kind }) => kind === 'client');
  const servers = ofTool.filter(({ kind }) => kind === 'server');
  const [client] = clients;
  const [server] = servers;
  if (client === undefined || server === undefined || clients.length > 1 || servers.length > 1) {
    throw new Error(
      `expected one client and one server span of ${tool}, got: ${spans.map(({ kind, name }) => `${kind} ${name}`).join(', ') || 'no span'}`,
    );
  }
  return { client, server };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

interface OtlpValue {
  stringValue?: string;
  boolValue?: boolean;
  intValue?: string | number;
  doubleValue?: number;
  arrayValue?: { values?: OtlpValue[] };
}
interface OtlpAttribute {
  key: string;
  value: OtlpValue;
}
interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes?: OtlpAttribute[];
  events?: { name: string; attributes?: OtlpAttribute[] }[];
}
interface OtlpTraces {
  resourceSpans?: { scopeSpans?: { scope?: { name?: string }; spans?: OtlpSpan[] }[] }[];
}

const KINDS: Readonly<Record<number, ExportedSpan['kind']>> = { 1: 'internal', 2: 'server', 3: 'client' };

function readSpans(body: OtlpTraces): ExportedSpan[] {
  return (body.resourceSpans ?? []).flatMap(({ scopeSpans }) =>
    (scopeSpans ?? []).flatMap(({ scope, spans }) =>
      (spans ?? []).map((span) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId,
        name: span.name,
        kind: KINDS[span.kind] ?? 'other',
        attributes: plainAttributes(span.attributes),
        events: (span.events ?? []).map(({ name }) => name),
        eventAttributes: (span.events ?? []).map(({ attributes }) => plainAttributes(attributes)),
        scope: scope?.name ?? '',
      })),
    ),
  );
}

function plainAttributes(attributes: readonly OtlpAttribute[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, plain(value)]));
}

function plain(value: OtlpValue): unknown {
  if (value.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(plain);
  if (value.intValue !== undefined) return Number(value.intValue);
  return value.stringValue ?? value.boolValue ?? value.doubleValue;
}
