import {
  ATTR_OUTCOME,
  ATTR_OUTCOME_REASON,
  ATTR_RETRY_ORIGIN,
  ATTR_STAGES,
  METHOD_TOOLS_CALL,
  type Stage,
} from '@waybill/core';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ExportedSpan } from '../loading/harness.js';
import { DIFFERENCES, differencesOf, listedFor } from './support/cell-differences.js';
import { FAULTS_ON_THE_WIRE } from './support/cell-faults.js';
import { cellPart } from './support/cell-page.js';
import {
  CELLS,
  claimOf,
  expectedOf,
  nameOf,
  playKey,
  playOf,
  stagesInMatrix,
  wireOf,
  type Cell,
  type ExpectedCall,
} from './support/cells.js';
import { measuredPart } from './support/page.js';
import { ATTR_HTTP_RESPONSE_STATUS_CODE, flagsOf, playAll, type PlayResult } from './support/peers.js';

/**
 * The measured cells of test/cases/fault-matrix.json, with their bytes of test/cases/probes.json, against the real SDK
 * clients; cells of the same bytes, transport and SDK share a play.
 */
let all: ReadonlyMap<string, PlayResult>;
beforeAll(async () => {
  const plays = new Map(CELLS.map((cell) => [playKey(cell), playOf(cell)]));
  all = await playAll([...plays.values()], { plugin: true });
}, 300_000);

function played(cell: Cell): PlayResult {
  const found = all.get(playKey(cell));
  if (found === undefined) throw new Error(`${playKey(cell)} was not played`);
  return found;
}

const rows = CELLS.map((cell) => ({ cell, name: nameOf(cell), probe: cell.probe }));

const LATE: Stage = 'client.late_result';
function seenIn(span: ExportedSpan, late: readonly ExportedSpan[]): ExpectedCall {
  const { attributes } = span;
  const outcome = attributes[ATTR_OUTCOME] as ExpectedCall['outcome'];
  const flags = flagsOf({ spans: [span], late }) as ExpectedCall['flags'];
  const stages = (attributes[ATTR_STAGES] ?? []) as ExpectedCall['stages'];
  const status = attributes[ATTR_HTTP_RESPONSE_STATUS_CODE] as number | undefined;
  return {
    outcome,
    reason: attributes[ATTR_OUTCOME_REASON] as ExpectedCall['reason'],
    status: outcome === 'HTTP_ERROR' ? status : undefined,
    flags,
    // Whether a second response finds the span of the call open is up to the network.
    stages: flags.includes('duplicate_response') ? stages.filter((stage) => stage !== LATE) : stages,
  };
}

it('the matrix has 286 measured cells, and every row of the table here has one', () => {
  expect(CELLS).toHaveLength(286);
  const known = new Set(CELLS.map(wireOf));
  expect(Object.keys(FAULTS_ON_THE_WIRE).filter((wire) => !known.has(wire))).toEqual([]);
});

describe('what is expected of a cell is what its matrix says', () => {
  it.each(rows)('$name ($probe)', ({ cell }) => {
    const { calls, detail, outcome } = claimOf(cell);
    const { spans } = expectedOf(cell);
    const [last] = spans.slice(-1);
    expect(last?.outcome).toBe(outcome);
    if (detail !== undefined) expect(detail).toBe(String(last?.reason ?? last?.status));
    expect(spans.filter((span) => span.outcome === outcome)).toHaveLength(calls);
  });
});

describe('the spans of a cell say its outcome, reason, flags and stages', () => {
  it.each(rows)('$name ($probe)', ({ cell }) => {
    const { late, spans } = played(cell);
    const expected = expectedOf(cell);
    expect(spans.map((span) => seenIn(span, late))).toEqual(expected.spans);
    const afterTimeout = late.filter((span) => flagsOf({ spans: [], late: [span] }).length === 0);
    expect(afterTimeout.length > 0, 'a late result').toBe(expected.late);
    if (expected.spans.length > 1 && expected.spans[0]?.outcome === 'HTTP_ERROR')
      expect(spans.map(({ attributes }) => attributes[ATTR_RETRY_ORIGIN])).toEqual(['none', 'redirect']);
  });
});

describe('the SDK told its caller, and the peer got, what was measured before', () => {
  it.each(rows)('$name ($probe)', ({ cell }) => {
    const { observed, requests } = played(cell);
    const { code, sdk_error: error } = cell.sdk_surface;
    for (const settled of observed.settled) {
      expect(settled.error?.class).toBe(error);
      // The matrix has some codes as text.
      if (error !== undefined) expect(String(settled.error?.code ?? null)).toBe(String(code ?? null));
    }
    const calls = requests.filter(({ body }) => body.includes(`"${METHOD_TOOLS_CALL}"`));
    const { posts } = expectedOf(cell);
    if (posts !== undefined) expect(calls).toHaveLength(posts);
  });
});

describe('where the stages of the matrix do not hold is listed, and only there', () => {
  it.each(rows)('$name', ({ cell }) => {
    const { late, spans } = played(cell);
    const seen = spans.map((span) => seenIn(span, late));
    const postLeg = claimOf(cell).postLegError && !seen.some(({ flags }) => flags.includes('post_leg_error'));
    expect([
      ...differencesOf(stagesInMatrix(cell), seen),
      ...(postLeg ? ['settled_before_post'] : []),
    ]).toEqual(listedFor(cell));
  });

  it('every entry of the list names a cell', () => {
    const faults = new Set(CELLS.map(({ fault }) => fault));
    const named = DIFFERENCES.flatMap(({ cells }) => Object.keys(cells));
    expect(named.filter((fault) => !faults.has(fault))).toEqual([]);
  });
});

it('docs/wire-cases.md has the cells', () => {
  measuredPart('cells', cellPart(played));
});
