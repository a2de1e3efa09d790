import {
  startFaultServer,
  startLegacySseServer,
  stdioPeer,
  type HttpReply,
  type LegacyReply,
  type RecordedRequest,
  type StdioReply,
} from '@waybill/lab';
import { ATTR_CALL_ID, ATTR_FLAGS, ATTR_MCP_METHOD_NAME, METHOD_TOOLS_CALL } from '@waybill/core';
import type { ExportedSpan } from '../../loading/harness.js';
import { runApplication, type Job, type Observed, type SdkClient } from './application.js';
import { toolName } from './play.js';

/** What the peer does for one call, on the transport that it speaks. */
export type PeerReply =
  | {
      readonly kind: 'http';
      readonly reply: HttpReply;
      readonly sessionId?: string;
      readonly protocolVersion?: string;
      readonly outputSchema?: object;
    }
  | { readonly kind: 'legacy'; readonly reply: LegacyReply }
  | { readonly kind: 'stdio'; readonly reply: StdioReply };

/** One client, one peer, and the calls between them; all calls start in one turn. */
export interface Play {
  /** Names the play, its tool and so its spans. */
  readonly key: string;
  readonly client: SdkClient;
  readonly peer: PeerReply;
  readonly timeoutMs: number;
  readonly abortAfterMs?: number;
  /** Default 1. */
  readonly calls?: number;
  readonly listTools?: boolean;
  /** How long the client stays after the last call has settled. Default 100 ms. */
  readonly lingerMs?: number;
}

export interface PlayResult {
  readonly observed: Observed;
  /** CLIENT spans of the calls, in the order of their start. */
  readonly spans: readonly ExportedSpan[];
  /** Spans that carry what came after the end of a call. */
  readonly late: readonly ExportedSpan[];
  /** What the peer got, in order of arrival; nothing for stdio. */
  readonly requests: readonly RecordedRequest[];
}

/** Key of the conventions for HTTP. */
export const ATTR_HTTP_RESPONSE_STATUS_CODE = 'http.response.status_code';
const RESULT_SPAN = 'waybill.late_result';

/**
 * Flags of a call. A second response is told by its call where both come in one turn, and beside it where the second
 * comes when the call has ended: that is up to the network.
 */
export function flagsOf({ spans, late }: Pick<PlayResult, 'spans' | 'late'>): readonly string[] {
  const flags = [spans.at(-1), ...late].flatMap(
    (span) => (span?.attributes[ATTR_FLAGS] ?? []) as readonly string[],
  );
  return [...new Set(flags)].filter((flag) => flag !== 'late_result');
}

/** Plays all at once, each with a peer of its own, in one application. By key. */
export async function playAll(
  plays: readonly Play[],
  options: { readonly plugin: boolean; readonly concurrency?: number },
): Promise<ReadonlyMap<string, PlayResult>> {
  const started = await Promise.all(plays.map(async (play) => ({ play, peer: await startPeer(play) })));
  try {
    const run = await runApplication(
      started.map(({ play, peer }) => jobOf(play, peer.transport)),
      { ...options, timeoutMs: 240_000 },
    );
    return new Map(
      started.map(({ play, peer }) => {
        const observed = run.observed.get(play.key);
        if (observed === undefined || observed.broken !== undefined)
          throw new Error(`${play.key} could not be played: ${JSON.stringify(observed?.broken)}`);
        const spans = run.spans.filter(
          ({ name, kind, attributes }) =>
            name === `${METHOD_TOOLS_CALL} ${toolName(play.key)}` &&
            kind === 'client' &&
            attributes[ATTR_MCP_METHOD_NAME] === METHOD_TOOLS_CALL,
        );
        const callIds = new Set(spans.map(({ attributes }) => attributes[ATTR_CALL_ID]));
        const late = run.spans.filter(
          ({ name, attributes }) => name === RESULT_SPAN && callIds.has(attributes[ATTR_CALL_ID]),
        );
        return [play.key, { observed, spans, late, requests: [...peer.requests()] }];
      }),
    );
  } finally {
    await Promise.all(started.map(({ peer }) => peer.close()));
  }
}

interface Peer {
  readonly transport: Job['transport'];
  requests(): readonly RecordedRequest[];
  close(): Promise<void>;
}

async function startPeer({ key, peer }: Play): Promise<Peer> {
  switch (peer.kind) {
    case 'http': {
      const { kind, reply, outputSchema, ...identity } = peer;
      const tool = {
        name: toolName(key),
        inputSchema: { type: 'object' },
        ...(outputSchema === undefined ? {} : { outputSchema }),
      };
      const server = await startFaultServer({ reply, tools: [tool], ...identity });
      return {
        transport: { kind, url: server.url },
        requests: () => server.requests,
        close: () => server.close(),
      };
    }
    case 'legacy': {
      const server = await startLegacySseServer({ reply: peer.reply });
      return {
        transport: { kind: 'legacy', url: server.url },
        requests: () => server.requests,
        close: () => server.close(),
      };
    }
    case 'stdio':
      return {
        transport: { kind: 'stdio', ...stdioPeer(peer.reply) },
        requests: () => [],
        close: async () => undefined,
      };
    default:
      return peer satisfies never;
  }
}

function jobOf(play: Play, transport: Job['transport']): Job {
  const name = toolName(play.key);
  const schema = play.peer.kind === 'http' ? play.peer.outputSchema : undefined;
  const call = {
    params: { name, arguments: { text: 'x' } },
    options: { timeout: play.timeoutMs },
    ...(play.abortAfterMs === undefined ? {} : { abortAfterMs: play.abortAfterMs, abortReason: 'stop' }),
    // Since 2026-07-28 a listing may expire at once, and with it the schema: the caller gives the tool along.
    ...(schema === undefined
      ? {}
      : { toolDefinition: { name, inputSchema: { type: 'object' }, outputSchema: schema } }),
  };
  return {
    key: play.key,
    client: play.client,
    transport,
    calls: Array.from({ length: play.calls ?? 1 }, () => call),
    ...(play.listTools === undefined ? {} : { listTools: play.listTools }),
    ...(play.lingerMs === undefined ? {} : { lingerMs: play.lingerMs }),
  };
}
