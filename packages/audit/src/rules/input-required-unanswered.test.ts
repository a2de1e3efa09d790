import { describe, expect, test } from 'vitest';
import { atMs, buildCall, buildOperation, visit, type CallInput } from '../testing.js';
import { inputRequiredUnanswered } from './input-required-unanswered.js';

const asked: CallInput = { client: { outcome: 'INPUT_REQUIRED' }, server: { outcome: 'INPUT_REQUIRED' } };
const find = (calls: readonly CallInput[], asOfMs: number, graceMs = 0) =>
  visit(inputRequiredUnanswered, [buildOperation({ calls: calls.map(buildCall) })], {
    asOfUnixNano: atMs(asOfMs),
    graceNano: BigInt(graceMs) * 1_000_000n,
  });

describe('input-required-unanswered', () => {
  test('a later leg answers', () => {
    const answer: CallInput = { callId: 'c-2', startTimeUnixNano: atMs(200), continues: 'c-1' };
    expect(find([asked, answer], 9000)).toEqual([]);
  });

  test('the end of the evidence is no silence', () => {
    expect(find([asked], 100)).toEqual([]);
  });

  test('inside the grace period the answer may still come', () => {
    expect(find([asked], 1100, 5000)).toEqual([]);
  });

  test('after it the wait is told', () => {
    expect(find([asked], 9100, 5000)).toMatchObject([{ level: 'warning', report: { data: { ms: 9000 } } }]);
  });
});
