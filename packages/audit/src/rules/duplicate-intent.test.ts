import { ATTR_ARGS_DIGEST } from '@waybill/core';
import { describe, expect, test } from 'vitest';
import { atMs, buildCall, buildOperation, visit, type CallInput, type OperationInput } from '../testing.js';
import { duplicateIntent } from './duplicate-intent.js';

const withDigest = (digest: string, call: CallInput = {}) =>
  buildCall({ ...call, client: { attributes: { [ATTR_ARGS_DIGEST]: digest }, ...call.client } });
const later = { callId: 'c-2', startTimeUnixNano: atMs(200) };
const find = (...operations: readonly OperationInput[]) =>
  visit(duplicateIntent, operations.map(buildOperation));

describe('duplicate-intent', () => {
  test.each<[claim: string, second: OperationInput]>([
    ['other arguments', { calls: [withDigest('e', later)] }],
    ['no digest recorded', { calls: [buildCall(later)] }],
    ['another tool', { calls: [withDigest('d', { ...later, tool: 'delete_row' })] }],
    ['a read', { calls: [withDigest('d', { ...later, effectKind: 'read' })] }],
    ['nothing done the second time', { verdict: 'not_delivered', calls: [withDigest('d', later)] }],
  ])('valid: %s', (_claim, second) => {
    expect(find({ key: 'a', calls: [withDigest('d')] }, { key: 'b', ...second })).toEqual([]);
  });

  test('invalid: the same request under two operations is a suspicion against the second', () => {
    const operations: readonly OperationInput[] = [
      { key: 'b', idSource: 'generated', calls: [withDigest('d', later)] },
      { key: 'a', idSource: 'generated', calls: [withDigest('d')] },
    ];
    expect(find(...operations)).toMatchObject([{ operation: 'b', level: 'warning', certainty: 'suspected' }]);
  });

  test('two ids of the caller, both answered with success, are most likely meant: information', () => {
    expect(
      find({ key: 'a', calls: [withDigest('d')] }, { key: 'b', calls: [withDigest('d', later)] }),
    ).toMatchObject([{ level: 'info' }]);
  });
});
