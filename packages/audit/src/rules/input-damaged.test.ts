import { expect, test } from 'vitest';
import { buildOperation, formatMessage, visit } from '../testing.js';
import { inputDamaged } from './input-damaged.js';

test('it visits nothing: the auditor reports damage from its inputs', () => {
  expect(visit(inputDamaged, [buildOperation()])).toEqual([]);
});

test('its message names place, reason and remedy', () => {
  const data = { place: 'traces.jsonl:17', reason: 'record ends early', remedy: 'export again' };
  expect(formatMessage(inputDamaged.meta.messages['damaged'] ?? '', data)).toBe(
    'traces.jsonl:17: record ends early. Remedy: export again',
  );
});
