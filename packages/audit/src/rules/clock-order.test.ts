import { describe, expect, test } from 'vitest';
import { atMs, buildCall, buildOperation, visit, type CallInput } from '../testing.js';
import { clockOrder } from './clock-order.js';

const find = (call: CallInput, toleranceMs?: number) =>
  visit(
    clockOrder,
    [buildOperation({ calls: [buildCall(call)] })],
    toleranceMs === undefined ? {} : { options: { toleranceMs } },
  );
const at = { source: 's1', line: 2 };
const stage = (name: string, ms: number, seq: number) => ({ name, timeUnixNano: atMs(ms), seq, at });
const skewed = (ms: number): CallInput => ({
  client: { stages: { 'client.sent': ms, 'client.result_received': ms + 99 } },
});

describe('clock-order', () => {
  test('a call in order is silent', () => {
    expect(find({})).toEqual([]);
  });

  test('a client 3 s ahead of the server is told with its distance', () => {
    expect(find(skewed(3042))).toMatchObject([
      { messageId: 'before', level: 'info', report: { data: { ms: 3000 } } },
    ]);
  });

  test('a client far behind shows at the other end', () => {
    expect(find(skewed(-90_000)).map((finding) => finding.messageId)).toEqual(['after']);
  });

  test('the tolerance covers it', () => {
    expect(find(skewed(3042), 3500)).toEqual([]);
  });

  test('numbers against times inside one side need no second clock', () => {
    const stages = [stage('server.received', 50, 1), stage('server.effect_confirmed', 10, 2)];
    expect(find({ server: { extra: { stages: () => stages } } })).toMatchObject([
      { messageId: 'inside', report: { data: { ms: 40 } } },
    ]);
  });

  test('a stage whose time was lost says nothing', () => {
    const stages = [
      stage('server.received', 50, 1),
      { ...stage('server.effect_confirmed', 0, 2), timeUnixNano: 0n },
    ];
    expect(find({ server: { extra: { stages: () => stages } } })).toEqual([]);
  });

  test('two deliveries of one request count and run for themselves', () => {
    const again = { source: 's1', line: 3, spanId: 'b2' };
    const stages = [
      stage('server.received', 42, 1),
      { ...stage('server.received', 90, 1), at: again },
      stage('server.result_sent', 60, 2),
      { ...stage('server.result_sent', 99, 2), at: again },
    ];
    expect(find({ server: { extra: { stages: () => stages } } })).toEqual([]);
  });
});
