import { describe, expect, test } from 'vitest';
import { buildOperation, buildReceipt, visit } from '../testing.js';
import { falseSuccess } from './false-success.js';

describe('false-success', () => {
  test('a verified change is none', () => {
    expect(visit(falseSuccess, [buildOperation()])).toEqual([]);
  });

  test('a failure receipt against a reported success is named with its place', () => {
    const [finding] = visit(falseSuccess, [
      buildOperation({ verdict: 'false_success', receipts: [buildReceipt({ outcome: 'failed' })] }),
    ]);
    expect(finding).toMatchObject({ messageId: 'receipt', level: 'error' });
    expect(finding?.report.at.map((place) => place.source)).toEqual(['s1', 's1', 'receipts']);
  });

  test('without a receipt the read of the target is the proof', () => {
    const at = { source: 'targets', line: 3 };
    const [finding] = visit(falseSuccess, [
      buildOperation({
        verdict: 'false_success',
        receipts: [],
        target: {
          object: 'row-42',
          state: 'todo',
          version: '1',
          fenced: false,
          relation: 'not_applied_observed',
          at,
        },
      }),
    ]);
    expect(finding?.messageId).toBe('target');
    expect(finding?.report.at).toContain(at);
  });
});
