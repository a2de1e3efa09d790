import { ATTR_ARGS_DIGEST } from '@waybill/core';
import { describe, expect, test } from 'vitest';
import { atMs, buildCall, buildOperation, visit, type CallInput, type OperationInput } from '../testing.js';
import { operationKeyReused } from './operation-key-reused.js';

const find = (operation: OperationInput) =>
  visit(operationKeyReused, [buildOperation(operation)]).map((finding) => finding.messageId);
const call = (digest: string, input: CallInput = {}) =>
  buildCall({ client: { attributes: { [ATTR_ARGS_DIGEST]: digest } }, ...input });
const second = { callId: 'c-2', startTimeUnixNano: atMs(200) };

describe('operation-key-reused', () => {
  test.each<[claim: string, operation: OperationInput]>([
    ['the same request again', { calls: [call('d'), call('d', second)] }],
    ['a round with its input', { calls: [call('d'), call('e', { ...second, continues: 'c-1' })] }],
    ['digests not recorded', { calls: [buildCall(), call('e', { callId: 'c-2' })] }],
  ])('valid: %s', (_claim, operation) => {
    expect(find(operation)).toEqual([]);
  });

  test.each<[claim: string, operation: OperationInput, messages: readonly string[]]>([
    ['other arguments', { calls: [call('d'), call('e', second)] }, ['arguments']],
    ['another tool', { calls: [call('d'), call('d', { ...second, tool: 'delete_row' })] }, ['tool']],
    ['a verdict that knows it otherwise', { reason: 'same_key_different_params' }, ['judged']],
  ])('invalid: %s', (_claim, operation, messages) => {
    expect(find(operation)).toEqual(messages);
  });
});
