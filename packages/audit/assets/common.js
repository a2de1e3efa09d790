'use strict';
// What the report page and the live page share; it stands before the script of each.

/** The colour of a verdict, the same on both pages and in the terminal. */
const toneOf = {
  verified_done: 'good',
  no_effect_expected: 'good',
  verified_not_done: 'wait',
  not_delivered: 'wait',
  open: 'wait',
  executed_receipt_pending: 'wait',
  unknown_needs_reconciliation: 'doubt',
  insufficient_evidence: 'doubt',
  false_success: 'bad',
  duplicate_effect: 'bad',
  evidence_conflict: 'bad',
};

/** Characters that are not seen but reorder or hide others, written out. */
function shownText(text) {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u${character.codePointAt(0).toString(16).padStart(4, '0')}`,
  );
}
