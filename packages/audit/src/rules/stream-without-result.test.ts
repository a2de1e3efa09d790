import { describe, expect, test } from 'vitest';
import { buildCall, buildOperation, visit } from '../testing.js';
import { streamWithoutResult } from './stream-without-result.js';

const find = (client: { outcome: string; reason?: string; source?: 'wire' | 'derived' }) =>
  visit(streamWithoutResult, [buildOperation({ calls: [buildCall({ client })] })])[0];

describe('stream-without-result', () => {
  test.each(['TOOL_SUCCESS', 'TIMEOUT', 'TRANSPORT_ERROR'])('%s is no stream without a result', (outcome) => {
    expect(find({ outcome })).toBeUndefined();
  });

  test.each([
    ['closed_before_response', 'ended', 'warning'],
    ['reset_mid_event', 'ended', 'warning'],
    ['unterminated_event', 'ended', 'warning'],
    ['open_no_response_at_timeout', 'open', 'info'],
    ['partial_body', 'cut', 'warning'],
    ['partial_line', 'cut', 'warning'],
  ])('%s is reported as "%s" at level %s', (reason, messageId, level) => {
    expect(find({ outcome: 'STREAM_INCOMPLETE', reason })).toMatchObject({
      messageId,
      level,
      certainty: 'proven',
    });
  });

  test('a derived outcome is a suspicion', () => {
    expect(find({ outcome: 'STREAM_INCOMPLETE', source: 'derived' })?.certainty).toBe('suspected');
  });

  test('the message names the tool and how the stream ended', () => {
    expect(find({ outcome: 'STREAM_INCOMPLETE', reason: 'reset' })?.message).toBe(
      'set_status: the reply stream ended (reset) without the result',
    );
  });
});
