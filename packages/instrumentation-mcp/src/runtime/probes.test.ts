import { readFileSync } from 'node:fs';
import type { Attributes } from '@opentelemetry/api';
import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import * as v1Sse from '@modelcontextprotocol/sdk/client/sse.js';
import * as v1Stdio from '@modelcontextprotocol/sdk/client/stdio.js';
import * as v1Http from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as v2Client from '@modelcontextprotocol/client';
import * as v2Stdio from '@modelcontextprotocol/client/stdio';
import {
  type HttpReply,
  type LegacyReply,
  type StdioReply,
  startFaultServer,
  startLegacySseServer,
  stdioPeer,
} from '@waybill/lab';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Harness, eventually, startHarness } from '../../test-support/harness.js';

/** What a peer does on the wire, and what each SDK client was measured to tell; see test/cases. */
interface Probe {
  readonly probe: string;
  readonly transport: 'streamable_http' | 'stdio' | 'legacy_sse';
  readonly reply: HttpReply & StdioReply & LegacyReply & { readonly then?: StdioReply['after'] };
  readonly client_timeout_ms?: number;
}
interface Cell {
  readonly probe: string | null;
  readonly transport: string;
  readonly sdk: string;
  readonly wire_outcome: string;
}
const load = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../../../test/cases/${name}`, import.meta.url), 'utf8'));
const probes = load('probes.json') as readonly Probe[];
const { cells } = load('fault-matrix.json') as { readonly cells: readonly Cell[] };

const call = { name: 't', arguments: { text: 'x' } };
type Transport = 'streamable_http' | 'stdio' | 'legacy_sse';
interface Peer {
  /** Of the connection to it. */
  readonly address: string | URL;
  readonly stdio?: ReturnType<typeof stdioPeer>;
  close(): Promise<void>;
}

async function startPeer({ transport, reply }: Probe): Promise<Peer> {
  switch (transport) {
    case 'streamable_http': {
      const server = await startFaultServer({ reply });
      return { address: new URL(server.url), close: () => server.close() };
    }
    case 'legacy_sse': {
      const server = await startLegacySseServer({ reply });
      return { address: new URL(server.url), close: () => server.close() };
    }
    case 'stdio':
    default: {
      const { then: after, ...rest } = reply;
      return {
        address: '',
        stdio: stdioPeer({ ...rest, ...(after === undefined ? {} : { after }) }),
        close: async () => undefined,
      };
    }
  }
}

const reconnectionOptions = {
  initialReconnectionDelay: 1000,
  maxReconnectionDelay: 30_000,
  reconnectionDelayGrowFactor: 1.5,
  maxRetries: 2,
};

async function callV1(
  peer: Peer,
  transport: Transport,
  timeout: number,
  count: number,
): Promise<() => Promise<void>> {
  const client = new v1Client.Client({ name: 'c', version: '1' });
  if (peer.stdio !== undefined)
    await client.connect(new v1Stdio.StdioClientTransport({ ...peer.stdio, stderr: 'ignore' }));
  else if (transport === 'legacy_sse')
    await client.connect(new v1Sse.SSEClientTransport(peer.address as URL));
  else
    await client.connect(
      new v1Http.StreamableHTTPClientTransport(peer.address as URL, { reconnectionOptions }),
    );
  await Promise.allSettled(
    Array.from({ length: count }, () => client.callTool(call, undefined, { timeout })),
  );
  return () => client.close();
}

async function callV2(
  peer: Peer,
  transport: Transport,
  timeout: number,
  count: number,
  version?: string,
): Promise<() => Promise<void>> {
  const client = new v2Client.Client(
    { name: 'c', version: '1' },
    version === undefined ? {} : { versionNegotiation: { mode: { pin: version } } },
  );
  if (peer.stdio !== undefined)
    await client.connect(new v2Stdio.StdioClientTransport({ ...peer.stdio, stderr: 'ignore' }));
  else if (transport === 'legacy_sse')
    await client.connect(new v2Client.SSEClientTransport(peer.address as URL));
  else
    await client.connect(
      new v2Client.StreamableHTTPClientTransport(peer.address as URL, { reconnectionOptions }),
    );
  await Promise.allSettled(Array.from({ length: count }, () => client.callTool(call, { timeout })));
  return () => client.close();
}

const SDKS = {
  v1_2025: callV1,
  v2_2025: callV2,
  v2_2026: (peer: Peer, transport: Transport, timeout: number, count: number) =>
    callV2(peer, transport, timeout, count, '2026-07-28'),
} as const;

const rows = probes.flatMap((probe) =>
  (Object.keys(SDKS) as (keyof typeof SDKS)[]).flatMap((sdk) => {
    const family = probe.transport === 'streamable_http' ? /^streamable/ : new RegExp(`^${probe.transport}$`);
    const outcomes = new Set(
      cells
        .filter((cell) => cell.probe === probe.probe && cell.sdk === sdk && family.test(cell.transport))
        .map((cell) => cell.wire_outcome),
    );
    return outcomes.size === 0
      ? []
      : [{ probe, sdk, name: probe.probe, transport: probe.transport, outcomes: [...outcomes] }];
  }),
);

/** The outcome that a cell names first: what follows tells another leg, or the other end of the process. */
const headOf = (cell: string): string => /^[A-Z_]+(?:\([^)]*\))?/.exec(cell)?.[0] ?? cell;

let harness: Harness;
beforeAll(() => {
  harness = startHarness([v1Client, v1Http, v1Sse, v1Stdio, v2Client, v2Stdio]);
});
afterEach(() => harness.reset());
afterAll(() => harness.stop());

describe('the measured cells of the fault matrix', () => {
  it.each(rows)(
    '$transport $name read by $sdk',
    async ({ probe, sdk, outcomes }) => {
      const peer = await startPeer(probe);
      const close = await SDKS[sdk](
        peer,
        probe.transport,
        probe.client_timeout_ms ?? 600,
        probe.reply.calls ?? 1,
      );
      const attributes = await eventually(
        (): Attributes | undefined =>
          harness.spans().find((span) => span.attributes['mcp.method.name'] === 'tools/call')?.attributes,
      );
      const outcome = String(attributes?.['waybill.outcome']);
      const detail = attributes?.['waybill.outcome_reason'] ?? attributes?.['http.response.status_code'];
      const names = [outcome, `${outcome}(${String(detail)})`];
      expect(outcomes.map(headOf)).toContainEqual(expect.toBeOneOf(names));
      await close();
      await peer.close();
    },
    15_000,
  );
});
