import { describe, expect, test } from 'vitest';
import { buildCall, buildOperation, visit, type CallInput } from '../testing.js';
import { missingStage } from './missing-stage.js';

const find = (call: CallInput) =>
  visit(missingStage, [buildOperation({ calls: [buildCall(call)] })]).map((finding) => finding.messageId);

describe('missing-stage', () => {
  const received = { 'server.received': 1 };
  const requested = { ...received, 'server.effect_requested': 2 };

  test.each<[claim: string, call: CallInput]>([
    ['a complete call', {}],
    ['a side without any span is not a missing stage', { client: null }],
    [
      'an effect that failed is closed',
      { server: { stages: { ...requested, 'server.effect_failed': 3, 'server.result_sent': 4 } } },
    ],
    [
      'a read owes no effect stage',
      { effectKind: 'read', server: { stages: { ...received, 'server.result_sent': 3 } } },
    ],
    ['dropped events prove nothing', { server: { complete: false, stages: requested } }],
    [
      'a connection that was never made hands nothing over',
      {
        client: { outcome: 'TRANSPORT_ERROR', reason: 'connect', stages: { 'client.failed': 2 } },
        server: null,
      },
    ],
    [
      'a cancel that arrived at the server ends its side',
      { server: { stages: { ...received, 'server.cancel_received': 2 } } },
    ],
  ])('valid: %s', (_claim, call) => {
    expect(find(call)).toEqual([]);
  });

  test.each<[claim: string, call: CallInput, messages: readonly string[]]>([
    [
      'an effect that was asked for and never closed',
      { server: { stages: { ...requested, 'server.result_sent': 3 } } },
      ['unclosed'],
    ],
    [
      'two effects asked for and one confirmed',
      {
        server: {
          stages: {
            ...received,
            'server.effect_requested': [2, 2],
            'server.effect_confirmed': 3,
            'server.result_sent': 4,
          },
        },
      },
      ['unclosed'],
    ],
    [
      'a server that never received what it answered',
      { server: { stages: { 'server.result_sent': 3 } } },
      ['missing'],
    ],
    ['a client without an end', { client: { stages: { 'client.sent': 1 } } }, ['unended']],
    [
      'a client that received without sending',
      { client: { stages: { 'client.result_received': 1 } } },
      ['missing'],
    ],
    ['a server without an end', { server: { stages: received } }, ['unended']],
    [
      'a tool known to use effect() succeeds without one',
      { usesEffect: true, server: { stages: { ...received, 'server.result_sent': 3 } } },
      ['effectless'],
    ],
  ])('invalid: %s', (_claim, call, messages) => {
    expect(find(call)).toEqual(messages);
  });

  test('a repeat that returns the stored result owes no effect of its own', () => {
    const repeat = buildCall({
      callId: 'c-2',
      usesEffect: true,
      server: { stages: { ...received, 'server.result_sent': 3 } },
    });
    expect(
      visit(missingStage, [buildOperation({ calls: [buildCall({ usesEffect: true }), repeat] })]),
    ).toEqual([]);
  });

  test('the place of an unclosed effect is where it was asked for', () => {
    const call = buildCall({ server: { stages: { ...requested, 'server.result_sent': 3 } } });
    const [finding] = visit(missingStage, [buildOperation({ calls: [call] })]);
    expect(finding?.report.at[0]?.event).toBe('server.effect_requested');
  });
});
