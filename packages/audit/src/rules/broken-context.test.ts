import { describe, expect, test } from 'vitest';
import { buildCall, buildOperation, visit, type CallInput } from '../testing.js';
import { brokenContext } from './broken-context.js';

const find = (call: CallInput) =>
  visit(brokenContext, [buildOperation({ calls: [buildCall(call)] })]).map((finding) => finding.messageId);
const other = 'f'.repeat(32);

describe('broken-context', () => {
  test.each<[claim: string, call: CallInput]>([
    ['both sides in one trace', {}],
    ['one side only', { client: null, server: { traceId: other } }],
  ])('valid: %s', (_claim, call) => {
    expect(find(call)).toEqual([]);
  });

  test('invalid: client and server in two traces', () => {
    expect(find({ server: { traceId: other } })).toEqual(['split']);
  });

  test('invalid: the parent had ended before', () => {
    expect(find({ server: { extra: { parentEnded: { source: 's1', line: 7 } } } })).toEqual(['stale']);
  });
});
