import { expect, test } from 'vitest';
import { buildOperation, formatMessage, visit } from '../testing.js';
import { ruleCrashed } from './rule-crashed.js';

test('it visits nothing: the auditor reports the rules that threw', () => {
  expect(visit(ruleCrashed, [buildOperation()])).toEqual([]);
});

test('its message names the rule and the error', () => {
  const data = { rule: 'acme/charge-once', error: 'boom' };
  expect(formatMessage(ruleCrashed.meta.messages['crashed'] ?? '', data)).toBe(
    'rule acme/charge-once threw: boom',
  );
});
