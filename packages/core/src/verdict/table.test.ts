import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { ACTIONS, VERDICTS } from '../semconv/index.js';
import { decide } from './decide.js';
import { VERDICT_ROWS } from './table.js';
import { EVIDENCE_INPUTS } from './types.js';
import type { Decision, EvidenceInput, EvidenceVector } from './types.js';

const published = JSON.parse(
  readFileSync(new URL('../../../../test/cases/verdict-table.json', import.meta.url), 'utf8'),
) as { inputs: unknown; rows: unknown; invariants: readonly string[] };

const inputs = Object.keys(EVIDENCE_INPUTS) as EvidenceInput[];
const sizes = inputs.map((input) => EVIDENCE_INPUTS[input].length);
const SPACE = sizes.reduce((product, size) => product * size, 1);
/** Distance between two neighbours of one input in the enumeration; the last input varies fastest. */
const strides = sizes.map((_, i) => sizes.slice(i + 1).reduce((product, size) => product * size, 1));

/** Index of the deciding row and the vector's value numbers, for every vector, once. */
const rowOf = new Uint8Array(SPACE);
const digit = inputs.map(() => new Uint8Array(SPACE));
const rowIndex = new Map(VERDICT_ROWS.map((row, i) => [row.id, i]));

function vectorAt(index: number): EvidenceVector {
  return Object.fromEntries(
    inputs.map((input, i) => [
      input,
      EVIDENCE_INPUTS[input][Math.floor(index / (strides[i] ?? 1)) % (sizes[i] ?? 1)],
    ]),
  ) as EvidenceVector;
}

/** The value numbers of one input, and the number of one value. */
function column(input: EvidenceInput): Uint8Array {
  return digit[inputs.indexOf(input)] ?? new Uint8Array(0);
}
function number(input: EvidenceInput, value: unknown): number {
  const found = (EVIDENCE_INPUTS[input] as readonly unknown[]).indexOf(value);
  if (found < 0) throw new Error(`${input} has no ${String(value)}`);
  return found;
}
/** A predicate over indexes: the input has one of the values. */
function has(input: EvidenceInput, ...values: unknown[]): (index: number) => boolean {
  const numbers = column(input);
  const wanted = EVIDENCE_INPUTS[input].map((value) => values.includes(value));
  for (const value of values) number(input, value);
  return (index) => wanted[numbers[index] ?? 255] ?? false;
}
/** The neighbour of a vector with another value of one input. */
function changed(index: number, input: EvidenceInput, value: unknown): number {
  const stride = strides[inputs.indexOf(input)] ?? 0;
  return index + (number(input, value) - (column(input)[index] ?? 0)) * stride;
}
function rowHas(predicate: (row: (typeof VERDICT_ROWS)[number]) => boolean): (index: number) => boolean {
  const holds = VERDICT_ROWS.map(predicate);
  return (index) => holds[rowOf[index] ?? 255] ?? false;
}
function violations(broken: (index: number) => boolean): EvidenceVector[] {
  const found: EvidenceVector[] = [];
  for (let i = 0; i < SPACE && found.length < 3; i++) if (broken(i)) found.push(vectorAt(i));
  return found;
}

beforeAll(() => {
  const work: Record<string, unknown> = {};
  for (let i = 0; i < SPACE; i++) {
    for (let k = 0; k < inputs.length; k++) {
      const input = inputs[k];
      const values = digit[k];
      if (input === undefined || values === undefined) continue;
      const value = Math.floor(i / (strides[k] ?? 1)) % (sizes[k] ?? 1);
      values[i] = value;
      work[input] = EVIDENCE_INPUTS[input][value];
    }
    rowOf[i] = rowIndex.get(decide(work as unknown as EvidenceVector).row) ?? 255;
  }
});

describe('the decision table', () => {
  it('is the published table, inputs and rows', () => {
    expect({ inputs: EVIDENCE_INPUTS, rows: VERDICT_ROWS }).toEqual({
      inputs: published.inputs,
      rows: published.rows,
    });
  });

  it('has 40 rows with distinct ids and uses only known verdicts and actions', () => {
    expect(new Set(VERDICT_ROWS.map((row) => row.id)).size).toBe(40);
    const verdicts = VERDICTS.map((definition) => definition.verdict);
    for (const row of VERDICT_ROWS) {
      expect(verdicts).toContain(row.verdict);
      expect(ACTIONS).toContain(row.action);
    }
  });

  it('decides every one of the 435,456 vectors, by the first row whose condition holds', () => {
    expect(SPACE).toBe(435_456);
    expect(rowOf.includes(255)).toBe(false);
    // The masks against a plain reading of the conditions, on a spread of vectors (a prime step visits all values).
    for (let i = 0; i < SPACE; i += 97) {
      const vector = vectorAt(i);
      const plain = VERDICT_ROWS.findIndex((row) =>
        inputs.every(
          (input) => (row.when[input] as readonly unknown[] | undefined)?.includes(vector[input]) ?? true,
        ),
      );
      expect(rowOf[i]).toBe(plain);
    }
  });

  it('has no dead row', () => {
    const alive = new Set(rowOf);
    expect(VERDICT_ROWS.filter((_, i) => !alive.has(i)).map((row) => row.id)).toEqual([]);
  });

  it('refuses a value that is not in the set, and says which values are', () => {
    expect(() => decide({ ...vectorAt(0), target: 'gone' } as unknown as EvidenceVector)).toThrow(
      /target has no value gone; allowed: unreadable/,
    );
  });

  it('gives the decision of the row', () => {
    const expected: Decision = {
      row: 'D1',
      title: 'target and receipt agree',
      verdict: 'verified_done',
      reason: 'target_and_receipt',
      action: 'none',
    };
    expect(
      decide({
        target: 'applied_current',
        receipt: 'success_bound',
        client: 'timeout',
        server: 'effect_confirmed',
        kind: 'effect',
        params: 'same',
        effects: 'at_most_one',
        inflight: 'none',
        retryable: false,
        read_back_required: false,
        grace: 'past',
      }),
    ).toEqual(expected);
  });
});

describe('invariants, on every vector', () => {
  const done = rowHas((row) => row.verdict === 'verified_done');
  const repeats = rowHas((row) => row.action === 'retry_same_operation_id');
  const notDelivered = rowHas((row) => row.verdict === 'not_delivered');
  let applied: (index: number) => boolean;
  let effect: (index: number) => boolean;
  let success: (index: number) => boolean;
  beforeAll(() => {
    applied = has('target', 'applied_current', 'applied_superseded');
    effect = has('kind', 'effect');
    success = has('receipt', 'success_bound', 'success_unbound');
  });

  it('are the eight that the table names', () => {
    expect(published.invariants).toHaveLength(8);
  });

  it('1: verified_done needs a success receipt, one parameter set, no second effect, and the target applied or unread', () => {
    const one = has('params', 'same');
    const second = has('effects', 'two_or_more');
    const seen = has('target', 'applied_current', 'applied_superseded', 'unreadable');
    expect(violations((i) => done(i) && !(success(i) && one(i) && !second(i) && seen(i)))).toEqual([]);
  });

  it('2: a repeat needs one parameter set, nothing in flight, no receipt, no success told, and a fence with a deduplicating target or not_delivered', () => {
    const one = has('params', 'same');
    const still = has('inflight', 'none');
    const none = has('receipt', 'none');
    const told = has('client', 'success');
    const fenced = has('target', 'not_applied_proven');
    const retryable = has('retryable', true);
    expect(
      violations(
        (i) =>
          repeats(i) &&
          !(one(i) && still(i) && none(i) && !told(i) && ((fenced(i) && retryable(i)) || notDelivered(i))),
      ),
    ).toEqual([]);
  });

  it('3: an applied target never leads to a repeat, not_delivered, false_success or verified_not_done', () => {
    const denied = rowHas((row) =>
      ['not_delivered', 'false_success', 'verified_not_done'].includes(row.verdict),
    );
    expect(violations((i) => applied(i) && (repeats(i) || denied(i)))).toEqual([]);
  });

  it('4: timeout with a merely observed not-applied target never leads to a repeat', () => {
    const observed = has('target', 'not_applied_observed');
    const timeout = has('client', 'timeout');
    expect(violations((i) => timeout(i) && observed(i) && repeats(i))).toEqual([]);
  });

  it('5: a late success receipt never creates a repeat and turns an applied target into verified_done', () => {
    const none = has('receipt', 'none');
    const counted = has('effects', 'two_or_more');
    const different = has('params', 'different');
    expect(
      violations((i) => {
        if (!none(i)) return false;
        const later = changed(i, 'receipt', 'success_bound');
        if (repeats(later)) return true;
        return applied(i) && effect(i) && !counted(i) && !different(i) && !done(later);
      }),
    ).toEqual([]);
  });

  it('6: verified_done survives a later change of the target', () => {
    const current = has('target', 'applied_current');
    expect(
      violations((i) => current(i) && done(i) && !done(changed(i, 'target', 'applied_superseded'))),
    ).toEqual([]);
  });

  it('7: losing server or client events never leads to verified_done, not_delivered or a repeat that was not there before', () => {
    const contradiction = rowHas((row) => row.id === 'X2a' || row.id === 'X2b');
    const worse = (before: number, after: number): boolean =>
      (done(after) && !done(before)) ||
      (notDelivered(after) && !notDelivered(before)) ||
      (repeats(after) && !repeats(before));
    const losses: readonly [EvidenceInput, string, readonly string[]][] = [
      ['server', 'effect_confirmed', ['effect_requested', 'received', 'none']],
      ['server', 'effect_requested', ['received', 'none']],
      ['server', 'received', ['none']],
      ['client', 'success', ['sent_only', 'no_trace']],
      ['client', 'error', ['sent_only', 'no_trace']],
      ['client', 'timeout', ['sent_only', 'no_trace']],
      ['client', 'sent_only', ['no_trace']],
      ['client', 'not_sent', ['no_trace']],
    ];
    // F1 (told success, a fence says no) advises a repeat after a read back; with its reply lost, R1 advises the repeat
    // that the same fence makes safe. That is the one pair where a partial loss changes the word.
    const fencedFalseSuccess = rowHas((row) => row.id === 'F1');
    const fencedRepeat = rowHas((row) => row.id === 'R1');
    for (const [input, from, afters] of losses) {
      const seen = has(input, from);
      for (const to of afters) {
        const found = violations((i) => {
          if (!seen(i) || contradiction(i)) return false;
          const after = changed(i, input, to);
          if (fencedFalseSuccess(i) && fencedRepeat(after)) return false;
          return worse(i, after);
        });
        expect(found, `${input} ${from} -> ${to}`).toEqual([]);
      }
    }
  });

  it('8: executed_receipt_pending needs an applied target or a committed outbox row', () => {
    const pending = rowHas((row) => row.verdict === 'executed_receipt_pending');
    const outbox = has('receipt', 'pending_outbox');
    expect(violations((i) => pending(i) && !(applied(i) || outbox(i)))).toEqual([]);
  });
});
