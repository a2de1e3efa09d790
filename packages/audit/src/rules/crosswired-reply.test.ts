import { ATTR_REPLY_CALL_ID, ATTR_RESULT_DIGEST } from '@waybill/core';
import { describe, expect, test } from 'vitest';
import { buildCall, buildOperation, visit, type CallInput } from '../testing.js';
import { crosswiredReply } from './crosswired-reply.js';

const find = (call: CallInput) => visit(crosswiredReply, [buildOperation({ calls: [buildCall(call)] })]);
const digest = (value: string) => ({ attributes: { [ATTR_RESULT_DIGEST]: value } });
const named = (value: string) => ({ attributes: { [ATTR_REPLY_CALL_ID]: value } });
const swapped: CallInput = { client: digest('b'), server: digest('a') };

describe('crosswired-reply', () => {
  test.each<[claim: string, call: CallInput]>([
    ['no digests', {}],
    ['equal digests', { client: digest('a'), server: digest('a') }],
    ['the client recorded none', { server: digest('a') }],
    ['nothing was received', { ...swapped, client: { outcome: 'TIMEOUT', ...digest('b') } }],
    ['the reply names this very call', { client: named('c-1') }],
    [
      'a reply that names another call, which nobody received',
      { client: { outcome: 'TIMEOUT', ...named('c-2') } },
    ],
    ['the request arrived twice', { ...swapped, deliveries: [{ source: 's1' }, { source: 's1' }] }],
  ])('valid: %s', (_claim, call) => {
    expect(find(call)).toEqual([]);
  });

  test.each<[claim: string, call: CallInput]>([
    ['there is no record of the server', { client: named('c-2') }],
    ['there is one', { client: named('c-2'), server: {} }],
    [
      'the digests are equal',
      {
        client: { attributes: { ...digest('a').attributes, ...named('c-2').attributes } },
        server: digest('a'),
      },
    ],
    ['the request arrived twice', { client: named('c-2'), deliveries: [{ source: 's1' }, { source: 's1' }] }],
  ])('invalid: the reply names another call, and %s', (_claim, call) => {
    expect(find(call)).toMatchObject([
      { level: 'error', certainty: 'proven', callId: 'c-1', message: expect.stringContaining('call c-2') },
    ]);
  });

  test('invalid: the digests of one call differ', () => {
    expect(find(swapped)).toMatchObject([{ level: 'error', certainty: 'proven', callId: 'c-1' }]);
  });
});
