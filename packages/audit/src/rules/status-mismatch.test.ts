import { ATTR_RPC_RESPONSE_STATUS_CODE } from '@waybill/core';
import { describe, expect, test } from 'vitest';
import { buildCall, buildOperation, visit, type SideInput } from '../testing.js';
import { statusMismatch } from './status-mismatch.js';

type Status = 'unset' | 'ok' | 'error';
const side = (outcome: string, status: Status, input: SideInput = {}): SideInput => ({
  outcome,
  extra: { status },
  ...input,
});
const find = (client: SideInput, server: SideInput = {}) =>
  visit(statusMismatch, [buildOperation({ calls: [buildCall({ client, server })] })]).map(
    (finding) => finding.message,
  );

describe('status-mismatch', () => {
  test.each<[outcome: string, status: Status]>([
    ['TOOL_SUCCESS', 'unset'],
    ['INPUT_REQUIRED', 'unset'],
    ['CANCELLED', 'unset'],
    ['TOOL_ERROR', 'error'],
    ['TIMEOUT', 'error'],
  ])('%s with status %s is right on the client', (outcome, status) => {
    expect(find(side(outcome, status))).toEqual([]);
  });

  test.each<[outcome: string, status: Status]>([
    ['TOOL_ERROR', 'unset'],
    ['STREAM_INCOMPLETE', 'ok'],
    ['TOOL_SUCCESS', 'error'],
  ])('%s with status %s is not', (outcome, status) => {
    expect(find(side(outcome, status))).toHaveLength(1);
  });

  test('a fault of the client is no error of the server span', () => {
    const attributes = { [ATTR_RPC_RESPONSE_STATUS_CODE]: '-32602' };
    expect(find({}, side('JSONRPC_ERROR', 'unset', { attributes }))).toEqual([]);
  });

  test('an internal error is one', () => {
    const attributes = { [ATTR_RPC_RESPONSE_STATUS_CODE]: '-32603' };
    expect(find({}, side('JSONRPC_ERROR', 'unset', { attributes }))).toHaveLength(1);
  });

  test('an outcome derived from the status cannot contradict it', () => {
    expect(find(side('TOOL_ERROR', 'unset', { source: 'derived' }))).toEqual([]);
  });
});
