import { expect, test } from 'vitest';
import { buildCall, buildOperation, visit, type OperationInput } from '../testing.js';
import { generatedOperationId } from './generated-operation-id.js';

const find = (...operations: readonly OperationInput[]) =>
  visit(generatedOperationId, operations.map(buildOperation)).map(({ operation, report }) => [
    operation,
    report.data?.['count'],
  ]);
const generated = { idSource: 'generated' };

test('an id of the caller, and a read without one, are fine', () => {
  expect(find({}, { ...generated, calls: [buildCall({ effectKind: 'read' })] })).toEqual([]);
});

test('one finding a tool, counted, on the smallest key', () => {
  expect(
    find(
      { ...generated, key: 'b' },
      { ...generated, key: 'a' },
      { operationId: undefined, key: 'call:c', calls: [buildCall({ tool: 'delete_row' })] },
    ),
  ).toEqual([
    ['a', 2],
    ['call:c', 1],
  ]);
});
