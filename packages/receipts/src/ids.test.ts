import { describe, expect, it } from 'vitest';
import { operationFromMeta, operationMeta } from '@waybill/api';
import { META_CALL_ID, META_OPERATION_ID, META_PREFIX, META_RUN_ID, isAcceptableId } from '@waybill/core';
import { effectIds } from './ids.js';

// `@waybill/api` depends on nothing and therefore repeats the keys and the cap; these tests hold the two together.
describe('the keys of @waybill/api', () => {
  it('are the keys of the vocabulary', () => {
    expect(operationMeta({ operationId: 'op', runId: 'run' })).toEqual({
      [META_OPERATION_ID]: 'op',
      [META_RUN_ID]: 'run',
    });
    expect(
      operationFromMeta({ [META_OPERATION_ID]: 'op', [META_RUN_ID]: 'run', [META_CALL_ID]: 'call' }),
    ).toEqual({ operationId: 'op', runId: 'run', callId: 'call' });
    for (const key of [META_CALL_ID, META_OPERATION_ID, META_RUN_ID]) {
      expect(key.startsWith(META_PREFIX)).toBe(true);
    }
  });

  it.each([
    'a',
    'row 42',
    'x'.repeat(200),
    'x'.repeat(201),
    '',
    ' a',
    'a ',
    'a\nb',
    'a\u0000',
    'ü€字',
    '\u{1f600}',
    7,
    null,
  ])('accept the same ids: %j', (id) => {
    expect(operationFromMeta({ [META_OPERATION_ID]: id }).operationId !== undefined).toBe(isAcceptableId(id));
  });
});

describe('effectIds', () => {
  const options = { requireOperationId: false, newId: () => 'new-1' };
  const meta = { [META_OPERATION_ID]: 'sent', [META_CALL_ID]: 'c-1', [META_RUN_ID]: 'r-1' };

  it.each([
    ["the server's own id before the one that was sent", { operationId: 'own', meta }, 'own', 'server'],
    ['the same id on both sides as the one of the caller', { operationId: 'sent', meta }, 'sent', 'caller'],
    ['the id that was sent', { meta }, 'sent', 'caller'],
    ['a generated id where nobody named one', { meta: {} }, 'new-1', 'generated'],
    [
      'a generated id where the one that was sent is not acceptable',
      { meta: { [META_OPERATION_ID]: ' ' } },
      'new-1',
      'generated',
    ],
  ])('takes %s', (_, request, operationId, operationIdSource) => {
    expect(effectIds(request, options)).toMatchObject({ operationId, operationIdSource });
  });
});
