// An application that makes tool calls on several connections at once and writes down what it was told, how long it took
// and how much memory is left in use. It knows nothing of OpenTelemetry; run it with and without the preloads.
//
// Arguments: a file with the lanes (see support/live.ts) and a file for what was observed. Needs --expose-gc.
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport as SseV1 } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  Client as ClientV2,
  SSEClientTransport as SseV2,
  StreamableHTTPClientTransport as HttpV2,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';

const [lanesFile, observedFile] = process.argv.slice(2);
const { lanes, concurrency } = JSON.parse(readFileSync(lanesFile, 'utf8'));

const unhandled = [];
const warnings = [];
process.on('unhandledRejection', (reason) => unhandled.push(describe(reason)));
process.on('uncaughtException', (error) => unhandled.push({ uncaught: describe(error) }));
process.on('warning', ({ name, code, message }) => warnings.push({ name, code, message }));

function describe(value, depth = 0) {
  if (value === undefined) return '(undefined)';
  if (typeof value !== 'object' || value === null) return value;
  if (depth > 8) return '(deeper)';
  // Some errors work their message out when it is first read.
  if (value instanceof Error) void value.message;
  if (Array.isArray(value)) return value.map((item) => describe(item, depth + 1));
  const own = Object.fromEntries(
    Object.getOwnPropertyNames(value)
      // Ports and counts of bytes on a socket are of this run alone.
      .filter((name) => name !== 'stack' && name !== 'socket')
      .map((name) => [`.${name}`, describe(value[name], depth + 1)]),
  );
  return value instanceof Error ? { class: value.constructor.name, name: value.name, ...own } : own;
}

function open({ client: sdk, transport }) {
  const v1 = sdk === 'v1';
  const info = { name: 'caller', version: '1' };
  const client = v1
    ? new ClientV1(info)
    : new ClientV2(info, sdk === 'v2_2026' ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {});
  const url = transport.url === undefined ? undefined : new URL(transport.url);
  switch (transport.kind) {
    case 'http':
      return [client, new (v1 ? HttpV1 : HttpV2)(url)];
    case 'legacy_sse':
      return [client, new (v1 ? SseV1 : SseV2)(url)];
    default:
      return [client, new (v1 ? StdioV1 : StdioV2)({ ...transport, stderr: 'ignore' })];
  }
}

/** Far beyond the timeout that the SDK was given: the call hangs. */
const HANGS_MS = 10_000;

async function callOf(client, lane, n) {
  const begun = performance.now();
  const params = { name: 't', arguments: { n } };
  const options = { timeout: lane.timeoutMs };
  const settling = (
    lane.client === 'v1' ? client.callTool(params, undefined, options) : client.callTool(params, options)
  ).then(
    (result) => ({ result: describe(result) }),
    (error) => ({ error: describe(error) }),
  );
  const told = await Promise.race([
    settling,
    sleep(lane.timeoutMs + HANGS_MS, { hangs: true }, { ref: false }),
  ]);
  return { n, told, ms: performance.now() - begun };
}

const observed = [];
async function run(lane, part) {
  const [client, transport] = open(lane);
  // Errors beside a call are told here; a client without a listener drops them.
  Object.assign(client, { onerror: () => undefined });
  try {
    await client.connect(transport);
    for (const n of part) observed.push(await callOf(client, lane, n));
    await sleep(20);
  } catch (error) {
    observed.push({ n: part[0], broken: describe(error) });
  }
  await client.close().catch(() => {});
}

/** The first third of every lane, then the rest: what the second leaves in memory is growth. */
async function phase(from, to) {
  const queue = [...lanes];
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (let lane = queue.shift(); lane !== undefined; lane = queue.shift()) {
        const { inputs } = lane;
        const part = inputs.slice(Math.floor(inputs.length * from), Math.floor(inputs.length * to));
        if (part.length > 0) await run(lane, part);
      }
    }),
  );
  await sleep(100);
  globalThis.gc();
  await sleep(20);
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

const before = await phase(0, 1 / 3);
const after = await phase(1 / 3, 1);
const outcomes = globalThis.seenOutcomes ?? {};
writeFileSync(
  observedFile,
  JSON.stringify({ observed, unhandled, warnings, heap: [before, after], outcomes }),
);
process.exit();
