/** One round: a real client and a real server, one of which dies at its stage; then everything that is left. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { META_OPERATION_ID, type Stage } from '@waybill/core';
import { startFaultServer, stdioPeer } from '@waybill/lab';
import Database from 'libsql';
import { cleanEnvironment } from '../../loading/harness.js';
import type { Point, SideName } from '../plan.js';
import type { Receiver } from './receiver.js';

export interface Round {
  readonly id: string;
  readonly folder: string;
  readonly operationId: string;
  /** Stages whose write to the journal had returned, as the process itself said right after each. */
  readonly truth: Readonly<Record<SideName, readonly Stage[]>>;
  readonly journal: Readonly<Record<SideName, string>>;
  readonly receipts: string;
  /** What the client told its caller; undefined when it died before. */
  readonly told: string | undefined;
  /** Version of the row; 1 is where it began, 2 where one write was applied. */
  readonly version: number;
  readonly diedBy: NodeJS.Signals | null;
}

export interface RoundOptions {
  readonly id: string;
  /** A folder of the round's own; made here. */
  readonly folder: string;
  readonly receiver: Receiver;
  /** Only half of the line of that stage is written. */
  readonly torn?: boolean;
}

const program = (name: string): string => new URL(`../application/${name}`, import.meta.url).pathname;
const PRELOADS = [
  import.meta.resolve('@waybill/instrumentation-mcp/register'),
  new URL('../application/telemetry.mjs', import.meta.url).href,
  new URL('../application/crash.mjs', import.meta.url).href,
].flatMap((url) => ['--import', url]);
/** How long a process may take for what it has to do, on a busy machine. */
const PATIENCE_MS = 120_000;

export async function playRound(point: Point, options: RoundOptions): Promise<Round> {
  const { folder, id } = options;
  mkdirSync(folder);
  makeTarget(join(folder, 'todo.db'));
  const operationId = `row-42:${id}`;
  const files = {
    database: join(folder, 'todo.db'),
    receipts: join(folder, 'receipts.jsonl'),
    told: join(folder, 'told'),
    pid: join(folder, 'server.pid'),
  };
  const serverJob = {
    sdk: point.sdk,
    kind: point.transport,
    database: files.database,
    receipts: files.receipts,
    pidFile: files.pid,
  };
  const serverArgs = [...PRELOADS, program('server.mjs'), JSON.stringify(serverJob)];
  const serverEnv = environmentOf(point, 'server', options);
  const started: ChildProcess[] = [];
  const peer = await startPeer(point, serverArgs, serverEnv, started);
  let diedBy: NodeJS.Signals | null = null;
  try {
    const { tool, status, timeoutMs, abortAfterMs, lingerMs } = point.scenario.call;
    const job = {
      sdk: point.sdk,
      transport: peer.transport,
      toldFile: files.told,
      call: {
        params: {
          name: tool,
          arguments: { status: status ?? 'done' },
          _meta: { [META_OPERATION_ID]: operationId },
        },
        timeout: timeoutMs,
        abortAfterMs,
        lingerMs,
      },
    };
    const client = spawn(process.execPath, [...PRELOADS, program('client.mjs'), JSON.stringify(job)], {
      env: { ...cleanEnvironment(), ...environmentOf(point, 'client', options) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    started.push(client);
    const [code, signal, stderr] = await endOf(client);
    if (point.side === 'client') diedBy = signal;
    else if (code !== 0) throw new Error(`the client ended with ${code ?? signal}: ${stderr}`);
    diedBy = (await peer.end(folder)) ?? diedBy;
  } finally {
    await peer.close();
    for (const child of started)
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  }
  return {
    id,
    folder,
    operationId,
    truth: { client: truthOf(folder, 'client'), server: truthOf(folder, 'server') },
    journal: { client: join(folder, 'client.jsonl'), server: join(folder, 'server.jsonl') },
    receipts: files.receipts,
    told: existsSync(files.told) ? readFileSync(files.told, 'utf8') : undefined,
    version: versionOf(files.database),
    diedBy,
  };
}

interface Peer {
  readonly transport: object;
  /** Waits until the server has done what it does for a dead or gone client, and ends it. Its signal, if we are told. */
  end(folder: string): Promise<NodeJS.Signals | null>;
  close(): Promise<void>;
}

async function startPeer(
  point: Point,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  started: ChildProcess[],
): Promise<Peer> {
  const { peer } = point.scenario;
  const nothing = { end: () => Promise.resolve(null), close: () => Promise.resolve() };
  if (peer !== undefined) {
    if (point.transport === 'stdio') {
      return { ...nothing, transport: { kind: 'stdio', ...stdioPeer(peer.stdio ?? { lines: [] }) } };
    }
    const server = await startFaultServer(peer.http === undefined ? {} : { reply: peer.http });
    return { ...nothing, transport: { kind: 'http', url: server.url }, close: () => server.close() };
  }
  if (point.transport === 'stdio') {
    return {
      ...nothing,
      transport: {
        kind: 'stdio',
        command: process.execPath,
        args,
        env: { ...cleanEnvironment(), ...env },
      },
      end: async (folder) => {
        await ended(Number(readFileSync(join(folder, 'server.pid'), 'utf8')));
        return point.side === 'server' ? 'SIGKILL' : null;
      },
    };
  }
  const server = spawn(process.execPath, args, {
    env: { ...cleanEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(server);
  const end = endOf(server);
  const port = await Promise.race([
    once(server.stdout, 'data').then(([chunk]) => Number(String(chunk))),
    end.then(([code, signal]) => {
      throw new Error(`the server ended with ${code ?? signal} before it listened`);
    }),
  ]);
  return {
    ...nothing,
    transport: { kind: 'http', url: `http://127.0.0.1:${port}/mcp` },
    end: async (folder) => {
      await settled(folder, server);
      server.kill('SIGTERM');
      const [, signal] = await end;
      return point.side === 'server' ? signal : null;
    },
  };
}

/** The server had its time: it died, or never got the request, or has come to the end of it. */
async function settled(folder: string, server: ChildProcess): Promise<void> {
  const over = /^server\.(?:result_flushed|result_dropped)$/mu;
  const begun = Date.now();
  while (server.exitCode === null && server.signalCode === null && Date.now() - begun < 5000) {
    const truth = readFileSync(join(folder, 'server.truth'), 'utf8');
    if (over.test(truth) || (truth === '' && Date.now() - begun > 300)) return;
    await sleep(10);
  }
}

/** Resolves when the process of that id, which is no child of ours, is gone. */
async function ended(pid: number): Promise<void> {
  const begun = Date.now();
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    if (Date.now() - begun > PATIENCE_MS) {
      process.kill(pid, 'SIGKILL');
      throw new Error(`the server ${pid} did not end when its client was gone`);
    }
    await sleep(10);
  }
}

function environmentOf(
  point: Point,
  side: SideName,
  { folder, id, receiver, torn }: RoundOptions,
): Record<string, string> {
  return {
    WAYBILL_STAGE_JOURNAL: join(folder, `${side}.jsonl`),
    WAYBILL_STAGE_SIGNAL: 'both',
    CRASH_SIDE: side,
    CRASH_RECEIVER: receiver.urlOf(id, side),
    CRASH_TRUTH: join(folder, `${side}.truth`),
    ...(point.side === side ? { CRASH_AT: point.stage } : {}),
    ...(torn === true ? { CRASH_TORN: '1' } : {}),
  };
}

async function endOf(child: ChildProcess): Promise<[number | null, NodeJS.Signals | null, string]> {
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const timer = setTimeout(() => child.kill('SIGABRT'), PATIENCE_MS);
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    return [code, signal, stderr];
  } finally {
    clearTimeout(timer);
  }
}

function truthOf(folder: string, side: SideName): readonly Stage[] {
  const path = join(folder, `${side}.truth`);
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8').split('\n').filter(Boolean) as Stage[];
}

function makeTarget(path: string): void {
  const db = new Database(path);
  db.exec('CREATE TABLE todo (id TEXT PRIMARY KEY, status TEXT NOT NULL, version INTEGER NOT NULL)');
  db.exec("INSERT INTO todo VALUES ('row-42', 'open', 1)");
  db.close();
}

function versionOf(path: string): number {
  const db = new Database(path);
  try {
    const [row] = db.prepare("SELECT version FROM todo WHERE id = 'row-42'").all() as { version: number }[];
    return row?.version ?? 0;
  } finally {
    db.close();
  }
}
