/**
 * What the audit backend says of an operation: the attributes of its log events and of its verdict spans. No span of an
 * application carries them; the Collector takes them on a receiver of their own, whose list of names is checked against
 * this one.
 */
import type { AttributeDefinition } from './attributes.js';
import { VERDICTS } from './verdicts.js';

/** Log event: the verdict of an operation that is new or has changed. */
export const EVENT_VERDICT = 'waybill.verdict';
/** Log event: a finding that was not there before. */
export const EVENT_FINDING = 'waybill.finding';

export const ATTR_EVENT_ID = 'waybill.event.id';
export const ATTR_OPERATION_KEY = 'waybill.operation.key';
export const ATTR_VERDICT = 'waybill.verdict';
export const ATTR_VERDICT_PREVIOUS = 'waybill.verdict.previous';
export const ATTR_VERDICT_REVISION = 'waybill.verdict.revision';
export const ATTR_VERDICT_RULE = 'waybill.verdict.rule';
export const ATTR_VERDICT_REASON = 'waybill.verdict.reason';
export const ATTR_VERDICT_ACTION = 'waybill.verdict.action';
export const ATTR_VERDICT_TOLD = 'waybill.verdict.told';
export const ATTR_VERDICT_EFFECT = 'waybill.verdict.effect';
export const ATTR_VERDICT_EVIDENCE = 'waybill.verdict.evidence';
export const ATTR_VERDICT_ASSURANCE = 'waybill.verdict.assurance';
export const ATTR_VERDICT_FLAGS = 'waybill.verdict.flags';
export const ATTR_VERDICT_FINDINGS = 'waybill.verdict.findings';
export const ATTR_FINDING_RULE = 'waybill.finding.rule';
export const ATTR_FINDING_LEVEL = 'waybill.finding.level';
export const ATTR_FINDING_CERTAINTY = 'waybill.finding.certainty';
export const ATTR_FINDING_FINGERPRINT = 'waybill.finding.fingerprint';
export const ATTR_FINDING_EVIDENCE = 'waybill.finding.evidence';

const BOTH = 'verdict events, finding events';
const VERDICT = 'verdict events, verdict spans';
const EVENTS = 'verdict events';
const FINDING = 'finding events';

/** Beside these the events carry `waybill.operation.id`, `waybill.run.id`, `waybill.call.id` and `gen_ai.tool.name`. */
export const JUDGEMENT_ATTRIBUTES: readonly AttributeDefinition[] = [
  {
    key: ATTR_EVENT_ID,
    type: 'string',
    where: BOTH,
    brief: 'The same when the same change is sent again: a receiver can tell a repetition.',
  },
  {
    key: ATTR_OPERATION_KEY,
    type: 'string',
    where: `${BOTH}, verdict spans`,
    brief: 'By what the operation was put together: its id, else that of the call, else that of the span.',
  },
  {
    key: ATTR_VERDICT,
    type: 'string',
    where: VERDICT,
    brief: 'What is proven.',
    values: VERDICTS.map(({ verdict }) => verdict),
  },
  { key: ATTR_VERDICT_PREVIOUS, type: 'string', where: EVENTS, brief: 'The verdict that was said before.' },
  {
    key: ATTR_VERDICT_REVISION,
    type: 'int',
    where: EVENTS,
    brief: 'From 1; the highest of an operation holds.',
  },
  { key: ATTR_VERDICT_RULE, type: 'string', where: VERDICT, brief: 'Row of the decision table.' },
  { key: ATTR_VERDICT_REASON, type: 'string', where: VERDICT, brief: 'Why that row applies.' },
  { key: ATTR_VERDICT_ACTION, type: 'string', where: VERDICT, brief: 'What to do about the operation.' },
  { key: ATTR_VERDICT_TOLD, type: 'string', where: VERDICT, brief: 'What the caller was told.' },
  { key: ATTR_VERDICT_EFFECT, type: 'string', where: VERDICT, brief: 'What is known of the effect.' },
  { key: ATTR_VERDICT_EVIDENCE, type: 'string', where: VERDICT, brief: 'State of the evidence.' },
  { key: ATTR_VERDICT_ASSURANCE, type: 'string', where: VERDICT, brief: 'How firm the receipt is.' },
  { key: ATTR_VERDICT_FLAGS, type: 'string[]', where: EVENTS, brief: 'Flags of the operation.' },
  {
    key: ATTR_VERDICT_FINDINGS,
    type: 'string[]',
    where: VERDICT,
    brief: 'Rules of all findings that hold now.',
  },
  { key: ATTR_FINDING_RULE, type: 'string', where: FINDING, brief: 'Id of the rule.' },
  {
    key: ATTR_FINDING_LEVEL,
    type: 'string',
    where: FINDING,
    brief: 'How grave it is.',
    values: ['error', 'warning', 'info'],
  },
  {
    key: ATTR_FINDING_CERTAINTY,
    type: 'string',
    where: FINDING,
    brief: 'Whether the evidence leaves another explanation.',
    values: ['proven', 'suspected'],
  },
  {
    key: ATTR_FINDING_FINGERPRINT,
    type: 'string',
    where: FINDING,
    brief: 'The same for the same finding, in every report.',
  },
  {
    key: ATTR_FINDING_EVIDENCE,
    type: 'string[]',
    where: FINDING,
    brief: 'Spans and receipts by their ids, else places in the files of the audit backend.',
  },
];
