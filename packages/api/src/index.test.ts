import { createRequire } from 'node:module';
import { describe, expect, test } from 'vitest';
import {
  currentOperation,
  operationFromMeta,
  operationMeta,
  recordStage,
  withOperation,
  withRun,
} from './index.js';
import { EMPTY_SCOPE, apiState } from './internal.js';
import type { Operation } from './index.js';

const scope = () => apiState().storage.getStore();

describe('withRun', () => {
  test('reaches everything inside, also behind an await, and nothing outside', async () => {
    await withRun('run-1', async () => {
      await Promise.resolve();
      expect(scope()?.runId).toBe('run-1');
    });
    expect(scope()).toBeUndefined();
  });

  test('keeps the operation of an outer scope', () => {
    withOperation('op-1', () => withRun('run-1', () => expect(scope()?.operation?.operationId).toBe('op-1')));
  });
});

describe('withOperation', () => {
  test('takes an id or an object, and inherits the run', () => {
    withRun('run-1', () => {
      withOperation({ operationId: 'op-1', effectKind: 'write' }, () => {
        expect(scope()).toMatchObject({
          runId: 'run-1',
          operation: { operationId: 'op-1', effectKind: 'write', binding: undefined, warned: false },
        });
      });
    });
  });

  test('is bound anew for every scope', () => {
    const operations = [1, 2].map(() => withOperation('op-1', () => scope()?.operation));
    expect(operations[0]).not.toBe(operations[1]);
  });

  test('gives the value or the rejection of its function', async () => {
    await expect(withOperation('op-1', async () => 7)).resolves.toBe(7);
    await expect(withOperation('op-1', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  });
});

describe('ids', () => {
  test.each(['', ' a', 'a ', 'a\nb', 'a'.repeat(201), '\u0000'])('%j is refused with the remedy', (id) => {
    expect(() => withRun(id, () => 0)).toThrow(/1 to 200 printable/);
    expect(() => withOperation(id, () => 0)).toThrow(/1 to 200 printable/);
    expect(() => operationMeta({ operationId: id })).toThrow(TypeError);
  });

  test.each(['task-42:done:v1', 'a b', '訂單-7', 'a'.repeat(200)])('%j is accepted', (id) => {
    expect(operationFromMeta(operationMeta({ operationId: id, runId: id }))).toEqual({
      operationId: id,
      runId: id,
    });
  });

  test('unacceptable ids and foreign values in _meta are left out', () => {
    expect(operationFromMeta({ 'io.waybill/runId': 7, 'io.waybill/callId': '', progressToken: 1 })).toEqual(
      {},
    );
    for (const meta of [undefined, null, 'x', 3, []]) expect(operationFromMeta(meta)).toEqual({});
  });

  test('inherited properties of _meta are no ids', () => {
    expect(operationFromMeta(Object.create({ 'io.waybill/runId': 'r' }))).toEqual({});
  });
});

describe('inside a handler', () => {
  const operation: Operation = {
    side: 'server',
    runId: 'run-1',
    runIdSource: 'caller',
    operationId: 'op-1',
    operationIdSource: 'caller',
    parentOperationId: undefined,
    callId: 'c-1',
    attempt: 1,
    tool: 't',
    signal: undefined,
  };

  test('currentOperation and recordStage reach what the instrumentation put there', () => {
    const stages: unknown[] = [];
    apiState().storage.run(
      { ...EMPTY_SCOPE, current: operation, recordStage: (...stage) => stages.push(stage) },
      () => {
        expect(currentOperation()).toBe(operation);
        recordStage('server.effect_requested', { version: 2 });
      },
    );
    expect(stages).toEqual([['server.effect_requested', { version: 2 }]]);
  });

  test('without the instrumentation both do nothing', () => {
    expect(currentOperation()).toBeUndefined();
    expect(() => recordStage('server.effect_confirmed')).not.toThrow();
  });

  test('a recorder that throws does not reach the tool', () => {
    const broken = () => {
      throw new Error('broken');
    };
    apiState().storage.run({ ...EMPTY_SCOPE, recordStage: broken }, () => {
      expect(() => recordStage('server.effect_failed')).not.toThrow();
    });
  });
});

test('the CommonJS copy shares the state of this one', () => {
  const other = createRequire(import.meta.url)('@waybill/api/internal') as { apiState: typeof apiState };
  expect(other.apiState).not.toBe(apiState);
  expect(other.apiState()).toBe(apiState());
});
