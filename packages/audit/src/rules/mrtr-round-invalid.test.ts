import { describe, expect, test } from 'vitest';
import { atMs, buildCall, buildOperation, visit, type CallInput } from '../testing.js';
import { mrtrRoundInvalid } from './mrtr-round-invalid.js';

const asked: CallInput = { client: { outcome: 'INPUT_REQUIRED' }, server: { outcome: 'INPUT_REQUIRED' } };
const leg = (number: number, input: CallInput = {}): CallInput => ({
  callId: `c-${number}`,
  startTimeUnixNano: atMs(number * 100),
  continues: 'c-1',
  ...input,
});
const find = (...calls: readonly CallInput[]) =>
  visit(mrtrRoundInvalid, [buildOperation({ calls: calls.map(buildCall) })]).map(
    (finding) => finding.messageId,
  );

describe('mrtr-round-invalid', () => {
  test.each<[claim: string, calls: readonly CallInput[]]>([
    ['a round that was asked for', [asked, leg(2)]],
    [
      'a round repeated because its first leg got no answer',
      [asked, leg(2, { client: { outcome: 'TIMEOUT' } }), leg(3)],
    ],
    ['two polls of one task', [{ client: { outcome: 'TASK_PENDING' } }, leg(2), leg(3)]],
    [
      'a predecessor that is not in the evidence',
      [leg(2, { continues: 'c-0' }), leg(3, { continues: 'c-9' })],
    ],
  ])('valid: %s', (_claim, calls) => {
    expect(find(...calls)).toEqual([]);
  });

  test.each<[claim: string, calls: readonly CallInput[], messages: readonly string[]]>([
    ['a call that asked for nothing', [{}, leg(2)], ['ended']],
    ['a call of another tool', [asked, leg(2, { tool: 'delete_row' })], ['tool']],
    ['a request for input that was answered already', [asked, leg(2), leg(3)], ['again']],
  ])('invalid: it continues %s', (_claim, calls, messages) => {
    expect(find(...calls)).toEqual(messages);
  });
});
