import { expect, test } from 'vitest';
import { buildOperation, buildReceipt, visit } from '../testing.js';
import { receiptUnbound } from './receipt-unbound.js';

test('a bound receipt is fine, and so is one of which that is not known', () => {
  const { bound: _bound, ...unknown } = buildReceipt();
  expect(visit(receiptUnbound, [buildOperation(), buildOperation({ receipts: [unknown] })])).toEqual([]);
});

test('a receipt without target or version is told by its id', () => {
  const [finding] = visit(receiptUnbound, [buildOperation({ receipts: [buildReceipt({ bound: false })] })]);
  expect(finding?.message).toContain('receipt r-1 names no target id or no version');
});
