import { createServer } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import * as v1Http from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as v2Client from '@modelcontextprotocol/client';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Harness, stagesOf, startHarness } from '../../test-support/harness.js';
import { type Running, rawPeer } from '../../test-support/http.js';

let harness: Harness;
beforeAll(() => {
  harness = startHarness([v1Client, v1Http, v2Client]);
});
afterEach(() => harness.reset());
afterAll(() => harness.stop());

/** The client of Node's own fetch, with limits that a test can wait for. */
function impatient(limits: object): object {
  const dispatcher: unknown = Reflect.get(globalThis, Symbol.for('undici.globalDispatcher.1'));
  if (typeof dispatcher !== 'object' || dispatcher === null) throw new Error('fetch was not used yet');
  const Agent = dispatcher.constructor as new (options: object) => object;
  return new Agent(limits);
}

/** What becomes of the POST of a tool call: another address, another client. */
type Detour = (url: string | URL, init: RequestInit | undefined) => Promise<Response>;

/** A port on which nobody listens any more. */
async function deadPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

const connectV1 = async (url: URL, detour: Detour) => {
  const client = new v1Client.Client({ name: 'c', version: '1' });
  await client.connect(new v1Http.StreamableHTTPClientTransport(url, { fetch: detour }));
  return {
    call: (timeout = 5000) => client.callTool({ name: 't' }, undefined, { timeout }),
    close: () => client.close(),
  };
};
const connectV2 = async (url: URL, detour: Detour) => {
  const client = new v2Client.Client({ name: 'c', version: '1' });
  await client.connect(new v2Client.StreamableHTTPClientTransport(url, { fetch: detour }));
  return {
    call: (timeout = 5000) => client.callTool({ name: 't' }, { timeout }),
    close: () => client.close(),
  };
};

const to = (address: () => Promise<string>): ((url: URL) => Detour) => {
  return () => async (_url, init) => fetch(await address(), init);
};
const through = (limits: object): ((url: URL) => Detour) => {
  return () => (url, init) => fetch(url, { ...init, dispatcher: impatient(limits) } as RequestInit);
};

type Failure = readonly [
  string,
  (url: URL) => Detour,
  {
    readonly outcome: string;
    readonly reason: string;
    readonly errorType: RegExp;
    readonly stages: readonly string[];
  },
];
const failed = ['client.sent', 'client.failed'];
const failures: readonly Failure[] = [
  [
    'a port on which nobody listens',
    to(async () => `http://127.0.0.1:${await deadPort()}/mcp`),
    { outcome: 'TRANSPORT_ERROR', reason: 'connect', errorType: /^ECONNREFUSED$/, stages: failed },
  ],
  [
    'a name that nobody knows',
    to(async () => 'http://nobody.invalid/mcp'),
    { outcome: 'TRANSPORT_ERROR', reason: 'dns', errorType: /^(?:ENOTFOUND|EAI_AGAIN)$/, stages: failed },
  ],
  [
    'a server that speaks no TLS',
    (url) => to(async () => url.href.replace('http:', 'https:'))(url),
    { outcome: 'TRANSPORT_ERROR', reason: 'tls', errorType: /^ERR_SSL/, stages: failed },
  ],
  [
    'headers that do not come in time',
    through({ headersTimeout: 100 }),
    {
      outcome: 'TRANSPORT_ERROR',
      reason: 'headers_timeout',
      errorType: /^UND_ERR_HEADERS_TIMEOUT$/,
      stages: failed,
    },
  ],
];

/** Answers nothing to a tool call, or the head of a stream and one comment. */
function silentPeer(withHead: boolean): Promise<Running> {
  return rawPeer((_rpc, response) => {
    if (!withHead) return;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(': hi\n\n');
  });
}

describe.each([
  ['SDK 1.x', connectV1],
  ['SDK 2.x', connectV2],
] as const)('the client of %s', (_name, connect) => {
  const detoured =
    (detour: Detour): Detour =>
    (url, init) =>
      typeof init?.body === 'string' && init.body.includes('tools/call')
        ? detour(url, init)
        : fetch(url, init);

  it.each(failures)('tells %s', async (_title, detour, expected) => {
    const peer = await silentPeer(false);
    const client = await connect(peer.url, detoured(detour(peer.url)));
    await expect(client.call()).rejects.toThrow();
    const span = await harness.tool('client');
    expect(span.attributes).toMatchObject({
      'waybill.outcome': expected.outcome,
      'waybill.outcome_reason': expected.reason,
      'waybill.outcome_source': 'wire',
    });
    expect(span.attributes['error.type']).toMatch(expected.errorType);
    expect(stagesOf(span)).toEqual(expected.stages);
    await client.close();
    await peer.close();
  });

  it('tells a body that stops coming', async () => {
    const peer = await silentPeer(true);
    const client = await connect(peer.url, detoured(through({ bodyTimeout: 100 })(peer.url)));
    await client.call(1000).catch(() => undefined);
    const span = await harness.tool('client');
    expect(span.attributes).toMatchObject({
      'waybill.outcome': 'STREAM_INCOMPLETE',
      'waybill.outcome_reason': 'body_timeout',
      'error.type': 'stream_incomplete',
    });
    expect(stagesOf(span)).toEqual([
      'client.sent',
      'client.stream_closed',
      'client.timeout',
      'client.cancel_sent',
    ]);
    await client.close();
    await peer.close();
  });
});
