import { describe, expect, test } from 'vitest';
import type { Gap } from '../rule.js';
import { buildCall, buildOperation, visit } from '../testing.js';
import { evidenceLost } from './evidence-lost.js';

const gap = (kind: Gap['kind']): Gap => ({ kind, at: { source: 's1', line: 9 }, note: 'n' });

describe('evidence-lost', () => {
  test.each<Gap['kind']>(['foreign_emitter', 'unsampled'])('%s lost nothing on the way', (kind) => {
    expect(visit(evidenceLost, [buildOperation({ gaps: [gap(kind)] })])).toEqual([]);
  });

  test.each<Gap['kind']>([
    'dropped_events',
    'stage_hole',
    'span_missing',
    'truncated_input',
    'collector_loss',
  ])('%s is a loss, at its place', (kind) => {
    const [finding] = visit(evidenceLost, [buildOperation({ gaps: [gap(kind)] })]);
    expect(finding).toMatchObject({ level: 'info', report: { at: [{ line: 9 }] } });
  });

  test('several losses of one operation are one finding', () => {
    const [finding, more] = visit(evidenceLost, [
      buildOperation({
        gaps: [gap('dropped_events')],
        flags: ['trace_missing_client'],
        calls: [buildCall({ client: null })],
      }),
    ]);
    expect(finding?.message).toBe(
      'evidence is missing: span events were dropped; there is no record of the client',
    );
    expect(more).toBeUndefined();
  });

  test('receipts without any call are the subject of another rule', () => {
    const flags = ['trace_missing_client', 'trace_missing_server'];
    expect(visit(evidenceLost, [buildOperation({ calls: [], flags })])).toEqual([]);
  });
});
