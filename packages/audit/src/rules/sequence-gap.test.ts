import { describe, expect, test } from 'vitest';
import type { Gap } from '../rule.js';
import { buildOperation, visit } from '../testing.js';
import { sequenceGap } from './sequence-gap.js';

const gap = (kind: Gap['kind'], spanId = 'b'): Gap => ({
  kind,
  at: { source: 's1', line: 2, traceId: 't', spanId },
  note: 'stage numbers 3 are missing',
});
const find = (...gaps: readonly Gap[]) =>
  visit(sequenceGap, [buildOperation({ gaps })]).map(({ messageId, level }) => [messageId, level]);

describe('sequence-gap', () => {
  test('a hole that the emitter explains by dropped events is no alarm', () => {
    expect(find(gap('stage_hole'), gap('dropped_events'))).toEqual([]);
  });

  test('dropped events of another span explain nothing', () => {
    expect(find(gap('stage_hole'), gap('dropped_events', 'a'))).toEqual([['stage', 'warning']]);
  });

  test('a hole in the stages is a warning, one in the calls information', () => {
    expect(find(gap('stage_hole'), gap('call_hole'))).toEqual([
      ['stage', 'warning'],
      ['call', 'info'],
    ]);
  });
});
