import { readFileSync } from 'node:fs';
import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import * as v1Http from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as v2Client from '@modelcontextprotocol/client';
import { type HttpReply, startFaultServer } from '@waybill/lab';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Harness, startHarness } from '../../test-support/harness.js';

/** What the application and the peer can see of one call. */
interface Observed {
  readonly settled: unknown;
  readonly onerror: readonly string[];
  readonly requests: readonly unknown[];
}
interface Case {
  readonly id: string;
  readonly reply: HttpReply;
  readonly outputSchema?: boolean;
  readonly cancelAfterMs?: number;
}

const cases = JSON.parse(
  readFileSync(new URL('../../../../test/cases/wire-open.json', import.meta.url), 'utf8'),
) as readonly Case[];

type Connect = (
  url: string,
  onerror: (error: Error) => void,
) => Promise<{
  call(options: object): Promise<unknown>;
  listTools(): Promise<unknown>;
  close(): Promise<void>;
}>;

const request = { name: 't', arguments: { text: 'x' }, _meta: { 'own/key': 1 } };
const connectV1: Connect = async (url, onerror) => {
  const client = new v1Client.Client({ name: 'c', version: '1' });
  Object.assign(client, { onerror });
  await client.connect(new v1Http.StreamableHTTPClientTransport(new URL(url)));
  return {
    call: (options) => client.callTool(request, undefined, options),
    listTools: () => client.listTools(),
    close: () => client.close(),
  };
};
const connectV2 =
  (version?: string): Connect =>
  async (url, onerror) => {
    const client = new v2Client.Client(
      { name: 'c', version: '1' },
      version === undefined ? {} : { versionNegotiation: { mode: { pin: version } } },
    );
    Object.assign(client, { onerror });
    await client.connect(new v2Client.StreamableHTTPClientTransport(new URL(url)));
    return {
      call: (options) => client.callTool(request, options),
      listTools: () => client.listTools(),
      close: () => client.close(),
    };
  };

async function observe(connect: Connect, entry: Case): Promise<Observed> {
  const errors: string[] = [];
  const tool = { name: 't', inputSchema: { type: 'object' } };
  const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };
  const peer = await startFaultServer({
    reply: entry.reply,
    tools: [{ ...tool, ...(entry.outputSchema === true ? { outputSchema: schema } : {}) }],
  });
  const client = await connect(peer.url, (error) => errors.push(`${error.name}: ${error.message}`));
  await client.listTools();
  const played = (entry.reply.chunks ?? []).reduce((sum, [delay]) => sum + delay, 0);
  const startedAt = Date.now();
  const abort = new AbortController();
  if (entry.cancelAfterMs !== undefined) setTimeout(() => abort.abort('stop'), entry.cancelAfterMs);
  const settled = await client.call({ timeout: 700, signal: abort.signal }).then(
    (result) => ({ result }),
    (error: unknown) => ({ error: describeError(error) }),
  );
  // Answers to the server's own requests may still be on their way.
  // So may the rest of a reply that nobody waits for any more.
  let seen = -1;
  while (seen !== peer.requests.length || Date.now() < startedAt + played + 200) {
    seen = peer.requests.length;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  await client.close();
  const requests = peer.requests.map(({ httpMethod, headers, body }) => ({
    httpMethod,
    headers: comparable(headers),
    body: withoutMeta(body.toString('utf8')),
  }));
  await peer.close();
  return { settled, onerror: errors.map(withoutPort), requests };
}

function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { code, data } = error as { code?: unknown; data?: unknown };
  return {
    class: error.constructor.name,
    name: error.name,
    message: withoutPort(error.message),
    code,
    data,
    cause:
      error.cause instanceof Error ? `${error.cause.name}: ${withoutPort(error.cause.message)}` : error.cause,
  };
}
const withoutPort = (text: string): string => text.replaceAll(/127\.0\.0\.1:\d+/g, 'HOST');

/** Headers that differ between any two runs, or that follow from the length of `_meta`. */
const VOLATILE = new Set(['content-length', 'host', 'mcp-session-id', 'traceparent', 'tracestate']);
const comparable = (headers: object): object =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !VOLATILE.has(name)));

/**
 * The body of a call byte for byte, our members of `params._meta` taken out. A request that had no `params` at all gets
 * some for its `_meta`, in another place than the SDK would put them: that one is compared as a value.
 */
function withoutMeta(body: string): unknown {
  const bare = body
    .replaceAll(/,?"(?:traceparent|tracestate|io\.waybill\/[A-Za-z]+)":"[^"]*"/g, '')
    .replaceAll('{,', '{');
  if (body.includes('"tools/call"') || body === '') return bare;
  const { params, ...rest } = JSON.parse(bare) as { params?: { _meta?: object } };
  const { _meta: meta, ...others } = params ?? {};
  return {
    ...rest,
    params: { ...others, ...(meta !== undefined && Object.keys(meta).length > 0 ? { meta } : {}) },
  };
}

let harness: Harness;
beforeAll(() => {
  harness = startHarness([v1Client, v1Http, v2Client]);
});
afterAll(() => harness.stop());

describe.each([
  ['SDK 1.x', connectV1],
  ['SDK 2.x', connectV2()],
  ['SDK 2.x at 2026-07-28', connectV2('2026-07-28')],
] as const)('%s with the plugin on and off', (_name, connect) => {
  it('gives the same results, errors and requests for every transcript of the field', async () => {
    const all = async (): Promise<Observed[]> => {
      const seen: Observed[] = [];
      const size = 12;
      for (let at = 0; at < cases.length; at += size) {
        seen.push(...(await Promise.all(cases.slice(at, at + size).map((entry) => observe(connect, entry)))));
      }
      return seen;
    };
    harness.enabled = false;
    const off = await all();
    harness.enabled = true;
    const on = await all();
    for (const [index, entry] of cases.entries()) expect(on[index], entry.id).toEqual(off[index]);
  }, 60_000);

  it('settles calls in the same order', async () => {
    const run = async (): Promise<string[]> => {
      const peer = await startFaultServer();
      const client = await connect(peer.url, () => undefined);
      const order: string[] = [];
      const note = (name: string) => () => order.push(name);
      const abort = new AbortController();
      const pending = [
        client.call({ timeout: 1000 }).then(note('first'), note('first')),
        client
          .call({ timeout: 1000, signal: AbortSignal.abort('early') })
          .then(note('aborted'), note('aborted')),
        client.call({ timeout: 1000 }).then(note('second'), note('second')),
      ];
      await Promise.all(pending);
      abort.abort();
      await client.close();
      await peer.close();
      return order;
    };
    harness.enabled = false;
    const off = await run();
    harness.enabled = true;
    expect(await run()).toEqual(off);
  });
});
