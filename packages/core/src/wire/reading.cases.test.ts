import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  Player,
  type HttpReply,
  type LegacyReply,
  type PlayOptions,
  type Played,
  type StdioReply,
} from '../../../../test/support/wire-player.js';

interface WireCase {
  readonly id: string;
  readonly title: string;
  readonly reply: HttpReply;
  readonly outputSchema?: boolean;
  readonly cancelAfterMs?: number;
  readonly expect: {
    readonly outcome: string | Readonly<Record<string, string>>;
    readonly reason?: string;
    readonly flags?: readonly string[];
    readonly code?: number;
    readonly status?: number;
    readonly retry_after_s?: number;
    readonly late?: string;
  };
}
interface Probe {
  readonly probe: string;
  readonly transport: 'streamable_http' | 'stdio' | 'legacy_sse';
  readonly title: string;
  readonly reply: HttpReply & StdioReply & LegacyReply;
  readonly client_timeout_ms?: number;
}
interface Cell {
  readonly probe: string | null;
  readonly fault: string;
  readonly transport: string;
  readonly sdk: string;
  readonly wire_outcome: string;
}

const load = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../../../test/cases/${name}`, import.meta.url), 'utf8'));
const wireCases = load('wire-open.json') as readonly WireCase[];
const probes = load('probes.json') as readonly Probe[];
const cells = (load('fault-matrix.json') as { readonly cells: readonly Cell[] }).cells;

const VERSIONS = ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'];

/** `"2025-03-26"`, `">=2025-06-18"`, `"<=2025-11-25"` as keys of an outcome that depends on the version. */
function outcomeFor(outcome: WireCase['expect']['outcome'], version: string): string | undefined {
  if (typeof outcome === 'string') return outcome;
  for (const [key, value] of Object.entries(outcome)) {
    if (
      key.startsWith('>=')
        ? version >= key.slice(2)
        : key.startsWith('<=')
          ? version <= key.slice(2)
          : key === version
    ) {
      return value;
    }
  }
  return undefined;
}

/** Cases whose schema check a validator decides; the player cannot, so the case says what it found. */
const SCHEMA: Readonly<Record<string, PlayOptions['schema']>> = {
  W35: 'output_schema',
  W36: 'output_schema',
  W37: 'structured_missing',
};

function playCase(wireCase: WireCase, protocolVersion: string, split?: PlayOptions['split']): Played {
  const schema = SCHEMA[wireCase.id];
  return new Player('http', {
    timeoutMs: 1200,
    protocolVersion,
    sessionSent: wireCase.id === 'W18',
    ...(wireCase.cancelAfterMs === undefined ? {} : { cancelAfterMs: wireCase.cancelAfterMs }),
    ...(schema === undefined ? {} : { schema }),
    ...(split === undefined ? {} : { split }),
  }).http(wireCase.reply);
}

describe('the transcripts of wire-open.json give their outcome, reason and flags', () => {
  const rows = wireCases.flatMap((wireCase) =>
    VERSIONS.flatMap((version) => {
      const outcome = outcomeFor(wireCase.expect.outcome, version);
      return outcome === undefined ? [] : [{ ...wireCase, version, outcome }];
    }),
  );
  it.each(rows)('$id in $version: $title', (row) => {
    const { outcome: read, late } = playCase(row, row.version);
    expect(read.outcome).toBe(row.outcome);
    if (row.expect.reason !== undefined && typeof row.expect.outcome === 'string') {
      expect(read.reason).toBe(row.expect.reason);
    }
    const flags = (row.expect.flags ?? []).filter((flag) => flag !== 'late_result');
    expect(read.flags).toEqual(expect.arrayContaining(flags));
    if (row.expect.flags === undefined && row.id !== 'W18') expect(read.flags).toEqual([]);
    if (row.expect.status !== undefined) expect(read.httpStatus).toBe(row.expect.status);
    if (row.expect.retry_after_s !== undefined)
      expect(read.retryAfterMs).toBe(row.expect.retry_after_s * 1000);
    if (row.expect.late === undefined) {
      if (row.expect.code !== undefined) expect(read.rpcCode).toBe(row.expect.code);
    } else {
      expect(late?.fact.outcome).toBe(row.expect.late);
      expect(late?.flag).toBe('late_result');
      if (row.expect.code !== undefined) expect(late?.rpcCode).toBe(row.expect.code);
    }
  });

  it('names the reason of the batch in every version that has none', () => {
    const batch = wireCases.find(({ id }) => id === 'W23');
    expect(batch === undefined ? undefined : playCase(batch, '2025-06-18').outcome.reason).toBe('batch');
  });
});

/** The first outcome word and reason of a cell: `STREAM_INCOMPLETE(partial_line) [stays] / …`. */
function expected(cell: Cell): { outcome: string; reason: string | undefined; status: number | undefined } {
  const [, outcome = '', detail] = /^([A-Z_]+)(?:\(([^)]*)\))?/.exec(cell.wire_outcome) ?? [];
  const status = detail !== undefined && /^\d+$/.test(detail) ? Number(detail) : undefined;
  return { outcome, reason: status === undefined ? detail : undefined, status };
}

function playProbe(probe: Probe, protocolVersion: string, split?: PlayOptions['split']): readonly Played[] {
  const options = {
    timeoutMs:
      probe.client_timeout_ms ?? (probe.reply as { client_timeout_ms?: number }).client_timeout_ms ?? 600,
    protocolVersion,
    ...(split === undefined ? {} : { split }),
  };
  switch (probe.transport) {
    case 'streamable_http':
      return [new Player('http', options).http(probe.reply)];
    case 'legacy_sse':
      return [new Player('legacy_sse', options).legacy(probe.reply)];
    case 'stdio': {
      const ids = probe.reply.calls === 2 ? [7, 8] : [7];
      const fill = (text: string): string => text.replaceAll('$FIRST_ID', '7').replaceAll('$SECOND_ID', '8');
      const lines = (probe.reply.lines ?? []).map(([ms, text]) => [ms, fill(text)] as const);
      return ids.map((id) => new Player('stdio', { ...options, id }).stdio({ ...probe.reply, lines }));
    }
    default:
      return probe.transport satisfies never;
  }
}

const TRANSPORT_OF: Readonly<Record<string, Probe['transport']>> = {
  streamable_json: 'streamable_http',
  streamable_sse: 'streamable_http',
  stdio: 'stdio',
  legacy_sse: 'legacy_sse',
};
const ERA: Readonly<Record<string, string>> = {
  v1_2025: '2025-11-25',
  v2_2025: '2025-11-25',
  v2_2026: '2026-07-28',
};

describe('the probes give the wire outcome of every measured cell of the fault matrix', () => {
  const measured = cells.filter((cell) => typeof cell.probe === 'string');
  it('finds the bytes of all 286 cells', () => {
    expect(measured).toHaveLength(286);
  });
  const rows = [
    ...new Map(measured.map((cell) => [`${cell.probe} ${cell.transport} ${ERA[cell.sdk]}`, cell])).values(),
  ];
  it.each(rows)('$probe over $transport for $sdk: $wire_outcome', (cell) => {
    const probe = probes.find((p) => p.probe === cell.probe && p.transport === TRANSPORT_OF[cell.transport]);
    if (probe === undefined) throw new Error(`no probe ${cell.probe} for ${cell.transport}`);
    for (const { outcome } of playProbe(probe, ERA[cell.sdk] ?? '')) {
      const { outcome: word, reason, status } = expected(cell);
      expect(outcome.outcome).toBe(word);
      if (reason !== undefined) expect(outcome.reason).toBe(reason);
      if (status !== undefined) expect(outcome.httpStatus).toBe(status);
    }
  });
});

describe('the probes that no cell names', () => {
  it.each([
    ['http_503_json', 'streamable_http', 'HTTP_ERROR', undefined, []],
    ['http_429', 'streamable_http', 'HTTP_ERROR', undefined, []],
    ['http_401', 'streamable_http', 'HTTP_ERROR', undefined, []],
    ['http_204', 'streamable_http', 'INVALID_ENVELOPE', 'no_content', []],
    ['empty_200_json', 'streamable_http', 'MALFORMED_JSON', 'empty_body', []],
    ['no_ctype_200', 'streamable_http', 'INVALID_ENVELOPE', 'content_type', []],
    ['wrong_id_error', 'streamable_http', 'INVALID_ENVELOPE', 'id_mismatch', ['uncorrelated_rpc_error']],
    ['sse_end_comments', 'streamable_http', 'STREAM_INCOMPLETE', 'closed_before_response', []],
    ['sse_end_mid_event', 'streamable_http', 'STREAM_INCOMPLETE', 'unterminated_event', []],
    ['sse_prime_cut_replay', 'streamable_http', 'TOOL_SUCCESS', undefined, ['resumed']],
    ['sse_result_then_cut', 'streamable_http', 'TOOL_SUCCESS', undefined, []],
    ['half_line_exit', 'stdio', 'STREAM_INCOMPLETE', 'partial_line', []],
    ['accepted_stream_cut_reply_on_new', 'legacy_sse', 'TOOL_SUCCESS', undefined, []],
    ['post_close_but_reply', 'legacy_sse', 'TOOL_SUCCESS', undefined, ['post_leg_error']],
  ] as const)('%s over %s: %s %s %j', (name, transport, outcome, reason, flags) => {
    const probe = probes.find((p) => p.probe === name && p.transport === transport);
    if (probe === undefined) throw new Error(`no probe ${name}`);
    const [played] = playProbe(probe, '2025-11-25');
    expect(played?.outcome).toMatchObject({ outcome, reason, flags });
  });
});

const essence = ({ outcome: { outcome, reason, flags, rpcCode, stream }, late }: Played): unknown => ({
  outcome,
  reason,
  flags,
  rpcCode,
  stream,
  late,
});
const isStream = ({ reply }: { reply: HttpReply }): boolean =>
  /event-stream/i.test(reply.headers?.['content-type'] ?? '') || reply.get !== undefined;

describe('where the bytes are split never changes outcome, reason, flags, counts or what came late', () => {
  const streams = [
    ...wireCases.filter(isStream).map((c) => ({
      name: c.id,
      size: JSON.stringify(c.reply.chunks).length,
      play: (split?: PlayOptions['split']) => playCase(c, '2025-11-25', split),
    })),
    ...probes
      .filter((p) => p.transport !== 'streamable_http' || isStream(p))
      .map((p) => ({
        name: `${p.transport} ${p.probe}`,
        size: JSON.stringify(p.reply).length,
        play: (split?: PlayOptions['split']) => {
          const [played] = playProbe(p, '2025-11-25', split);
          if (played === undefined) throw new Error(`nothing played for ${p.probe}`);
          return played;
        },
      })),
  ];
  it('every SSE transcript is split, W44 at about a thousand positions', () => {
    expect(streams.filter(({ name }) => name.startsWith('W'))).toHaveLength(20);
    expect(streams.filter(({ size }) => size > 100_000).map(({ name }) => name)).toEqual(['W44']);
  });

  it.each(streams)(
    '$name',
    ({ size, play }) => {
      const whole = essence(play());
      const at = (position: number) => (bytes: Uint8Array) => [
        bytes.subarray(0, position),
        bytes.subarray(position),
      ];
      const step = size > 100_000 ? Math.floor(size / 1000) : 1;
      for (let position = 1; position < size; position += step) {
        expect(essence(play(at(position))), `split at ${position}`).toEqual(whole);
      }
      if (size > 100_000) return;
      const bytewise = (bytes: Uint8Array): Uint8Array[] => Array.from(bytes, (byte) => Uint8Array.of(byte));
      expect(essence(play(bytewise)), 'byte by byte').toEqual(whole);
    },
    120_000,
  );
});
