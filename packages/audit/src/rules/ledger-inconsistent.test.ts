import { expect, test } from 'vitest';
import { buildOperation, visit } from '../testing.js';
import { ledgerInconsistent } from './ledger-inconsistent.js';

test('without a problem it is silent', () => {
  expect(visit(ledgerInconsistent, [buildOperation()])).toEqual([]);
});

test('every problem of the ledger is told', () => {
  const at = { source: 'ledger', offset: 41 };
  const ledgerProblems = [
    { problem: 'entry 41 is missing', at },
    { problem: 'the tree is older than the checkpoint', at },
  ];
  expect(
    visit(ledgerInconsistent, [buildOperation({ ledgerProblems })]).map((finding) => finding.message),
  ).toEqual([
    'the ledger of this receipt is inconsistent: entry 41 is missing',
    'the ledger of this receipt is inconsistent: the tree is older than the checkpoint',
  ]);
});
