import { readFileSync } from 'node:fs';
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as HttpV2,
  SSEClientTransport as SseV2,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport as SseV1 } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { startFaultServer, startLegacySseServer, stdioPeer } from '@waybill/lab';
import type { HttpReply, LegacyReply, StdioReply } from '@waybill/lab';
import { describe, expect, it } from 'vitest';

type Sdk = 'v1_2025' | 'v2_2025' | 'v2_2026';
interface Surface {
  readonly sdk_error?: string;
  readonly sdk_result?: string;
  readonly code?: string | number | null;
  readonly http_posts?: number;
}
interface Cell {
  readonly probe: string | null;
  readonly fault: string;
  readonly transport: 'streamable_json' | 'streamable_sse' | 'stdio' | 'legacy_sse';
  readonly sdk: Sdk;
  readonly sdk_surface: Surface;
}
interface Probe {
  readonly probe: string;
  readonly transport: string;
  readonly reply: HttpReply & StdioReply & LegacyReply & { readonly then?: StdioReply['after'] };
}

const load = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../cases/${name}`, import.meta.url), 'utf8'));
const probes = load('probes.json') as readonly Probe[];
const { cells } = load('fault-matrix.json') as { readonly cells: readonly Cell[] };
/** The measured timeout where the client ran into it; elsewhere a long one, so that a busy machine changes nothing. */
const timeoutOf = ({ sdk_surface: { code } }: Cell): number =>
  String(code) === '-32001' || code === 'REQUEST_TIMEOUT' ? 600 : 10_000;

interface AnyClient {
  connect(transport: never): Promise<void>;
  callTool(params: never, ...rest: never[]): Promise<unknown>;
  close(): Promise<void>;
}
function newClient(sdk: Sdk): AnyClient {
  const info = { name: 'lab-test', version: '0' };
  if (sdk === 'v1_2025') return new ClientV1(info);
  return sdk === 'v2_2025'
    ? new ClientV2(info)
    : new ClientV2(info, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
}

/** Makes one call and says what the SDK told its caller. */
async function call(client: AnyClient, cell: Cell): Promise<Surface> {
  const params = { name: 't', arguments: {} };
  const options = { timeout: timeoutOf(cell) };
  const rest = cell.sdk === 'v1_2025' ? [undefined, options] : [options];
  try {
    const result = await client.callTool(params as never, ...(rest as never[]));
    const { isError, resultType } = result as { isError?: boolean; resultType?: string };
    const what = isError === true ? 'isError:true' : resultType === 'input_required' ? resultType : 'result';
    return { sdk_result: `returned ${what}` };
  } catch (error) {
    const { constructor, code } = error as { constructor: { name: string }; code?: string | number };
    return { sdk_error: constructor.name.replace(/^_|\d+$/g, ''), ...(code === undefined ? {} : { code }) };
  }
}

async function surfaceOf(cell: Cell, reply: Probe['reply']): Promise<Surface> {
  const client = newClient(cell.sdk);
  const v1 = cell.sdk === 'v1_2025';
  try {
    switch (cell.transport) {
      case 'streamable_json':
      case 'streamable_sse': {
        const server = await startFaultServer({ reply });
        try {
          const url = new URL(server.url);
          await client.connect((v1 ? new HttpV1(url) : new HttpV2(url)) as never);
          const surface = await call(client, cell);
          await client.close();
          return { ...surface, http_posts: server.calls.length };
        } finally {
          await server.close();
        }
      }
      case 'legacy_sse': {
        const server = await startLegacySseServer({ reply });
        try {
          const url = new URL(server.url);
          await client.connect((v1 ? new SseV1(url) : new SseV2(url)) as never);
          const surface = await call(client, cell);
          await client.close();
          return surface;
        } finally {
          await server.close();
        }
      }
      case 'stdio': {
        const { then: after, ...rest } = reply;
        const stdio: StdioReply = after === undefined ? rest : { ...rest, after };
        const command = { ...stdioPeer(stdio), stderr: 'ignore' as const };
        await client.connect((v1 ? new StdioV1(command) : new StdioV2(command)) as never);
        const both = await Promise.all(Array.from({ length: reply.calls ?? 1 }, () => call(client, cell)));
        await client.close();
        return both[0] ?? {};
      }
      default:
        return cell.transport satisfies never;
    }
  } finally {
    await client.close().catch(() => undefined);
  }
}

describe('the peers of the lab bring real SDK clients to what was measured', () => {
  const measured = cells.filter((cell) => cell.probe !== null);
  const rows = [
    ...new Map(measured.map((cell) => [`${cell.probe} ${cell.transport} ${cell.sdk}`, cell])).values(),
  ];
  it.concurrent.each(rows)('$probe over $transport with $sdk', async (cell) => {
    const transport = cell.transport.startsWith('streamable') ? 'streamable_http' : cell.transport;
    const probe = probes.find((p) => p.probe === cell.probe && p.transport === transport);
    if (probe === undefined) throw new Error(`no bytes for ${cell.probe} over ${transport}`);
    const surface = await surfaceOf(cell, probe.reply);
    const { sdk_error: error, sdk_result: result, code, http_posts: posts } = cell.sdk_surface;
    expect({
      ...surface,
      ...(surface.code === undefined ? {} : { code: String(surface.code) }),
    }).toMatchObject({
      ...(error === undefined ? {} : { sdk_error: error }),
      ...(result === undefined ? {} : { sdk_result: result }),
      ...(code === undefined || code === null ? {} : { code: String(code) }),
      ...(posts === undefined || transport !== 'streamable_http' ? {} : { http_posts: posts }),
    });
  });
});
