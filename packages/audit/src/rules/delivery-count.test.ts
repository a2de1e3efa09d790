import { expect, test } from 'vitest';
import { buildCall, buildOperation, visit, type CallInput } from '../testing.js';
import { deliveryCount } from './delivery-count.js';

const find = (call: CallInput) => visit(deliveryCount, [buildOperation({ calls: [buildCall(call)] })]);
const deliveries = [
  { source: 's1', line: 2 },
  { source: 's1', line: 3 },
];

test.each([undefined, deliveries.slice(0, 1)])('one delivery is as it should be', (one) => {
  expect(find(one ? { deliveries: one } : {})).toEqual([]);
});

test('two are told with both places', () => {
  const [finding] = find({ deliveries });
  expect(finding).toMatchObject({ level: 'warning', message: 'set_status: one request arrived 2 times' });
  expect(finding?.report.at.map((place) => place.line)).toEqual([1, 2, 3]);
});

test('of a read it is information', () => {
  expect(find({ deliveries, effectKind: 'read' })).toMatchObject([{ level: 'info' }]);
});
