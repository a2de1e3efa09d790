import { describe, expect, test } from 'vitest';
import { buildOperation, buildReceipt, visit, type OperationInput } from '../testing.js';
import { receiptInvalid } from './receipt-invalid.js';

const find = (operation: OperationInput) => visit(receiptInvalid, [buildOperation(operation)]);

describe('receipt-invalid', () => {
  test.each<[claim: string, operation: OperationInput]>([
    ['an unsigned receipt that matches', {}],
    ['a conflict about parameters', { verdict: 'evidence_conflict', reason: 'same_key_different_params' }],
    ['an effect without a send', { verdict: 'evidence_conflict', reason: 'effect_without_send' }],
  ])('valid: %s', (_claim, operation) => {
    expect(find(operation)).toEqual([]);
  });

  test('a receipt that fails verification is told with its reason', () => {
    const receipts = [buildReceipt({ verification: 'invalid', problem: 'the signature does not match' })];
    expect(find({ verdict: 'evidence_conflict', reason: 'receipt_invalid', receipts })).toMatchObject([
      { level: 'error', message: 'receipt r-1 fails verification: the signature does not match' },
    ]);
  });

  test.each([
    'receipts_contradict',
    'target_contradicts_receipt',
    'receipt_says_done_target_says_no',
    'receipt_says_failed_target_says_done',
    'outbox_says_done_target_says_no',
  ])('the conflict "%s" is one of the receipt', (reason) => {
    expect(find({ verdict: 'evidence_conflict', reason })).toMatchObject([{ messageId: 'contradicted' }]);
  });
});
