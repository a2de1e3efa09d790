/**
 * How many effects one operation had: an interval, found by counting. A world is one way it may have been: every
 * confirmed effect happened once, every open attempt did or did not add an effect of its own. The interval spans the
 * worlds that the target read leaves possible; that it does is tested against an enumeration of the worlds.
 */
import type { EvidenceValue } from './types.js';

/** What a read of the target says about the number of effects of this operation, and only of this operation. */
export type TargetCount =
  | { readonly kind: 'unread' }
  /** No effect, and a fence keeps it so. A read without a fence proves nothing here: pass `unread`. */
  | { readonly kind: 'absent_fenced' }
  /** At least one effect is there. */
  | { readonly kind: 'exists' }
  /** The target counts the effects of this operation, for instance by a unique effect id. */
  | { readonly kind: 'count'; readonly count: number };

export interface EffectEvidence {
  /**
   * Ids of effects that are confirmed: by a receipt that carries an effect id, or by a row of the target. Repeats are
   * counted once, so a receipt delivered twice or an attempt answered from the store adds nothing.
   */
  readonly confirmed: readonly string[];
  /** Attempts that are neither confirmed nor refuted. */
  readonly openAttempts: number;
  readonly target: TargetCount;
  /**
   * True when the target keeps at most one effect per operation (a unique key on the operation id): an open attempt
   * then adds nothing to an effect that is there. It does not argue with confirmed effects.
   */
  readonly deduplicates: boolean;
}

export interface EffectCount {
  readonly atLeast: number;
  readonly atMost: number;
  /** No world fits: target and receipts contradict each other. The interval then covers both claims. */
  readonly contradiction: boolean;
}

/** Counts the effects of one operation; O(attempts), no search. */
export function countEffects(evidence: EffectEvidence): EffectCount {
  const confirmed = new Set(evidence.confirmed).size;
  const open = evidence.openAttempts;
  const possible = confirmed + (evidence.deduplicates ? Math.min(open, confirmed === 0 ? 1 : 0) : open);
  const { target } = evidence;
  switch (target.kind) {
    case 'unread':
      return { atLeast: confirmed, atMost: possible, contradiction: false };
    case 'absent_fenced':
      return pinned(confirmed, possible, 0);
    case 'exists':
      return possible === 0
        ? { atLeast: 0, atMost: 1, contradiction: true }
        : { atLeast: Math.max(confirmed, 1), atMost: possible, contradiction: false };
    case 'count':
      break;
  }
  return pinned(confirmed, possible, target.count);
}

function pinned(confirmed: number, possible: number, count: number): EffectCount {
  return count >= confirmed && count <= possible
    ? { atLeast: count, atMost: count, contradiction: false }
    : { atLeast: Math.min(confirmed, count), atMost: Math.max(possible, count), contradiction: true };
}

/** The `effects` input of the decision table: two or more are proven, at most one is possible, or neither. */
export function effectsInput(count: Pick<EffectCount, 'atLeast' | 'atMost'>): EvidenceValue<'effects'> {
  if (count.atLeast >= 2) return 'two_or_more';
  return count.atMost <= 1 ? 'at_most_one' : 'cannot_tell';
}
