export interface VerdictDefinition {
  readonly verdict: string;
  /** What is proven when it is given. */
  readonly proven: string;
}
const rows = [
  {
    verdict: 'verified_done',
    proven:
      'Exactly one effect; a matching receipt, bound to target and version; the target agrees where it was read.',
  },
  {
    verdict: 'verified_not_done',
    proven: 'Nothing was applied: a failure receipt, or a fenced target, says so.',
  },
  {
    verdict: 'executed_receipt_pending',
    proven: 'The target shows the effect, its receipt is not there. Never execute again, however late.',
  },
  { verdict: 'no_effect_expected', proven: 'A read, ended.' },
  { verdict: 'not_delivered', proven: 'It provably never reached the server.' },
  {
    verdict: 'false_success',
    proven: 'The caller was told success; a failure receipt or a target read says no.',
  },
  { verdict: 'duplicate_effect', proven: 'Two or more effects of one operation.' },
  {
    verdict: 'evidence_conflict',
    proven: 'Verified evidence contradicts itself, fails verification, or one key has two parameter sets.',
  },
  { verdict: 'open', proven: 'In flight, waiting for input or a task, or inside the grace period.' },
  { verdict: 'unknown_needs_reconciliation', proven: 'More than one world fits.' },
  { verdict: 'insufficient_evidence', proven: 'What would decide it was never recorded or was lost.' },
] as const;
export type Verdict = (typeof rows)[number]['verdict'];
export const VERDICTS: readonly VerdictDefinition[] = rows;

export const ACTIONS = [
  'none',
  'retry_same_operation_id',
  'read_back',
  'read_back_then_retry',
  'fence_then_retry',
  'wait',
  'continue_with_input',
  'fix_request',
  'replay_receipt',
  'escalate',
] as const;
export type Action = (typeof ACTIONS)[number];

export const ASSURANCES = ['none', 'unsigned', 'signed', 'appended', 'sealed'] as const;
export type Assurance = (typeof ASSURANCES)[number];
export const EFFECT_STATES = ['applied', 'not_applied', 'partial', 'unknown'] as const;
export type EffectState = (typeof EFFECT_STATES)[number];
export const EVIDENCE_STATES = ['complete', 'pending', 'lost', 'conflicting'] as const;
export type EvidenceState = (typeof EVIDENCE_STATES)[number];
