import { fileURLToPath } from 'node:url';
import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import * as v1Sse from '@modelcontextprotocol/sdk/client/sse.js';
import * as v1Stdio from '@modelcontextprotocol/sdk/client/stdio.js';
import * as v1Http from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as v2Client from '@modelcontextprotocol/client';
import * as v2Stdio from '@modelcontextprotocol/client/stdio';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import {
  ATTR_CALL_ID,
  ATTR_FLAGS,
  ATTR_OUTCOME,
  ATTR_REPLY_CALL_ID,
  META_CALL_ID,
  eventNameOf,
} from '@waybill/core';
import { type ToolCall, startFaultServer, startLegacySseServer } from '@waybill/lab';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Harness, eventually, startHarness } from '../../test-support/harness.js';

/** Two calls are in flight on one connection, and the peer gives one of them, or both, the result of the other. */
type Mode = 'right' | 'swapped' | 'second_twice';
interface Crossing {
  readonly mode: Mode;
  /** The result says whose it is, as it does where the server has the plugin too. */
  readonly echo: boolean;
}
interface Opened {
  call(text: string): Promise<unknown>;
  close(): Promise<void>;
}
type Sdk = 'SDK 1.x' | 'SDK 2.x' | 'SDK 2.x at 2026-07-28';
type Kind = 'stdio' | 'HTTP+SSE' | 'Streamable HTTP, JSON' | 'Streamable HTTP, event stream';

let harness: Harness;
beforeAll(() => {
  harness = startHarness([v1Client, v1Http, v1Sse, v1Stdio, v2Client, v2Stdio]);
});
afterEach(() => harness.reset());
afterAll(() => harness.stop());

/** Requests carry it since 2026-07-28, and results their type. */
const META_PROTOCOL_VERSION = 'io.modelcontextprotocol/protocolVersion';

/** The result of one call under the id of another. */
function reply(whose: ToolCall, { id }: ToolCall, echo: boolean): string {
  const result = {
    ...(META_PROTOCOL_VERSION in whose.meta ? { resultType: 'complete' } : {}),
    content: [{ type: 'text', text: textOf(whose) }],
    ...(echo ? { _meta: { [META_CALL_ID]: whose.meta[META_CALL_ID] } } : {}),
  };
  return JSON.stringify({ jsonrpc: '2.0', id, result });
}

/** Holds calls until two are there; each then learns whose result it gets. `one` is the first, whenever it comes. */
function crossing({ mode }: Crossing): (call: ToolCall) => Promise<ToolCall> {
  const held: { readonly call: ToolCall; readonly answer: (whose: ToolCall) => void }[] = [];
  return (call) =>
    new Promise((resolve) => {
      held.push({ call, answer: resolve });
      if (held.length < 2) return;
      const [first, second] = held.splice(0).toSorted((a, b) => textOf(a.call).localeCompare(textOf(b.call)));
      if (first === undefined || second === undefined) return;
      first.answer(mode === 'right' ? first.call : second.call);
      second.answer(mode === 'swapped' ? first.call : second.call);
    });
}
const textOf = ({ arguments: args }: ToolCall): string => (args as { readonly text: string }).text;

async function openPeer(
  kind: Kind,
  how: Crossing,
): Promise<{ url: URL | undefined; close(): Promise<void> }> {
  const whose = crossing(how);
  switch (kind) {
    case 'stdio':
      return { url: undefined, close: async () => undefined };
    case 'HTTP+SSE': {
      const server = await startLegacySseServer({
        reply: async (call) => ({
          order: 'stream_first',
          post: { status: 202 },
          stream: {
            chunks: [[0, `event: message\ndata: ${reply(await whose(call), call, how.echo)}\n\n`]],
            end: 'hold',
          },
        }),
      });
      return { url: new URL(server.url), close: () => server.close() };
    }
    case 'Streamable HTTP, JSON':
    case 'Streamable HTTP, event stream': {
      const json = kind === 'Streamable HTTP, JSON';
      const server = await startFaultServer({
        reply: async (call) => {
          const text = reply(await whose(call), call, how.echo);
          return {
            headers: { 'content-type': json ? 'application/json' : 'text/event-stream' },
            chunks: [[0, json ? text : `data: ${text}\n\n`]],
            end: 'fin',
          };
        },
      });
      return { url: new URL(server.url), close: () => server.close() };
    }
    default:
      return kind satisfies never;
  }
}

async function open(sdk: Sdk, kind: Kind, how: Crossing): Promise<Opened> {
  const peer = await openPeer(kind, how);
  const args = [fileURLToPath(new URL('../../test-support/crossing-peer.mjs', import.meta.url)), how.mode];
  const command = { command: process.execPath, args: how.echo ? [...args, 'echo'] : args };
  const info = { name: 'c', version: '1' };
  if (sdk === 'SDK 1.x') {
    const client = new v1Client.Client(info);
    const transport =
      peer.url === undefined
        ? new v1Stdio.StdioClientTransport(command)
        : kind === 'HTTP+SSE'
          ? new v1Sse.SSEClientTransport(peer.url)
          : new v1Http.StreamableHTTPClientTransport(peer.url);
    await client.connect(transport);
    return {
      call: (text) => client.callTool({ name: 't', arguments: { text } }),
      close: async () => {
        await client.close();
        await peer.close();
      },
    };
  }
  const pinned = sdk === 'SDK 2.x at 2026-07-28';
  const client = new v2Client.Client(
    info,
    pinned ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {},
  );
  const transport =
    peer.url === undefined
      ? new v2Stdio.StdioClientTransport(command)
      : kind === 'HTTP+SSE'
        ? new v2Client.SSEClientTransport(peer.url)
        : new v2Client.StreamableHTTPClientTransport(peer.url);
  await client.connect(transport);
  return {
    call: (text) => client.callTool({ name: 't', arguments: { text } }),
    close: async () => {
      await client.close();
      await peer.close();
    },
  };
}

const pairs: readonly (readonly [Sdk, Kind])[] = [
  ['SDK 1.x', 'stdio'],
  ['SDK 1.x', 'HTTP+SSE'],
  ['SDK 1.x', 'Streamable HTTP, JSON'],
  ['SDK 1.x', 'Streamable HTTP, event stream'],
  ['SDK 2.x', 'stdio'],
  ['SDK 2.x', 'HTTP+SSE'],
  ['SDK 2.x', 'Streamable HTTP, JSON'],
  ['SDK 2.x', 'Streamable HTTP, event stream'],
  ['SDK 2.x at 2026-07-28', 'Streamable HTTP, JSON'],
  ['SDK 2.x at 2026-07-28', 'Streamable HTTP, event stream'],
];

interface Played {
  readonly results: readonly unknown[];
  /** Of the first call, and of the second. */
  readonly callIds: readonly unknown[];
  /** Whose reply each was told to have got, where that was another's. */
  readonly claimed: readonly unknown[];
  readonly spans: readonly ReadableSpan[];
}

async function play(sdk: Sdk, kind: Kind, how: Crossing): Promise<Played> {
  const opened = await open(sdk, kind, how);
  const results = await Promise.all([opened.call('one'), opened.call('two')]);
  await harness.tool('client', 1);
  const spans = harness
    .spans()
    .filter(({ attributes }) => attributes['mcp.method.name'] === 'tools/call')
    .toSorted(
      (a, b) => Number(a.attributes['waybill.call.number']) - Number(b.attributes['waybill.call.number']),
    );
  await opened.close();
  return {
    results,
    spans,
    callIds: spans.map(({ attributes }) => attributes[ATTR_CALL_ID]),
    claimed: spans.map(
      ({ events }) =>
        events.find(({ name }) => name === eventNameOf('client.result_received'))?.attributes?.[
          ATTR_REPLY_CALL_ID
        ],
    ),
  };
}

const text = (value: string): object => ({ content: [{ type: 'text', text: value }] });

describe.each(pairs)('%s over %s, two calls in flight', (sdk, kind) => {
  it('whose replies are exchanged: each stage names the call that the reply is of', async () => {
    const { callIds, claimed, results, spans } = await play(sdk, kind, { mode: 'swapped', echo: true });
    expect(new Set(callIds).size).toBe(2);
    expect(claimed).toEqual(callIds.toReversed());
    expect(spans.map(({ attributes }) => attributes[ATTR_REPLY_CALL_ID])).toEqual(claimed);
    expect(spans.map(({ attributes }) => attributes[ATTR_OUTCOME])).toEqual(['TOOL_SUCCESS', 'TOOL_SUCCESS']);
    // The application gets what the wire gave it, without what is between the plugins.
    expect(results).toEqual([text('two'), text('one')]);
  });

  it('of which one gets the reply of the other: only that one is named', async () => {
    const { callIds, claimed } = await play(sdk, kind, { mode: 'second_twice', echo: true });
    expect(claimed).toEqual([callIds[1], undefined]);
  });

  it('that each get their own: nothing is claimed', async () => {
    const { claimed, results, spans } = await play(sdk, kind, { mode: 'right', echo: true });
    expect(claimed).toEqual([undefined, undefined]);
    expect(results).toEqual([text('one'), text('two')]);
    expect(spans.map(({ attributes }) => attributes[ATTR_FLAGS])).toEqual([undefined, undefined]);
  });

  it('of a server that does not say whose a reply is: nothing is claimed', async () => {
    const { claimed, results } = await play(sdk, kind, { mode: 'swapped', echo: false });
    expect(results).toEqual([text('two'), text('one')]);
    expect(claimed).toEqual([undefined, undefined]);
  });
});

describe('an echo that is no id of a call', () => {
  it.each([
    ['no id', 'two words\n'],
    ['empty', ''],
    ['a number', 7],
    ['null', null],
    ['an object', { callId: 'x' }],
  ])('%s: nothing is claimed, and the caller does not see it', async (_title, value) => {
    const peer = await startFaultServer({
      reply: {
        headers: { 'content-type': 'application/json' },
        chunks: [
          [
            0,
            `{"jsonrpc":"2.0","id":$ID,"result":{"content":[],"_meta":{"${META_CALL_ID}":${JSON.stringify(value)},"own/key":1}}}`,
          ],
        ],
        end: 'fin',
      },
    });
    const client = new v1Client.Client({ name: 'c', version: '1' });
    await client.connect(new v1Http.StreamableHTTPClientTransport(new URL(peer.url)));
    expect(await client.callTool({ name: 't' })).toEqual({ content: [], _meta: { 'own/key': 1 } });
    const span = await eventually(() =>
      harness.spans().find(({ attributes }) => attributes['mcp.method.name'] === 'tools/call'),
    );
    const stage = span?.events.find(({ name }) => name === eventNameOf('client.result_received'));
    expect(stage?.attributes).not.toHaveProperty([ATTR_REPLY_CALL_ID]);
    expect(span?.attributes).not.toHaveProperty([ATTR_REPLY_CALL_ID]);
    await client.close();
    await peer.close();
  });
});
