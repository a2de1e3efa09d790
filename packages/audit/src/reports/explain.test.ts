import { describe, expect, test } from 'vitest';
import { buildFinding, buildReport, buildReportCall, buildReportOperation } from '../testing.js';
import { explainJson, explainOperation, findOperations } from './explain.js';

const first = buildReportOperation({
  key: 'row-1',
  operationId: 'row-1',
  calls: [buildReportCall({ callId: 'c-1' })],
});
const second = buildReportOperation({
  key: 'row-12',
  operationId: 'row-12',
  verdict: 'unknown_needs_reconciliation',
  rule: 'U2',
  action: 'read_back_then_retry',
  told: 'TIMEOUT',
  receipts: [],
  calls: [buildReportCall({ callId: 'c-2', server: null, join: null })],
});
const report = buildReport([first, second], [buildFinding({ operation: 'row-1' })]);
const keys = (wanted: string) => findOperations(report, wanted).map((operation) => operation.key);
const story = (operation: typeof first) => [...explainOperation(report, operation)].join('');

describe('finding an operation', () => {
  test.each([
    ['its key, although others contain it', 'row-1', ['row-1']],
    ['the id of a call', 'c-2', ['row-12']],
    ['a span that both have', 'a000000000000001', ['row-1', 'row-12']],
    ['a part of the key', 'row', ['row-1', 'row-12']],
    ['nothing', 'zz', []],
  ])('by %s', (_by, wanted, found) => {
    expect(keys(wanted)).toEqual(found);
  });
});

describe('the story', () => {
  test('tells each stage of each side with its time and its span', () => {
    const text = story(first);
    expect(text).toMatch(
      /The server \(todo\), from 2026-09-21T14:13:20\.040Z \[span b000000000000001, trace /,
    );
    expect(text).toMatch(/\+18\.0 ms {2}server\.effect_confirmed: The target confirmed the change\./);
  });

  test('says what proves it, what follows and what was found', () => {
    const text = story(first);
    expect(text).toContain('Receipt r-1 says applied: row-42 version 2, unsigned, plain.');
    expect(text).toContain('Verdict: verified_done.');
    expect(text).toContain('row D1: target and receipt agree');
    expect(text).toMatch(/1 finding:\n {2}warning reply-lost: .*\[traces\.jsonl:1\]/);
    expect(text).toContain('Evidence: traces.jsonl:1, traces.jsonl:2, receipts:1');
  });

  test('says what is missing and what to do', () => {
    const text = story(second);
    expect(text).toContain('There is no record of the server.');
    expect(text).toContain('There is no receipt.');
    expect(text).toContain('Nobody else read the target.');
    expect(text).toContain('send it again only if the change is not there');
  });
});

test('as JSON it is the operation and its findings of the report', () => {
  expect(JSON.parse(explainJson(report, first))).toMatchObject({
    operation: { key: 'row-1', calls: [{ callId: 'c-1' }] },
    findings: [{ rule: 'reply-lost' }],
  });
});
