/** The two backends behind the Collector: Jaeger with the configuration of the example, and `waybill serve`. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { end, freePort, until } from './programs.js';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
export const waybill: string = `${root}packages/cli/bin/waybill.js`;

export interface Jaeger {
  /** `host:port` of OTLP over gRPC. */
  readonly grpc: string;
  /** `host:port` of its API. */
  readonly api: string;
  stop(): Promise<void>;
}

export async function startJaeger(path: string): Promise<Jaeger> {
  const [grpc, http, query] = [await freePort(), await freePort(), await freePort()];
  const api = `127.0.0.1:${String(http)}`;
  const example = `${root}examples/observability/`;
  const child = spawn(path, ['--config', `${example}jaeger.yaml`], {
    stdio: 'ignore',
    env: {
      ...process.env,
      JAEGER_OTLP_GRPC: `127.0.0.1:${String(grpc)}`,
      JAEGER_QUERY_HTTP: api,
      JAEGER_QUERY_GRPC: `127.0.0.1:${String(query)}`,
      JAEGER_UI_CONFIG: `${example}jaeger-ui.json`,
    },
  });
  await until('Jaeger to answer', async () => {
    try {
      return (await fetch(`http://${api}/api/v3/services`)).ok || undefined;
    } catch {
      return undefined;
    }
  });
  return { grpc: `127.0.0.1:${String(grpc)}`, api, stop: () => end(child, 'SIGTERM') };
}

export interface Serve {
  readonly url: string;
  readonly directory: string;
  /** Samples of its own metrics. */
  metrics(): Promise<string>;
  kill(): Promise<void>;
  stop(): Promise<void>;
  /** SIGSTOP: it hangs and answers nobody. */
  freeze(): void;
  thaw(): void;
}

/** @param port of an earlier one that is to come back; 0 takes a free one */
export async function startServe(
  directory: string,
  options: readonly string[] = [],
  port = 0,
): Promise<Serve> {
  const child: ChildProcess = spawn(
    process.execPath,
    [waybill, 'serve', '--port', String(port), '--dir', directory, ...options],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let said = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const url = await until('waybill serve to name its address', () => {
    if (child.exitCode !== null) throw new Error(`waybill serve ended with ${String(child.exitCode)}`);
    return /http:\/\/\S+:\d+/.exec(said)?.[0];
  });
  return {
    url,
    directory,
    metrics: async () => (await fetch(`${url}/metrics`)).text(),
    kill: () => end(child, 'SIGKILL'),
    stop: () => end(child, 'SIGTERM'),
    freeze: () => child.kill('SIGSTOP'),
    thaw: () => child.kill('SIGCONT'),
  };
}

/** The value of a metric without labels, or the sum over its labels. */
export function metric(page: string, name: string): number {
  let sum = 0;
  for (const [, value] of page.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))) {
    sum += Number(value);
  }
  return sum;
}

/** Waits until all that came is judged: nothing unread, nothing open. */
export async function settled(serve: Serve, operations: number): Promise<void> {
  await until(
    `${String(operations)} operations to be judged`,
    async () => {
      const page = await serve.metrics();
      return metric(page, 'waybill_audit_operations') >= operations &&
        metric(page, 'waybill_audit_open_groups') === 0 &&
        metric(page, 'waybill_audit_lag_bytes') === 0 &&
        metric(page, 'waybill_emit_queue_bytes') === 0
        ? true
        : undefined;
    },
    40_000,
  );
}

/** An event of the audit backend as the Collector wrote it to its file. */
export interface Said {
  readonly event: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** Attributes that are lists. */
  readonly lists: Readonly<Record<string, readonly string[]>>;
}

interface LogValue {
  readonly stringValue?: string;
  readonly intValue?: string;
  readonly arrayValue?: { readonly values?: readonly { readonly stringValue?: string }[] };
}
interface LogLine {
  readonly resourceLogs: readonly {
    readonly scopeLogs: readonly {
      readonly logRecords: readonly {
        readonly eventName?: string;
        readonly traceId?: string;
        readonly spanId?: string;
        readonly body?: { readonly stringValue?: string };
        readonly attributes?: readonly {
          readonly key: string;
          readonly value: LogValue;
        }[];
      }[];
    }[];
  }[];
}

/** What `file/findings` of a Collector has by now, in its order, repetitions included. */
export function saidIn(data: string): readonly Said[] {
  const file = join(data, 'findings.jsonl');
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line) => (JSON.parse(line) as LogLine).resourceLogs)
    .flatMap(({ scopeLogs }) => scopeLogs)
    .flatMap(({ logRecords }) => logRecords)
    .map(({ eventName = '', traceId = '', spanId = '', body, attributes = [] }) => ({
      event: eventName,
      traceId,
      spanId,
      body: body?.stringValue ?? '',
      attributes: Object.fromEntries(
        attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? '']),
      ),
      lists: Object.fromEntries(
        attributes.flatMap(({ key, value: { arrayValue } }) =>
          arrayValue === undefined
            ? []
            : [[key, (arrayValue.values ?? []).map(({ stringValue = '' }) => stringValue)]],
        ),
      ),
    }));
}
