import { expect, test } from 'vitest';
import { buildCall, buildOperation, visit } from '../testing.js';
import { falseFailure } from './false-failure.js';

test('an error that is true is no false failure', () => {
  expect(
    visit(falseFailure, [buildOperation({ calls: [buildCall({ client: { outcome: 'TOOL_ERROR' } })] })]),
  ).toEqual([]);
});

test('an error over a change that was made names the outcome and the receipt', () => {
  const [finding] = visit(falseFailure, [
    buildOperation({ flags: ['false_failure'], calls: [buildCall({ client: { outcome: 'TOOL_ERROR' } })] }),
  ]);
  expect(finding).toMatchObject({
    level: 'warning',
    message: 'set_status answered TOOL_ERROR, and the change was made all the same',
  });
  expect(finding?.report.at.at(-1)?.source).toBe('receipts');
});
