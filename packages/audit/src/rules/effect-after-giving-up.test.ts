import { describe, expect, test } from 'vitest';
import { buildCall, buildOperation, visit, type CallInput } from '../testing.js';
import { effectAfterGivingUp } from './effect-after-giving-up.js';

const find = (call: CallInput) => visit(effectAfterGivingUp, [buildOperation({ calls: [buildCall(call)] })]);
const gaveUpAt = (ms: number): CallInput['client'] => ({
  outcome: 'TIMEOUT',
  stages: { 'client.sent': 1, 'client.timeout': ms },
});

describe('effect-after-giving-up', () => {
  test.each<[claim: string, call: CallInput]>([
    ['a success', {}],
    ['the effect came first', { client: gaveUpAt(1000) }],
    ['a read', { effectKind: 'read', client: gaveUpAt(50) }],
    [
      'clocks that disagree compare nothing',
      {
        client: { outcome: 'TIMEOUT', stages: { 'client.sent': -3000, 'client.timeout': -2000 } },
        server: { stages: { 'server.received': -4000, 'server.effect_confirmed': 58 } },
      },
    ],
    ['no effect', { client: gaveUpAt(50), server: { stages: { 'server.received': 42 } } }],
  ])('valid: %s', (_claim, call) => {
    expect(find(call)).toEqual([]);
  });

  test('by the clocks it is a suspicion', () => {
    expect(find({ client: gaveUpAt(50) })).toMatchObject([
      { messageId: 'late', level: 'warning', certainty: 'suspected', report: { data: { ms: 8 } } },
    ]);
  });

  test('by the numbers of the server it is proven', () => {
    expect(
      find({
        client: { outcome: 'CANCELLED', stages: { 'client.sent': 1, 'client.cancelled': 43 } },
        server: {
          stages: {
            'server.received': 42,
            'server.effect_requested': 43,
            'server.cancel_received': 45,
            'server.effect_confirmed': 58,
          },
        },
      }),
    ).toMatchObject([{ messageId: 'cancelled', certainty: 'proven' }]);
  });
});
