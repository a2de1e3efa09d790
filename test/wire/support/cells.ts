import { readFileSync } from 'node:fs';
import type { CallFlag, ClientStage, Outcome, Reason } from '@waybill/core';
import type { HttpReply, LegacyReply, StdioReply } from '@waybill/lab';
import type { SdkClient } from './application.js';
import { FAULTS_ON_THE_WIRE, type WireFault } from './cell-faults.js';
import type { PeerReply, Play } from './peers.js';

/** What a peer does on the wire; see test/cases/probes.json. */
interface Probe {
  readonly probe: string;
  readonly transport: WireTransportName;
  readonly reply: HttpReply & StdioReply & LegacyReply & { readonly then?: StdioReply['after'] };
}
type WireTransportName = 'streamable_http' | 'stdio' | 'legacy_sse';
export type Sdk = 'v1_2025' | 'v2_2025' | 'v2_2026';

/** A cell whose client side was measured: a fault on a transport, read by an SDK. */
export interface Cell {
  readonly fault: string;
  readonly transport: 'streamable_json' | 'streamable_sse' | 'stdio' | 'legacy_sse';
  readonly sdk: Sdk;
  readonly probe: string;
  readonly wire_outcome: string;
  readonly cancel_signal: string | null;
  readonly sdk_surface: {
    readonly sdk_error?: string;
    readonly code?: string | number | null;
    readonly http_posts?: number;
  };
}
interface Fault {
  readonly id: string;
  readonly title: string;
  readonly stages_happened: readonly string[];
}
const load = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../cases/${name}`, import.meta.url), 'utf8'));
const probes = load('probes.json') as readonly Probe[];
const matrix = load('fault-matrix.json') as {
  readonly faults: readonly Fault[];
  readonly cells: readonly (Omit<Cell, 'probe'> & { readonly probe: string | null })[];
};

export const CELLS: readonly Cell[] = matrix.cells.filter((cell): cell is Cell => cell.probe !== null);
export const SDKS: readonly Sdk[] = ['v1_2025', 'v2_2025', 'v2_2026'];
const CLIENT_OF: Readonly<Record<Sdk, SdkClient>> = { v1_2025: 'v1', v2_2025: 'v2', v2_2026: 'v2_2026' };
const TRANSPORT_OF: Readonly<Record<Cell['transport'], WireTransportName>> = {
  streamable_json: 'streamable_http',
  streamable_sse: 'streamable_http',
  stdio: 'stdio',
  legacy_sse: 'legacy_sse',
};

/** `fault transport sdk`. */
export const nameOf = ({ fault, transport, sdk }: Cell): string => `${fault} ${transport} ${sdk}`;
/** Bytes and transport; several cells share them. */
export const wireOf = ({ transport, probe }: Cell): string => `${TRANSPORT_OF[transport]} ${probe}`;
/** A play serves all cells of the same bytes, transport and SDK. */
export const playKey = (cell: Cell): string => `${wireOf(cell)} ${cell.sdk}`;

function faultOf(cell: Cell): WireFault {
  const fault = FAULTS_ON_THE_WIRE[wireOf(cell)];
  if (fault === undefined) throw new Error(`${wireOf(cell)} has no row in cell-faults.ts`);
  return { ...fault, ...fault.at?.[cell.sdk] };
}

export interface ExpectedCall {
  readonly outcome: Outcome;
  readonly reason: Reason | undefined;
  readonly status: number | undefined;
  readonly flags: readonly CallFlag[];
  readonly stages: readonly ClientStage[];
}
export interface ExpectedCell {
  /** Every call that the application makes, and before it the legs that the SDK needed. */
  readonly spans: readonly ExpectedCall[];
  /** A response that came when the caller had given up, on a span of its own. */
  readonly late: boolean;
  readonly posts: number | undefined;
}

/** What the spans of a cell must say, exactly. The matrix knows who told the peer to stop, and how. */
export function expectedOf(cell: Cell): ExpectedCell {
  const { calls = 1, flags = [], late, outcome, reason, redirected, stages, status } = faultOf(cell);
  const givenUp = stages.includes('client.timeout');
  const told = givenUp && cell.cancel_signal !== NOT_TOLD;
  const call: ExpectedCall = {
    outcome,
    reason,
    status,
    flags,
    stages: told ? [...stages, 'client.cancel_sent'] : stages,
  };
  const before: ExpectedCall = {
    outcome: 'HTTP_ERROR',
    reason: undefined,
    status: redirected,
    flags: [],
    stages: ['client.sent', 'client.failed'],
  };
  return {
    spans: redirected === undefined ? Array.from({ length: calls }, () => call) : [before, call],
    late: late === true && cell.cancel_signal !== CLOSED_BY_CLIENT,
    posts: cell.sdk_surface.http_posts,
  };
}
const NOT_TOLD = 'none seen (the exchange was already over)';
const CLOSED_BY_CLIENT = 'response stream closed by client';

/** The first outcome that the text of a cell names, and what it says of it. */
export function claimOf({ wire_outcome: text }: Cell): {
  readonly outcome: string;
  readonly detail: string | undefined;
  readonly calls: number;
  readonly postLegError: boolean;
} {
  const [, outcome = '', detail] = /^([A-Z_]+)(?:\(([^)]*)\))?/.exec(text) ?? [];
  return {
    outcome,
    detail,
    calls: Number(/ x(\d)$/.exec(text)?.[1] ?? 1),
    postLegError: text.endsWith('on the POST leg'),
  };
}

/** The client's stages that the matrix derives for the fault of a cell. Its word for telling the peer is older. */
export function stagesInMatrix({ fault }: Cell): readonly string[] {
  const found = matrix.faults.find(({ id }) => id === fault);
  return (found?.stages_happened ?? [])
    .filter((stage) => stage.startsWith('client.'))
    .map((stage) => (stage === 'client.cancelled' ? 'client.cancel_sent' : stage));
}

/** Milliseconds until the caller gives up: before a late reply (900 ms), and on a busy machine after any other. */
const GIVING_UP_MS = { TIMEOUT: 600, other: 3000 };
/** For plays in which nobody is to give up. */
const PATIENT_MS = 15_000;

export function playOf(cell: Cell): Play {
  const transport = TRANSPORT_OF[cell.transport];
  const found = probes.find((each) => each.probe === cell.probe && each.transport === transport);
  if (found === undefined) throw new Error(`no bytes of ${wireOf(cell)}`);
  const expected = expectedOf(cell);
  const givenUp = expected.spans.find(({ stages }) => stages.includes('client.timeout'));
  const patience = givenUp?.outcome === 'TIMEOUT' ? GIVING_UP_MS.TIMEOUT : GIVING_UP_MS.other;
  return {
    key: playKey(cell),
    client: CLIENT_OF[cell.sdk],
    peer: peerOf(found),
    timeoutMs: givenUp === undefined ? PATIENT_MS : patience,
    calls: found.reply.calls ?? 1,
    lingerMs: faultOf(cell).late === true ? 2500 : 100,
  };
}

function peerOf({ transport, reply }: Probe): PeerReply {
  switch (transport) {
    case 'streamable_http':
      return { kind: 'http', reply };
    case 'legacy_sse':
      return { kind: 'legacy', reply };
    case 'stdio': {
      const { then: after, ...rest } = reply;
      return { kind: 'stdio', reply: after === undefined ? rest : { ...rest, after } };
    }
    default:
      return transport satisfies never;
  }
}
