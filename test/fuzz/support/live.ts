/** Inputs for the taps: one mutated reply to one call of a real client, played by a real peer. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startFaultServer, startLegacySseServer, type HttpReply, type ToolCall } from '@waybill/lab';
import { cleanEnvironment } from '../../loading/harness.js';
import { TEMPLATES, fillBytes } from './bases.js';
import { cut, mutate } from './mutate.js';
import { createRandom } from './random.js';

export const CLIENTS = ['v1', 'v2', 'v2_2026'] as const;

export interface LiveInput {
  readonly kind: 'live';
  readonly client: (typeof CLIENTS)[number];
  readonly transport: 'http' | 'legacy_sse' | 'stdio';
  readonly status: number;
  readonly contentType: string | null;
  /** Milliseconds after the chunk before, and bytes in base64 with `$ID`, `$STR`, `$TOK` for the ids of the call. */
  readonly chunks: readonly (readonly [delayMs: number, bytes: string])[];
  readonly end: 'fin' | 'rst' | 'hold';
  readonly truncate: boolean;
  /** What a GET that resumes the stream gets. */
  readonly get?: string;
}

const STATUSES = [200, 201, 202, 204, 206, 299, 300, 307, 400, 401, 404, 408, 429, 500, 503];
const TYPES = ['application/json', 'text/event-stream', 'text/event-stream; charset=utf-16', 'text/html', ''];
const BODIES = TEMPLATES.map(({ bytes }) => bytes);

export function liveInput(seed: number): LiveInput {
  const random = createRandom(seed);
  const template = random.pick(TEMPLATES);
  const { transport } = template;
  const client = transport === 'http' ? random.pick(CLIENTS) : random.pick(['v1', 'v2'] as const);
  const body = mutate(random, template.bytes, BODIES);
  const pieces = cut(random, body).slice(0, 40);
  return {
    kind: 'live',
    client,
    transport,
    status: random.chance(0.1) ? random.pick(STATUSES) : template.status,
    contentType: random.chance(0.1) ? random.pick(TYPES) : template.contentType,
    chunks: pieces.map((piece) => [random.chance(0.1) ? random.below(5) : 0, base64(piece)]),
    end: random.pick(['fin', 'fin', 'fin', 'rst', 'hold'] as const),
    truncate: random.chance(0.1),
    ...(random.chance(0.1) ? { get: base64(mutate(random, random.pick(BODIES), BODIES)) } : {}),
  };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

export interface Told {
  readonly result?: unknown;
  readonly error?: unknown;
  readonly hangs?: true;
}

interface Observed {
  readonly n: number;
  readonly told?: Told;
  readonly ms: number;
  /** The lane could not even connect. */
  readonly broken?: unknown;
}

export interface LiveRun {
  /** By the number of the input. */
  readonly observed: ReadonlyMap<number, Observed>;
  readonly unhandled: readonly unknown[];
  readonly warnings: readonly { readonly name: string; readonly code?: string; readonly message: string }[];
  /** Bytes in use after collection: when a third of the calls was over, and at the end. */
  readonly heap: readonly [number, number];
  readonly outcomes: Readonly<Record<string, number>>;
}

export interface RunOptions {
  readonly plugin: boolean;
  readonly timeoutMs: number;
  /** Connections at a time. */
  readonly concurrency: number;
  /** Calls of one connection, one after the other. */
  readonly laneLength: number;
}

const program = (name: string): string => fileURLToPath(new URL(`../application/${name}`, import.meta.url));
const PRELOADS = [
  import.meta.resolve('@waybill/instrumentation-mcp/register'),
  new URL('../application/telemetry.mjs', import.meta.url).href,
].flatMap((url) => ['--import', url]);

/** Plays the inputs to an application of its own, with the plugin and everything that it can record, or without. */
export async function playLive(inputs: readonly LiveInput[], options: RunOptions): Promise<LiveRun> {
  const folder = mkdtempSync(join(tmpdir(), 'waybill-fuzz-'));
  const lanes = lanesOf(inputs, options.laneLength);
  const peers = await Promise.all(lanes.map((lane, index) => startPeer(lane, join(folder, `${index}.json`))));
  try {
    const files = [join(folder, 'lanes.json'), join(folder, 'observed.json')] as const;
    writeFileSync(
      files[0],
      JSON.stringify({
        concurrency: options.concurrency,
        lanes: lanes.map((lane, index) => ({
          client: lane[0]?.[1].client,
          transport: peers[index]?.transport,
          timeoutMs: options.timeoutMs,
          inputs: lane.map(([number]) => number),
        })),
      }),
    );
    await runCaller([...(options.plugin ? PRELOADS : []), '--expose-gc', program('caller.mjs'), ...files], {
      WAYBILL_STAGE_SIGNAL: 'both',
      WAYBILL_STAGE_JOURNAL: join(folder, 'stages.jsonl'),
      WAYBILL_DIAGNOSTIC_RECORD: 'true',
      OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
    });
    const { observed, ...rest } = JSON.parse(readFileSync(files[1], 'utf8')) as Omit<LiveRun, 'observed'> & {
      observed: Observed[];
    };
    return { ...rest, observed: new Map(observed.map((each) => [each.n, each])) };
  } finally {
    await Promise.all(peers.map((peer) => peer.close()));
    rmSync(folder, { recursive: true, force: true });
  }
}

type Lane = readonly (readonly [number: number, input: LiveInput])[];

/** Inputs of one client and transport, `length` to a connection. */
function lanesOf(inputs: readonly LiveInput[], length: number): readonly Lane[] {
  const groups = new Map<string, (readonly [number, LiveInput])[][]>();
  for (const [number, input] of inputs.entries()) {
    const key = `${input.client} ${input.transport}`;
    const lanes = groups.get(key) ?? [[]];
    groups.set(key, lanes);
    if ((lanes.at(-1)?.length ?? 0) >= length) lanes.push([]);
    lanes.at(-1)?.push([number, input]);
  }
  return [...groups.values()].flat();
}

interface Peer {
  readonly transport: object;
  close(): Promise<void>;
}

async function startPeer(lane: Lane, file: string): Promise<Peer> {
  const byNumber = new Map(lane);
  const inputOf = (call: ToolCall): LiveInput => {
    const found = byNumber.get((call.arguments as { readonly n: number }).n);
    if (found === undefined) throw new Error('a call of another lane');
    return found;
  };
  const transport = lane[0]?.[1].transport ?? 'http';
  switch (transport) {
    case 'http': {
      const server = await startFaultServer({ reply: (call) => httpReply(inputOf(call), call) });
      return { transport: { kind: 'http', url: server.url }, close: () => server.close() };
    }
    case 'legacy_sse': {
      const server = await startLegacySseServer({
        reply: (call) => {
          const input = inputOf(call);
          return {
            order: 'post_first',
            post: { status: input.status, body: 'Accepted' },
            stream: { chunks: chunksOf(input, call), end: 'hold' },
          };
        },
      });
      return { transport: { kind: 'legacy_sse', url: server.url }, close: () => server.close() };
    }
    case 'stdio':
      writeFileSync(file, JSON.stringify(lane));
      return {
        transport: { kind: 'stdio', command: process.execPath, args: [program('stdio-peer.mjs'), file] },
        close: () => Promise.resolve(),
      };
    default:
      return transport satisfies never;
  }
}

function httpReply(input: LiveInput, call: ToolCall): HttpReply {
  const { status, contentType, end, truncate, get } = input;
  const headers: Record<string, string> = contentType === null ? {} : { 'content-type': contentType };
  return {
    status,
    headers,
    chunks: chunksOf(input, call),
    end,
    truncate,
    ...(get === undefined
      ? {}
      : {
          get: {
            headers: { 'content-type': 'text/event-stream' },
            chunks: [[0, fillBytes(Buffer.from(get, 'base64'), call.id, call.progressToken)]],
            end: 'fin',
          },
        }),
  };
}

function chunksOf({ chunks }: LiveInput, { id, progressToken }: ToolCall): HttpReply['chunks'] & object {
  return chunks.map(([delay, bytes]) => [delay, fillBytes(Buffer.from(bytes, 'base64'), id, progressToken)]);
}

/** Resolves when the application has ended by itself; rejects with its stderr otherwise. */
function runCaller(args: readonly string[], env: Readonly<Record<string, string>>): Promise<void> {
  const child = spawn(process.execPath, args, {
    env: { ...cleanEnvironment(), ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const timer = setTimeout(() => child.kill('SIGKILL'), 900_000);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      if (code === 0) resolve();
      else reject(new Error(`the application ended with ${code ?? signal}: ${stderr}`));
    });
  });
}
