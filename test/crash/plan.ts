/** Which process dies at which stage of which call. */
import type { HttpReply, StdioReply } from '@waybill/lab';
import { STAGES, type Stage } from '@waybill/core';

export const SDKS = ['v1', 'v2'] as const;
export type Sdk = (typeof SDKS)[number];
export const TRANSPORTS = ['http', 'stdio'] as const;
export type Transport = (typeof TRANSPORTS)[number];
export type SideName = 'client' | 'server';

/** What the client asks for, and how long it waits. */
export interface Call {
  readonly tool: 'set_status' | 'work';
  readonly status?: string;
  readonly timeoutMs: number;
  readonly abortAfterMs?: number;
  /** The client lives on for so long after the call: late replies. */
  readonly lingerMs?: number;
}

/** A call with the stages that it is known to reach, and so to be killed at. */
export interface Scenario {
  readonly name: string;
  readonly call: Call;
  /** A peer that plays a transcript in the place of the server. */
  readonly peer?: { readonly http?: HttpReply; readonly stdio?: StdioReply };
  readonly stages: readonly (Stage | { readonly stage: Stage; readonly on: Transport })[];
}

const OK = '{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"ok"}]}}';
const sse = { 'content-type': 'text/event-stream' };
// Both SDKs let a caller wait until its timeout when the stream of the reply ends: long enough for a busy machine only.
const write: Call = { tool: 'set_status', status: 'done', timeoutMs: 5000 };
const impatient: Call = { tool: 'work', timeoutMs: 300 };

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'a write',
    call: write,
    stages: [
      'client.sent',
      'server.received',
      'server.handler_started',
      'server.effect_requested',
      'server.effect_confirmed',
      'receipt.enqueued',
      'server.handler_returned',
      'server.result_sent',
      { stage: 'server.result_flushed', on: 'http' },
      'client.result_received',
    ],
  },
  {
    name: 'a write that is refused',
    call: { ...write, status: 'forbidden' },
    stages: ['server.effect_failed'],
  },
  {
    name: 'a caller that stops waiting',
    call: impatient,
    stages: ['client.timeout', 'client.cancel_sent', 'server.cancel_received', 'server.result_dropped'],
  },
  {
    name: 'a caller that aborts',
    call: { tool: 'work', timeoutMs: 20_000, abortAfterMs: 200 },
    stages: ['client.cancelled'],
  },
  {
    name: 'a peer that fails',
    call: write,
    peer: {
      http: { status: 503, headers: { 'content-type': 'text/plain' }, chunks: [[0, 'no']], end: 'fin' },
      stdio: { lines: [], after: 'exit' },
    },
    stages: ['client.failed'],
  },
  {
    name: 'a stream that ends without a result',
    call: write,
    peer: { http: { headers: sse, chunks: [[0, ': nothing\n\n']], end: 'fin' } },
    stages: [{ stage: 'client.stream_closed', on: 'http' }],
  },
  {
    name: 'a stream that is opened again',
    call: write,
    peer: {
      http: {
        headers: sse,
        chunks: [[0, 'id: 1\nretry: 10\ndata: \n\n']],
        end: 'fin',
        get: { headers: sse, chunks: [[0, `id: 2\ndata: ${OK}\n\n`]], end: 'fin' },
      },
    },
    stages: [{ stage: 'client.stream_resumed', on: 'http' }],
  },
  {
    name: 'a reply that comes too late',
    call: { ...write, timeoutMs: 200, lingerMs: 1500 },
    peer: { stdio: { lines: [[500, OK]] } },
    stages: [{ stage: 'client.late_result', on: 'stdio' }],
  },
];

/** Stages of the vocabulary at which nothing can be killed, and why. */
export const NOT_PLAYED: Readonly<Partial<Record<Stage, string>>> = {
  'receipt.acked': 'no part of the project writes it inside a process of its own yet',
};

export interface Point {
  readonly scenario: Scenario;
  readonly sdk: Sdk;
  readonly transport: Transport;
  readonly stage: Stage;
  readonly side: SideName;
}

export const POINTS: readonly Point[] = SCENARIOS.flatMap((scenario) =>
  SDKS.flatMap((sdk) =>
    TRANSPORTS.flatMap((transport) =>
      scenario.stages
        .filter((each) => typeof each === 'string' || each.on === transport)
        .map((each) => (typeof each === 'string' ? each : each.stage))
        .map((stage): Point => ({ scenario, sdk, transport, stage, side: sideOf(stage) })),
    ),
  ),
);

export function sideOf(stage: Stage): SideName {
  return STAGES.find((each) => each.name === stage)?.side === 'client' ? 'client' : 'server';
}

export function titleOf({ scenario, sdk, transport, stage, side }: Point): string {
  return `${side} at ${stage}: ${scenario.name}, SDK ${sdk}, ${transport}`;
}
