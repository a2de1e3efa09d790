import { expect, test } from 'vitest';
import { buildOperation, visit } from '../testing.js';
import { partialEffect } from './partial-effect.js';

test('a whole effect is silent', () => {
  expect(visit(partialEffect, [buildOperation()])).toEqual([]);
});

test('the flag is told with every place of the operation', () => {
  const [finding] = visit(partialEffect, [buildOperation({ flags: ['partial_effect'] })]);
  expect(finding).toMatchObject({ level: 'warning' });
  expect(finding?.report.at.map((place) => place.source)).toEqual(['s1', 's1', 'receipts']);
});
