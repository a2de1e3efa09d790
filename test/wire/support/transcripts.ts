import { readFileSync } from 'node:fs';
import type { CallFlag, Outcome, Reason } from '@waybill/core';
import type { HttpReply } from '@waybill/lab';
import type { SdkClient } from './application.js';
import type { Play } from './peers.js';

/** A transcript of the field: what a server did on the wire for one call, and what that is. See test/cases. */
export interface Transcript {
  readonly id: string;
  readonly title: string;
  readonly reply: HttpReply;
  /** The tool declares an output schema. */
  readonly outputSchema?: boolean;
  /** The caller aborts then. */
  readonly cancelAfterMs?: number;
  readonly expect: {
    readonly outcome: Outcome | Readonly<Record<string, Outcome>>;
    readonly reason?: Reason;
    readonly flags?: readonly CallFlag[];
    readonly status?: number;
    readonly code?: number;
    readonly retry_after_s?: number;
    /** Outcome of a response that came when the caller had given up. */
    readonly late?: Outcome;
  };
}
export const TRANSCRIPTS: readonly Transcript[] = JSON.parse(
  readFileSync(new URL('../../cases/wire-open.json', import.meta.url), 'utf8'),
) as readonly Transcript[];

/** A client at a negotiated version. */
export interface Era {
  readonly name: string;
  readonly client: SdkClient;
  readonly version: string;
  /** Results get the `resultType` that servers of the version must give. */
  readonly dressed: boolean;
  readonly plays: (transcript: Transcript) => boolean;
}
const CURRENT = '2025-11-25';
const STATELESS = '2026-07-28';
const everything = (): boolean => true;
const batch = ({ id }: Transcript): boolean => id === 'W23';

/** The schema is looked at by the SDK once it has taken the result. */
const SCHEMA_BEFORE_TYPE: readonly string[] = ['W36', 'W37'];

export const ERAS: readonly Era[] = [
  { name: 'v1', client: 'v1', version: CURRENT, dressed: false, plays: everything },
  { name: 'v2', client: 'v2', version: CURRENT, dressed: false, plays: everything },
  { name: 'v2 at 2026', client: 'v2_2026', version: STATELESS, dressed: true, plays: everything },
  {
    name: 'v2 at 2026, no resultType',
    client: 'v2_2026',
    version: STATELESS,
    dressed: false,
    plays: (transcript) => !isDressed(transcript) && !SCHEMA_BEFORE_TYPE.includes(transcript.id),
  },
  { name: 'v1 at 2025-03-26', client: 'v1', version: '2025-03-26', dressed: false, plays: batch },
  { name: 'v2 at 2025-03-26', client: 'v2', version: '2025-03-26', dressed: false, plays: batch },
];

/** The eras that play every transcript: columns of the table. */
export const COLUMNS: readonly Era[] = ERAS.filter(({ plays }) => plays === everything);

/** What is played in no form in an era, with the reason. */
export interface LeftOut {
  readonly era: string;
  readonly ids: readonly string[] | 'all others';
  readonly why: string;
}
export const LEFT_OUT: readonly LeftOut[] = [
  {
    era: 'v2 at 2026, no resultType',
    ids: SCHEMA_BEFORE_TYPE,
    why: 'a result without `resultType` is refused by the SDK before it comes to the output schema, so nobody has checked the schema',
  },
  {
    era: 'v2 at 2026, no resultType',
    ids: 'all others',
    why: 'transcripts that have no result, or have its `resultType` already: the same bytes as in the era before',
  },
  {
    era: 'v1 and v2 at 2025-03-26',
    ids: 'all others',
    why: 'only the batch of W23 means something else before 2025-06-18',
  },
];

/** Puts `resultType` into results that have none, as 2026-07-28 demands. */
export function dress(reply: HttpReply): HttpReply {
  const chunks = reply.chunks?.map(
    ([delay, text]) =>
      [
        delay,
        String(text).replaceAll(/("result":\{)(?!"resultType"|\})/g, '$1"resultType":"complete",'),
      ] as const,
  );
  return chunks === undefined ? reply : { ...reply, chunks };
}
const isDressed = ({ reply }: Transcript): boolean => JSON.stringify(dress(reply)) === JSON.stringify(reply);

export interface Expected {
  readonly outcome: Outcome;
  readonly reason: Reason | undefined;
  readonly flags: readonly CallFlag[];
  readonly late: Outcome | undefined;
}

/** Reasons where the case names an outcome that has some, and not which. */
const REASONS: Readonly<Record<string, Reason>> = {
  W26: 'not_jsonrpc',
  W32: 'content',
  W33: 'content',
  W38: 'structured',
  W39: 'result_type',
  W45: 'not_jsonrpc',
};

/** Where an era differs from the case file, and why. */
export const AMENDMENTS: readonly {
  readonly id: string;
  readonly from?: string;
  readonly expect: Partial<Expected>;
  readonly why: string;
}[] = [
  {
    id: 'W18',
    expect: { flags: ['uncorrelated_rpc_error'] },
    why: 'its body is a JSON-RPC error without the id of the call, as in W16; the case file names no flags',
  },
  {
    id: 'W18',
    from: STATELESS,
    expect: { reason: undefined },
    why: 'there are no sessions since 2026-07-28, so none can be lost',
  },
  {
    id: 'W40',
    from: STATELESS,
    expect: { late: undefined },
    why: 'a client of 2026-07-28 closes the stream when it gives up: nothing can come late',
  },
  {
    id: 'W41',
    from: STATELESS,
    expect: { late: undefined },
    why: 'a client of 2026-07-28 closes the stream when it gives up: nothing can come late',
  },
];

/** What the span of this play must say, exactly. */
export function expectedOf({ id, expect: said }: Transcript, { version }: Era): Expected {
  const outcome = typeof said.outcome === 'string' ? said.outcome : forVersion(id, said.outcome, version);
  const succeeded = outcome === 'TOOL_SUCCESS';
  const expected: Expected = {
    outcome,
    reason: succeeded ? undefined : (said.reason ?? REASONS[id]),
    // It is on a span of its own: the call has ended.
    flags: (said.flags ?? []).filter((flag) => flag !== 'late_result'),
    late: said.late,
  };
  return AMENDMENTS.filter((amended) => amended.id === id && version >= (amended.from ?? '')).reduce(
    (sum, amended) => ({ ...sum, ...amended.expect }),
    expected,
  );
}

/** Keys are a version, or a range with `>=` or `<=` before it. */
function forVersion(id: string, outcomes: Readonly<Record<string, Outcome>>, version: string): Outcome {
  for (const [range, outcome] of Object.entries(outcomes)) {
    const [, operator = '', bound = ''] = /^([<>]=)?(.*)$/.exec(range) ?? [];
    if (operator === '' ? version === bound : operator === '>=' ? version >= bound : version <= bound)
      return outcome;
  }
  throw new Error(`${id} says nothing of ${version}`);
}

const SCHEMA = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };
/** Milliseconds until the caller gives up: before the late reply of W40, and on a busy machine after any other. */
const GIVING_UP_MS = { W40: 1200, others: 3000 };
/** For plays in which nobody is to give up. */
const PATIENT_MS = 15_000;
/** Plays that end when their caller gives up. */
const GIVEN_UP: ReadonlySet<string> = new Set('W01 W02 W03 W04 W05 W05b W22 W24 W40'.split(' '));

function timeoutOf({ id }: Transcript): number {
  if (id === 'W40') return GIVING_UP_MS.W40;
  return GIVEN_UP.has(id) ? GIVING_UP_MS.others : PATIENT_MS;
}

export const keyOf = ({ id }: Transcript, era: Era): string => `${id} ${era.name}`;

export function playOf(transcript: Transcript, era: Era): Play {
  const { cancelAfterMs, expect: said, outputSchema, reply } = transcript;
  return {
    key: keyOf(transcript, era),
    client: era.client,
    peer: {
      kind: 'http',
      reply: era.dressed ? dress(reply) : reply,
      sessionId: 's1',
      ...(era.version === '2025-03-26' ? { protocolVersion: era.version } : {}),
      ...(outputSchema === true ? { outputSchema: SCHEMA } : {}),
    },
    timeoutMs: timeoutOf(transcript),
    // Also takes an id, so that a reply with the id 0 is a stranger's in each era.
    listTools: true,
    ...(cancelAfterMs === undefined ? {} : { abortAfterMs: cancelAfterMs }),
    // What the client and the peer still have to say has been said when the client is closed.
    lingerMs: said.late !== undefined || GIVEN_UP.has(transcript.id) ? 2500 : 500,
  };
}
