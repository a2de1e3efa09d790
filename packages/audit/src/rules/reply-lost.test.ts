import { describe, expect, test } from 'vitest';
import { buildCall, buildOperation, visit } from '../testing.js';
import { replyLost } from './reply-lost.js';

const find = (outcome: string, reason?: string, flags: readonly string[] = ['reply_lost']) =>
  visit(replyLost, [
    buildOperation({
      flags,
      calls: [buildCall({ client: { outcome, ...(reason === undefined ? {} : { reason }) } })],
    }),
  ]);

describe('reply-lost', () => {
  test('without the flag nothing is lost', () => {
    expect(find('TIMEOUT', undefined, [])).toEqual([]);
  });

  test('what the caller saw and that the change was made stand in the message', () => {
    expect(find('TRANSPORT_ERROR', 'reset')).toMatchObject([
      {
        level: 'warning',
        callId: 'c-1',
        message: 'set_status: no response reached the caller (TRANSPORT_ERROR, reset); the change was made',
      },
    ]);
  });

  test('who cancels waits for no reply: information', () => {
    expect(find('CANCELLED')).toMatchObject([{ messageId: 'cancelled', level: 'info' }]);
  });
});
