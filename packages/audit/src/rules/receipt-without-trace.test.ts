import { expect, test } from 'vitest';
import { buildOperation, buildReceipt, visit } from '../testing.js';
import { receiptWithoutTrace } from './receipt-without-trace.js';

test('a receipt of a recorded call is fine', () => {
  expect(visit(receiptWithoutTrace, [buildOperation()])).toEqual([]);
});

test('receipts without any call are one finding at their places', () => {
  const receipts = [buildReceipt({ object: 'row-42' }), buildReceipt({ receiptId: 'r-2' })];
  const [finding, more] = visit(receiptWithoutTrace, [buildOperation({ calls: [], receipts })]);
  expect(finding).toMatchObject({
    level: 'warning',
    message: 'a receipt shows a change (row-42) of which no call was recorded',
  });
  expect(finding?.report.at).toHaveLength(2);
  expect(more).toBeUndefined();
});
