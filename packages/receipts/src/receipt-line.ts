import { RECEIPT_VERSION, signReceipt } from '@waybill/core';
import type { PlainReceipt, ReceiptStatement, Signer } from '@waybill/core';
import { digestOf } from './digest.js';
import type { ReceiptFacts } from './types.js';

/** How facts become a line: who speaks, and whether it is signed. */
export interface Speaker {
  readonly service: string;
  readonly instance: string;
  readonly signer: Signer | undefined;
  readonly digestKey: Uint8Array | undefined;
}

/**
 * One receipt as one line: with a signer the statement `waybill/receipt/1` in its envelope, digests only; without one
 * a plain receipt that shows the values.
 *
 * @throws TypeError when a signed receipt would not be bound to a target version.
 */
export async function receiptLine(facts: ReceiptFacts, speaker: Speaker): Promise<string> {
  return speaker.signer === undefined
    ? JSON.stringify(plain(facts, speaker.service))
    : signReceipt(statement(facts, speaker, speaker.signer.keyId), speaker.signer);
}

function plain(facts: ReceiptFacts, source: string): PlainReceipt {
  return {
    receipt_id: facts.receiptId,
    ...optional('effect_id', facts.effectId),
    operation_id: facts.operationId,
    ...optional('call_id', facts.callId),
    ...optional('run_id', facts.runId),
    attempt: facts.attempt,
    system: facts.target.system,
    object: facts.target.id,
    ...optional('expected', facts.expected),
    ...optional('observed', facts.observed),
    ...optional('version', facts.version),
    stage: facts.stage,
    result: facts.outcome,
    at: facts.effectAt,
    source,
  };
}

function statement(facts: ReceiptFacts, speaker: Speaker, keyId: string): ReceiptStatement {
  const { target } = facts;
  const digest = (value: unknown): string | undefined =>
    value === undefined ? undefined : digestOf(value, speaker.digestKey);
  return {
    v: RECEIPT_VERSION,
    receipt_id: facts.receiptId,
    ...optional('effect_id', facts.effectId),
    operation_id: facts.operationId,
    attempt: facts.attempt,
    outcome: facts.outcome,
    stage: facts.stage,
    params_hash: facts.paramsHash,
    target: {
      system: target.system,
      ...optional('type', target.type),
      id: target.id,
      ...optional('expected_hash', digest(facts.expected)),
      ...optional('observed_version', facts.version),
      ...optional('observed_hash', digest(facts.observed)),
    },
    source: { service: speaker.service, instance: speaker.instance, key_id: keyId },
    ...optional('run_id', facts.runId),
    ...optional('call_id', facts.callId),
    effect_at: facts.effectAt,
    observed_at: facts.observedAt,
  };
}

function optional<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: V };
}
