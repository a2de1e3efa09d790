import { ATTR_SDK_ACCEPTED, ATTR_SDK_OUTCOME } from '@waybill/core';
import { describe, expect, test } from 'vitest';
import { buildCall, buildOperation, visit, type CallInput } from '../testing.js';
import { maskedOutcome } from './masked-outcome.js';

const find = (call: CallInput) => visit(maskedOutcome, [buildOperation({ calls: [buildCall(call)] })]);

describe('masked-outcome', () => {
  test.each<[claim: string, call: CallInput]>([
    ['a success that both sides saw', {}],
    [
      'an invalid result that the SDK refused',
      { client: { outcome: 'INVALID_TOOL_RESULT', reason: 'content' } },
    ],
    [
      'a lost stream that the SDK told as a timeout',
      { client: { outcome: 'STREAM_INCOMPLETE', attributes: { [ATTR_SDK_OUTCOME]: 'TIMEOUT' } } },
    ],
    ['a success of which the server left no record', { server: null }],
  ])('valid: %s', (_claim, call) => {
    expect(find(call)).toEqual([]);
  });

  test.each<[claim: string, attributes: Readonly<Record<string, unknown>>]>([
    ['accepted', { [ATTR_SDK_ACCEPTED]: true }],
    ['told as success', { [ATTR_SDK_OUTCOME]: 'TOOL_SUCCESS' }],
  ])('invalid: an invalid result that the SDK %s', (_claim, attributes) => {
    expect(find({ client: { outcome: 'INVALID_ENVELOPE', reason: 'batch', attributes } })).toMatchObject([
      { messageId: 'accepted', level: 'warning', certainty: 'proven' },
    ]);
  });

  test('a foreign client span that looks fine over a tool error is a suspicion', () => {
    expect(
      find({ client: { outcome: 'TOOL_SUCCESS', source: 'derived' }, server: { outcome: 'TOOL_ERROR' } }),
    ).toMatchObject([{ messageId: 'sides', level: 'warning', certainty: 'suspected' }]);
  });

  test('where both sides saw the wire, one record is wrong and neither is blamed', () => {
    expect(find({ server: { outcome: 'TOOL_ERROR' } })).toMatchObject([
      { messageId: 'sides', level: 'info' },
    ]);
  });
});
