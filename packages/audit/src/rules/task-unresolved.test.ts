import { expect, test } from 'vitest';
import { atMs, buildCall, buildOperation, visit, type CallInput } from '../testing.js';
import { taskUnresolved } from './task-unresolved.js';

const pending: CallInput = { client: { outcome: 'TASK_PENDING' }, server: { outcome: 'TASK_PENDING' } };
const find = (calls: readonly CallInput[], asOfMs: number) =>
  visit(taskUnresolved, [buildOperation({ calls: calls.map(buildCall) })], { asOfUnixNano: atMs(asOfMs) });

test('a poll that brought the result resolves the task', () => {
  expect(find([pending, { callId: 'c-2', startTimeUnixNano: atMs(200), continues: 'c-1' }], 9000)).toEqual(
    [],
  );
});

test('a task at the end of the evidence is merely running', () => {
  expect(find([pending], 100)).toEqual([]);
});

test('a task that nobody asked about again is told', () => {
  expect(find([pending], 5100)).toMatchObject([{ level: 'warning', report: { data: { ms: 5000 } } }]);
});
