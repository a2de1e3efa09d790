import { expect, test } from 'vitest';
import type { Gap } from '../rule.js';
import { buildOperation, visit } from '../testing.js';
import { sampledAway } from './sampled-away.js';

const unsampled: Gap = { kind: 'unsampled', at: { source: 's1', line: 4 }, note: 'th' };

test('no sampling, no finding', () => {
  expect(visit(sampledAway, [buildOperation()])).toEqual([]);
});

test('it is said once for the whole input', () => {
  const operations = ['b', 'a', 'c'].map((key) => buildOperation({ key, gaps: [unsampled] }));
  expect(visit(sampledAway, operations)).toMatchObject([
    { operation: 'a', level: 'info', report: { data: { count: 3 } } },
  ]);
});
