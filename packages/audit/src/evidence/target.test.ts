import { describe, expect, test } from 'vitest';
import { parseReceipt } from '@waybill/core';
import type { ReceiptReading } from './receipts.js';
import type { ReceiptRow, TargetRow } from './records.js';
import { readTarget, relationOf, sameState } from './target.js';

function receipt(over: Readonly<Record<string, unknown>> = {}): ReceiptRow {
  const parsed = parseReceipt(
    JSON.stringify({
      operation_id: 'op-1',
      call_id: 'c-1',
      object: 'row-1',
      expected: 'done',
      observed: 'done',
      version: 2,
      result: 'applied',
      at: '5',
      source: 'w',
      ...over,
    }),
  );
  if (parsed.kind !== 'receipt') throw new Error(parsed.detail);
  return { receipt: parsed, at: { source: 'receipts', line: 1 } };
}

function read(over: Partial<TargetRow> = {}): TargetRow {
  return {
    operationId: 'op-1',
    callId: undefined,
    object: 'row-1',
    state: '"todo"',
    expected: undefined,
    version: '1',
    fenced: false,
    applied: undefined,
    effects: undefined,
    deduplicates: false,
    readAtUnixNano: 0n,
    at: { source: 'targets', line: 1 },
    ...over,
  };
}

const done = { applied: [receipt()], negative: [], input: 'success_bound' } as const;
const failed = {
  applied: [],
  negative: [receipt({ result: 'failed', observed: 'todo', version: 1 })],
  input: 'failure_read_back',
} as const;
const nothing = { applied: [], negative: [], input: 'none' } as const;

describe('one read against the receipts of its operation', () => {
  test.each([
    [
      'the version of the receipt',
      read({ version: '2', state: '"done"' }),
      done,
      'success',
      'applied_current',
    ],
    ['the version of the receipt with another state', read({ version: '2' }), done, 'success', 'contradicts'],
    ['a later version', read({ version: '3', state: '"archived"' }), done, 'success', 'applied_superseded'],
    [
      'a later version with the same value (changed and changed back)',
      read({ version: '4', state: '"done"' }),
      done,
      'success',
      'applied_superseded',
    ],
    ['an older version', read(), done, 'success', 'not_applied_observed'],
    ['an older version behind a fence', read({ fenced: true }), done, 'success', 'not_applied_proven'],
    [
      'the value, no version',
      read({ version: undefined, state: '"done"' }),
      done,
      'success',
      'value_match_only',
    ],
    ['another value, no version', read({ version: undefined }), done, 'success', 'contradicts'],
    [
      'versions without an order',
      read({ version: 'W/"x"', state: '"done"' }),
      done,
      'success',
      'value_match_only',
    ],
    ['the target knows the operation', read({ applied: true }), nothing, 'success', 'applied_current'],
    [
      'the target does not know the operation',
      read({ applied: false }),
      nothing,
      'success',
      'not_applied_observed',
    ],
    [
      'the target does not know it and never will',
      read({ applied: false, fenced: true }),
      nothing,
      'timeout',
      'not_applied_proven',
    ],
    ['another state than expected', read({ expected: '"done"' }), nothing, 'success', 'not_applied_observed'],
    [
      'the expected state, not bound to the operation',
      read({ expected: '"done"', state: '"done"' }),
      nothing,
      'success',
      'value_match_only',
    ],
    ['a failure receipt of the same state', read(), failed, 'error', 'not_applied_observed'],
    [
      'a read that nothing can be held against, caller not told success',
      read(),
      nothing,
      'timeout',
      'not_applied_observed',
    ],
    [
      'a read that nothing can be held against proves nothing against a success',
      read(),
      nothing,
      'success',
      'unreadable',
    ],
    ['a fence alone', read({ fenced: true }), nothing, 'timeout', 'not_applied_proven'],
  ] as const)('%s', (_, row, receipts, client, expected) => {
    expect(relationOf(row, receipts, client)).toBe(expected);
  });
});

describe('the target input', () => {
  const reading = (over: Partial<ReceiptReading>): ReceiptReading => ({
    input: 'success_bound',
    applied: [receipt()],
    negative: [],
    effects: ['e'],
    openAttempts: 0,
    partial: false,
    forged: false,
    readBack: true,
    assurance: 'unsigned',
    ...over,
  });

  test('the read of the writer counts where nobody else read', () => {
    expect(readTarget([], reading({}), 'success').input).toBe('applied_current');
  });

  test('the read of the writer does not count while another attempt may have landed', () => {
    expect(readTarget([], reading({ openAttempts: 1 }), 'success').input).toBe('unreadable');
  });

  test('a separate read counts before that of the writer', () => {
    expect(readTarget([read()], reading({}), 'success').input).toBe('not_applied_observed');
  });

  test('of several reads of one object the latest counts', () => {
    const rows = [read(), read({ version: '2', state: '"done"', readAtUnixNano: 9n })];
    expect(readTarget(rows, reading({}), 'success').input).toBe('applied_current');
  });

  test('a part applied and a part not is partial', () => {
    const rows = [read({ applied: true }), read({ object: 'row-2', applied: false })];
    expect(readTarget(rows, reading(nothing), 'error')).toMatchObject({ input: 'unreadable', partial: true });
  });
});

test('states compare as values and as SHA-256 of them, keyed digests only with their like', () => {
  const sha = 'sha256:55dc5a6a3e4e24b9eb4cee8b9bc1a04c10e1d1d58adfd9d8f8d4bd0d9c4d34e9';
  const hmac = `hmac-${sha}`;
  expect(sameState('"done"', '"done"')).toBe(true);
  expect(sameState('"done"', '"todo"')).toBe(false);
  expect(sameState(sha, '"done"')).toBe(false);
  expect(sameState(hmac, '"done"')).toBeUndefined();
  expect(sameState(hmac, hmac)).toBe(true);
  expect(sameState(undefined, '"done"')).toBeUndefined();
});
