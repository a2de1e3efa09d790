import {
  ATTR_FLAGS,
  ATTR_OUTCOME,
  ATTR_OUTCOME_REASON,
  ATTR_RPC_RESPONSE_STATUS_CODE,
  ATTR_SDK_ACCEPTED,
  ATTR_SDK_OUTCOME,
  ATTR_STAGES,
  ATTR_STAGE_SEQ,
  ATTR_STREAM_END,
  ATTR_STREAM_FINAL_RESPONSE,
  CLIENT_END_STAGES,
  STAGES,
  eventNameOf,
  type Stage,
} from '@waybill/core';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Observed } from './support/application.js';
import { comparableRequests, told } from './support/comparable.js';
import { measuredPart } from './support/page.js';
import { ATTR_HTTP_RESPONSE_STATUS_CODE, flagsOf, playAll, type PlayResult } from './support/peers.js';
import { transcriptPart, type PlayedTranscript } from './support/transcript-page.js';
import { ERAS, TRANSCRIPTS, expectedOf, keyOf, playOf } from './support/transcripts.js';

/**
 * The 47 transcripts of the field against the real SDK clients, in each era, spans read as they were exported.
 *
 *   WAYBILL_UPDATE_DOCS=1 npm run test:wire   writes the tables of docs/wire-cases.md
 */
const pairs = ERAS.flatMap((era) =>
  TRANSCRIPTS.filter((transcript) => era.plays(transcript)).map((transcript) => ({
    era,
    transcript,
    key: keyOf(transcript, era),
    title: transcript.title,
  })),
);

let on: ReadonlyMap<string, PlayResult>;
let off: ReadonlyMap<string, PlayResult>;
beforeAll(async () => {
  const plays = pairs.map(({ era, transcript }) => playOf(transcript, era));
  on = await playAll(plays, { plugin: true });
  off = await playAll(plays, { plugin: false });
}, 300_000);

function played(from: ReadonlyMap<string, PlayResult>, key: string): PlayResult {
  const found = from.get(key);
  if (found === undefined) throw new Error(`${key} was not played`);
  return found;
}

describe('the span of the call says what the transcript says, outcome, reason and flags', () => {
  it.each(pairs)('$key: $title', ({ era, key, transcript }) => {
    const { spans, late, observed } = played(on, key);
    expect(spans).toHaveLength(1);
    const attributes = spans[0]?.attributes ?? {};
    const seen = {
      outcome: attributes[ATTR_OUTCOME],
      reason: attributes[ATTR_OUTCOME_REASON],
      flags: flagsOf({ spans, late }),
      late: late[0]?.eventAttributes[0]?.[ATTR_OUTCOME],
    };
    expect(seen).toEqual(expectedOf(transcript, era));
    const { expect: said } = transcript;
    if (said.late !== undefined && seen.late !== undefined)
      expect(late[0]?.attributes[ATTR_FLAGS]).toEqual(['late_result']);
    if (said.status !== undefined) expect(attributes[ATTR_HTTP_RESPONSE_STATUS_CODE]).toBe(said.status);
    if (said.code !== undefined && said.late === undefined)
      expect(attributes[ATTR_RPC_RESPONSE_STATUS_CODE]).toBe(String(said.code));
    // Where the SDK told something else, the span says so, and whether the caller got a result.
    if (attributes[ATTR_SDK_OUTCOME] !== undefined)
      expect(attributes[ATTR_SDK_ACCEPTED]).toBe(observed.settled[0]?.result !== undefined);
  });
});

describe('stages are known words, one of them the end, and agree with the outcome', () => {
  const ends: readonly string[] = CLIENT_END_STAGES;
  const names = new Set<unknown>(STAGES.map(({ name }) => name));
  it.each(pairs)('$key', ({ key }) => {
    const [span] = played(on, key).spans;
    const stages = (span?.attributes[ATTR_STAGES] ?? []) as readonly Stage[];
    expect(stages.filter((stage) => !names.has(stage))).toEqual([]);
    expect(stages[0]).toBe('client.sent');
    expect(stages.filter((stage) => ends.includes(stage))).toHaveLength(1);
    expect(span?.events).toEqual(stages.map(eventNameOf));
    expect(span?.eventAttributes.map((attributes) => attributes[ATTR_STAGE_SEQ])).toEqual(
      stages.map((_, index) => index + 1),
    );
    const lost = span?.attributes[ATTR_OUTCOME] === 'STREAM_INCOMPLETE';
    if (lost) expect(span?.attributes[ATTR_STREAM_FINAL_RESPONSE]).toBe(false);
    // The client that gives up at 2026-07-28 closes the stream itself.
    const endedByPeer = !['open', 'aborted'].includes(String(span?.attributes[ATTR_STREAM_END]));
    expect(stages.includes('client.stream_closed')).toBe(lost && endedByPeer);
  });
});

/** Without what the client could not send or read any more when it was closed: that is up to the machine. */
function settledErrors(observed: Observed): Observed {
  const onerror = observed.onerror.filter((error) => !JSON.stringify(error).includes('AbortError'));
  return { ...observed, onerror };
}

describe('with the plugin and without, the caller is told the same and the peer gets the same requests', () => {
  it.each(pairs)('$key', ({ key }) => {
    const [with_, without] = [played(on, key), played(off, key)];
    expect(told(settledErrors(with_.observed))).toEqual(told(settledErrors(without.observed)));
    expect(comparableRequests(with_.requests)).toEqual(comparableRequests(without.requests));
  });
});

it('docs/wire-cases.md tells what each SDK told its caller', () => {
  measuredPart(
    'transcripts',
    transcriptPart(
      pairs.map(({ era, key, transcript }): PlayedTranscript => ({ era, transcript, ...played(on, key) })),
    ),
  );
});
