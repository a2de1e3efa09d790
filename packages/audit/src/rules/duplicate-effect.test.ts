import { expect, test } from 'vitest';
import { buildOperation, visit } from '../testing.js';
import { duplicateEffect } from './duplicate-effect.js';

test('one effect is no duplicate', () => {
  expect(visit(duplicateEffect, [buildOperation()])).toEqual([]);
});

test.each([
  [{ atLeast: 2, atMost: 2 }, 'set_status: one operation took effect 2 times'],
  [{ atLeast: 2, atMost: 3 }, 'set_status: one operation took effect at least 2 times'],
  [undefined, 'set_status: one operation took effect at least 2 times'],
])('effects %o are told as "%s"', (effects, message) => {
  const operation = buildOperation({ verdict: 'duplicate_effect', ...(effects ? { effects } : {}) });
  expect(visit(duplicateEffect, [operation])).toMatchObject([{ level: 'error', message }]);
});
