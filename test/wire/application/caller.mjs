// An application that makes tool calls with the real SDK clients and writes down everything that it was told: results,
// errors, order of settling, progress, unhandled rejections, warnings. It knows nothing of OpenTelemetry; run it with
// and without the preloads and compare.
//
// Arguments: a file with the jobs (see support/application.ts) and a file for what was observed.
import { createHash } from 'node:crypto';
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

const [jobsFile, observedFile] = process.argv.slice(2);
const { jobs, concurrency } = JSON.parse(readFileSync(jobsFile, 'utf8'));

const unhandled = [];
const uncaught = [];
const warnings = [];
process.on('unhandledRejection', (reason) => unhandled.push(reason));
process.on('uncaughtException', (error) => uncaught.push(describe(error)));
process.on('warning', ({ name, code, message }) => warnings.push({ name, code, message }));

/** Errors that a fetch of the application's own threw: the SDK hands them on, and they must stay the same objects. */
const thrownByFetch = new WeakSet();

/** A value as plain data; errors with everything that an application can read from them but the stack. */
function describe(value, depth = 0) {
  if (typeof value === 'string' && value.length > 2000)
    return { length: value.length, sha256: createHash('sha256').update(value).digest('hex') };
  if (typeof value !== 'object' || value === null) return value === undefined ? '(undefined)' : value;
  if (depth > 6) return '(deeper)';
  // Some errors work their message out when it is first read.
  if (value instanceof Error) void value.message;
  if (Array.isArray(value)) return value.map((item) => describe(item, depth + 1));
  const own = Object.fromEntries(
    Object.getOwnPropertyNames(value)
      .filter((name) => name !== 'stack')
      .map((name) => [name, describe(value[name], depth + 1)]),
  );
  if (!(value instanceof Error)) return own;
  return { class: value.constructor.name, name: value.name, ofOwnFetch: thrownByFetch.has(value), ...own };
}

function deepFreeze(value) {
  if (typeof value !== 'object' || value === null) return value;
  Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}

/** A fetch as applications bring one: it fails in its own way for calls, or hands on to the global one. */
function ownFetch(kind) {
  if (kind === undefined) return {};
  return {
    fetch: async (url, init) => {
      if (kind === 'throws' && String(init?.body).includes('"tools/call"')) {
        const error = new TypeError('fetch failed', {
          cause: Object.assign(new Error('no route'), { code: 'EHOSTUNREACH', syscall: 'connect' }),
        });
        thrownByFetch.add(error);
        throw error;
      }
      return fetch(url, init);
    },
  };
}

function open({ client: sdk, transport, fetch: fetchKind }) {
  const v1 = sdk === 'v1';
  const info = { name: 'caller', version: '1' };
  const client = v1
    ? new ClientV1(info)
    : new ClientV2(info, sdk === 'v2_2026' ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {});
  const url = transport.url === undefined ? undefined : new URL(transport.url);
  switch (transport.kind) {
    case 'http': {
      const options = ownFetch(fetchKind);
      return [client, v1 ? new HttpV1(url, options) : new HttpV2(url, options)];
    }
    case 'legacy':
      return [client, v1 ? new SseV1(url) : new SseV2(url)];
    default: {
      const { kind: _kind, ...command } = { ...transport, stderr: 'ignore' };
      return [client, v1 ? new StdioV1(command) : new StdioV2(command)];
    }
  }
}

async function run(job) {
  const [client, transport] = open(job);
  const onerror = [];
  const order = [];
  Object.assign(client, { onerror: (error) => onerror.push(describe(error)) });
  await client.connect(transport);
  const tools = job.listTools ? describe(await client.listTools()) : undefined;
  // What a client does on its own after it connected is over before its first call.
  await sleep(100);
  const settled = job.calls.map(() => ({ pending: true }));

  const start = (call, index) => {
    const progress = [];
    const controller = new AbortController();
    const abort = () => controller.abort(reasonOf(call.abortReason));
    if (call.abortAfterMs === 0) abort();
    else if (call.abortAfterMs !== undefined) setTimeout(abort, call.abortAfterMs);
    const options = {
      ...call.options,
      signal: controller.signal,
      ...(call.progress ? { onprogress: (p) => progress.push(p) } : {}),
      ...(call.toolDefinition === undefined || job.client === 'v1'
        ? {}
        : { toolDefinition: call.toolDefinition }),
    };
    const params = deepFreeze(structuredClone(call.params));
    const promise =
      job.client === 'v1' ? client.callTool(params, undefined, options) : client.callTool(params, options);
    const note = (outcome) => {
      order.push(index);
      settled[index] = { ...outcome, progress };
    };
    if (call.forget) return sleep(call.options.timeout + 200);
    return promise.then(
      (result) => note({ result: describe(result) }),
      (error) =>
        note({ error: describe(error), isReason: call.abortReason === 'object' && error === lastReason }),
    );
  };

  if (job.sequence) for (const [index, call] of job.calls.entries()) await start(call, index);
  else {
    const all = Promise.all(job.calls.map(start));
    if (job.closeAfterMs !== undefined) {
      await sleep(job.closeAfterMs);
      await client.close();
    }
    await all;
  }
  await sleep(job.lingerMs ?? 100);
  await client.close();
  return { key: job.key, tools, settled, order, onerror };
}

let lastReason;
function reasonOf(kind) {
  if (kind !== 'object') return kind;
  lastReason = Object.assign(new Error('the user left'), { code: 'LEFT' });
  return lastReason;
}

const observed = [];
const queue = [...jobs];
await Promise.all(
  Array.from({ length: concurrency }, async (_, index) => {
    await sleep(index * 25);
    for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
      const { key } = job;
      observed.push(await run(job).catch((error) => ({ key, broken: describe(error) })));
    }
  }),
);
// Rejections that nobody handled are told in a turn of their own.
await sleep(50);
writeFileSync(
  observedFile,
  JSON.stringify({
    observed,
    unhandled: unhandled.map((reason) => describe(reason)),
    uncaught,
    warnings,
  }),
);
await globalThis.endTelemetry?.();
process.exit();
