import { describe, expect, test } from 'vitest';
import { buildCall, buildOperation, buildReceipt, visit, type OperationInput } from '../testing.js';
import { successWithoutReceipt } from './success-without-receipt.js';

const find = (...operations: readonly OperationInput[]) =>
  visit(successWithoutReceipt, operations.map(buildOperation)).map(({ messageId, level, operation }) => ({
    messageId,
    level,
    operation,
  }));

describe('success-without-receipt', () => {
  test.each<[claim: string, operation: OperationInput]>([
    ['a receipt that says applied', {}],
    ['nothing owed', { owesReceipt: 'no', receipts: [] }],
    [
      'an error owes no receipt',
      {
        receipts: [],
        calls: [buildCall({ client: { outcome: 'TOOL_ERROR' }, server: { outcome: 'TOOL_ERROR' } })],
      },
    ],
    ['a read owes no receipt', { receipts: [], calls: [buildCall({ effectKind: 'read' })] }],
  ])('valid: %s', (_claim, operation) => {
    expect(find(operation)).toEqual([]);
  });

  test.each<[claim: string, operation: OperationInput]>([
    ['no receipt at all', { receipts: [] }],
    ['a receipt that says failed', { receipts: [buildReceipt({ outcome: 'failed' })] }],
    ['a receipt that fails verification', { receipts: [buildReceipt({ verification: 'invalid' })] }],
    ['only the server recorded the success', { receipts: [], calls: [buildCall({ client: null })] }],
  ])('invalid: %s', (_claim, operation) => {
    expect(find(operation)).toMatchObject([{ messageId: 'missing', level: 'warning' }]);
  });

  test('inside the grace period the receipt is awaited', () => {
    expect(find({ receipts: [], action: 'wait' })).toMatchObject([{ messageId: 'awaited', level: 'info' }]);
  });

  test('without declared receipts there is one information finding per tool, on the smallest key', () => {
    const bare = { owesReceipt: 'undeclared', receipts: [] } as const;
    const found = find({ ...bare, key: 'b' }, { ...bare, key: 'a' }, { ...bare, key: 'c' });
    expect(found).toEqual([{ messageId: 'undeclared', level: 'info', operation: 'a' }]);
  });
});
