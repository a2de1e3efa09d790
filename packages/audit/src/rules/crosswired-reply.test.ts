import { ATTR_RESULT_DIGEST } from '@waybill/core';
import { describe, expect, test } from 'vitest';
import { buildCall, buildOperation, visit, type CallInput } from '../testing.js';
import { crosswiredReply } from './crosswired-reply.js';

const find = (call: CallInput) => visit(crosswiredReply, [buildOperation({ calls: [buildCall(call)] })]);
const digest = (value: string) => ({ attributes: { [ATTR_RESULT_DIGEST]: value } });
const swapped: CallInput = { client: digest('b'), server: digest('a') };

describe('crosswired-reply', () => {
  test.each<[claim: string, call: CallInput]>([
    ['no digests', {}],
    ['equal digests', { client: digest('a'), server: digest('a') }],
    ['the client recorded none', { server: digest('a') }],
    ['nothing was received', { ...swapped, client: { outcome: 'TIMEOUT', ...digest('b') } }],
    ['the request arrived twice', { ...swapped, deliveries: [{ source: 's1' }, { source: 's1' }] }],
  ])('valid: %s', (_claim, call) => {
    expect(find(call)).toEqual([]);
  });

  test('invalid: the digests of one call differ', () => {
    expect(find(swapped)).toMatchObject([{ level: 'error', certainty: 'proven', callId: 'c-1' }]);
  });
});
