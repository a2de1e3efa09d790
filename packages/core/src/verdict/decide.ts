/**
 * `decide`: evidence vector to verdict. Every value of every input is one bit, so that a row is two 32-bit masks and
 * matching is two comparisons; the same masks let a test visit the whole input space.
 */
import { EVIDENCE_INPUTS } from './types.js';
import type { Decision, EvidenceInput, EvidenceVector, VerdictCondition, VerdictRow } from './types.js';
import { VERDICT_ROWS } from './table.js';

/** Bits of input values: the 42 values of the eleven inputs in the order of `EVIDENCE_INPUTS`, 21 to a word. */
interface Mask {
  readonly low: number;
  readonly high: number;
}
const WORD_BITS = 21;
const INPUTS = Object.keys(EVIDENCE_INPUTS) as readonly EvidenceInput[];

const bits: ReadonlyMap<EvidenceInput, ReadonlyMap<unknown, number>> = (() => {
  let next = 0;
  return new Map(
    INPUTS.map((input) => [
      input,
      new Map<unknown, number>(EVIDENCE_INPUTS[input].map((value) => [value, next++])),
    ]),
  );
})();

function add(mask: Mask, bit: number): Mask {
  return bit < WORD_BITS
    ? { low: mask.low | (1 << bit), high: mask.high }
    : { low: mask.low, high: mask.high | (1 << (bit - WORD_BITS)) };
}

function bitOf(input: EvidenceInput, value: unknown): number {
  const bit = bits.get(input)?.get(value);
  if (bit === undefined) {
    throw new RangeError(
      `evidence input ${input} has no value ${String(value)}; allowed: ${EVIDENCE_INPUTS[input].join(', ')}`,
    );
  }
  return bit;
}

function maskOfCondition(when: VerdictCondition): Mask {
  let mask: Mask = { low: 0, high: 0 };
  for (const input of INPUTS) {
    for (const value of when[input] ?? EVIDENCE_INPUTS[input]) mask = add(mask, bitOf(input, value));
  }
  return mask;
}

interface CompiledRow {
  readonly mask: Mask;
  readonly decision: Decision;
}

function compile(row: VerdictRow): CompiledRow {
  const { id, title, verdict, reason, action } = row;
  return { mask: maskOfCondition(row.when), decision: { row: id, title, verdict, reason, action } };
}

const compiled: readonly CompiledRow[] = VERDICT_ROWS.map(compile);

/**
 * The verdict of one operation: the first row of the table whose condition holds. The table is total, so there is
 * always one. Equal vectors give the identical `Decision` object.
 *
 * @throws RangeError for a value that is not in the input's set, which types forbid.
 * @example
 * decide({ ...vector, target: 'applied_current', receipt: 'success_bound' }).verdict; // 'verified_done'
 */
export function decide(vector: EvidenceVector): Decision {
  let low = 0;
  let high = 0;
  for (const input of INPUTS) {
    const bit = bitOf(input, vector[input]);
    if (bit < WORD_BITS) low |= 1 << bit;
    else high |= 1 << (bit - WORD_BITS);
  }
  for (const { mask, decision } of compiled) {
    if ((low & mask.low) === low && (high & mask.high) === high) return decision;
  }
  throw new Error('the decision table is not total; this is a defect of the table');
}
