import { ATTR_ARGS_DIGEST, ATTR_EFFECT_REPLAYED } from '@waybill/core';
import { describe, expect, test } from 'vitest';
import { atMs, buildCall, buildOperation, visit, type CallInput, type OperationInput } from '../testing.js';
import { unsafeRetry } from './unsafe-retry.js';

const find = (...operations: readonly OperationInput[]) =>
  visit(unsafeRetry, operations.map(buildOperation)).map(({ messageId, operation }) => [
    messageId,
    operation,
  ]);

const timeout = { outcome: 'TIMEOUT', attributes: { [ATTR_ARGS_DIGEST]: 'd' } };
const success = { outcome: 'TOOL_SUCCESS', attributes: { [ATTR_ARGS_DIGEST]: 'd' } };
const second: CallInput = {
  callId: 'c-2',
  startTimeUnixNano: atMs(200),
  endTimeUnixNano: atMs(300),
  client: success,
};

describe('unsafe-retry', () => {
  test.each<[claim: string, operations: readonly OperationInput[]]>([
    ['one attempt', [{}]],
    [
      'a repeat under the same id of the caller',
      [{ calls: [buildCall({ client: timeout }), buildCall(second)] }],
    ],
    [
      'a round of the same interaction may overlap',
      [{ calls: [buildCall({ endTimeUnixNano: atMs(500) }), buildCall({ ...second, continues: 'c-1' })] }],
    ],
    [
      'a weak id whose repeat returned the stored result',
      [
        {
          idSource: 'argument',
          calls: [
            buildCall({ client: timeout }),
            buildCall({ ...second, server: { attributes: { [ATTR_EFFECT_REPLAYED]: true } } }),
          ],
        },
      ],
    ],
    [
      'a weak id whose request was sent on by a redirect',
      [
        {
          idSource: 'generated',
          calls: [
            buildCall({ client: { outcome: 'HTTP_ERROR' } }),
            { ...buildCall(second), retryOrigin: 'redirect' },
          ],
        },
      ],
    ],
    [
      'reads',
      [
        {
          calls: [
            buildCall({ effectKind: 'read', endTimeUnixNano: atMs(500) }),
            buildCall({ ...second, effectKind: 'read' }),
          ],
        },
      ],
    ],
    [
      'the same request twice, the first of them answered',
      [
        { key: 'a', calls: [buildCall({ client: success })] },
        { key: 'b', calls: [buildCall(second)] },
      ],
    ],
  ])('valid: %s', (_claim, operations) => {
    expect(find(...operations)).toEqual([]);
  });

  test('invalid: an attempt while another one is running', () => {
    expect(find({ calls: [buildCall({ endTimeUnixNano: atMs(250) }), buildCall(second)] })).toEqual([
      ['overlap', 'row-42:done:v1'],
    ]);
  });

  test('invalid: a repeat under an id that proves no intention', () => {
    expect(
      find({ idSource: 'argument', calls: [buildCall({ client: timeout }), buildCall(second)] }),
    ).toEqual([['weakKey', 'row-42:done:v1']]);
  });

  test('invalid: a repeat by the SDK after a call that got no answer at all', () => {
    const again = { ...buildCall(second), retryOrigin: 'sdk' };
    expect(find({ idSource: 'generated', calls: [buildCall({ client: timeout }), again] })).toEqual([
      ['weakKey', 'row-42:done:v1'],
    ]);
  });

  test('invalid: the same request under a new id after a timeout, whatever the order of visits', () => {
    const first = { key: 'a', calls: [buildCall({ client: timeout })] };
    const repeat = { key: 'b', calls: [buildCall(second)] };
    expect(find(first, repeat)).toEqual([['newKey', 'b']]);
    expect(find(repeat, first)).toEqual([['newKey', 'b']]);
  });
});
