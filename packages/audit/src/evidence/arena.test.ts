import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { STAGES } from '@waybill/core';
import type { Stage } from '@waybill/core';
import { RowArena } from './arena.js';
import { spanRow } from './fixtures.test-support.js';
import type { SpanRow } from './rows.js';

const time = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  // Near each other, as the times of one span are.
  fc.bigInt({ min: 1_790_000_000_000_000_000n, max: 1_790_000_005_000_000_000n }),
);
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(value, { nil: undefined });
const hex = (length: number): fc.Arbitrary<string> =>
  fc.oneof(
    fc.string({
      unit: fc.constantFrom(...'0123456789abcdef'.split('')),
      minLength: length,
      maxLength: length,
    }),
    fc.constantFrom('', 'not hex'),
  );

const attributes = fc.dictionary(
  fc
    .oneof(
      fc.constantFrom('waybill.call.id', 'waybill.operation.id', 'waybill.flags'),
      fc.string({ minLength: 1 }),
    )
    .filter((key) => key !== '__proto__'),
  fc.oneof(
    fc.string(),
    fc.integer(),
    fc.double({ noNaN: true }),
    fc.boolean(),
    fc.constant(null),
    time,
    fc.array(fc.string(), { maxLength: 3 }),
    fc.array(fc.integer(), { minLength: 1, maxLength: 3 }),
    fc.uint8Array({ maxLength: 5 }),
  ),
  { noNullPrototype: true },
);

const stage = fc.record({
  name: fc.constantFrom(...STAGES.map((each) => each.name as Stage)),
  timeUnixNano: time,
  seq: optional(fc.integer({ min: 1, max: 1e6 })),
  bare: fc.boolean(),
});

const row: fc.Arbitrary<SpanRow> = fc
  .record({
    role: fc.constantFrom('client' as const, 'server' as const, 'tool' as const),
    own: fc.boolean(),
    fromLogs: fc.boolean(),
    scope: fc.string(),
    tool: optional(fc.string()),
    traceId: hex(32),
    spanId: hex(16),
    parentSpanId: hex(16),
    startTimeUnixNano: time,
    endTimeUnixNano: time,
    status: fc.constantFrom('unset' as const, 'ok' as const, 'error' as const, undefined),
    rpcId: optional(fc.string()),
    callId: optional(fc.oneof(fc.string(), fc.uuid(), fc.string({ minLength: 126, maxLength: 129 }))),
    operationId: optional(fc.string()),
    attributes,
    droppedEvents: fc.nat(),
    unsampled: fc.boolean(),
    timedOut: fc.boolean(),
    line: optional(fc.integer({ min: 1, max: 1e9 })),
    offset: optional(fc.nat()),
    stages: fc.array(stage, { maxLength: 5 }),
    seqs: fc.array(fc.integer({ min: 1, max: 300 }), { maxLength: 4 }),
    moved: fc.boolean(),
  })
  .map(({ line, offset, stages, moved, ...rest }) => {
    const at = {
      source: 's1',
      ...(line === undefined ? {} : { line }),
      ...(offset === undefined ? {} : { offset }),
      traceId: rest.traceId,
      spanId: rest.spanId,
    };
    const place = moved ? { source: 's2', line: 7 } : at;
    return {
      ...spanRow('client'),
      ...rest,
      at,
      stages: stages.map(({ bare, ...each }) => ({
        ...each,
        at: { ...place, event: bare ? each.name : `waybill.${each.name}` },
      })),
    };
  });

test('what comes out of the arena is what went in', () => {
  fc.assert(
    fc.property(fc.array(row, { maxLength: 20 }), (rows) => {
      const arena = new RowArena();
      const numbers = rows.map((each) => arena.add(each));
      expect(numbers.map((number) => arena.get(number))).toEqual(rows);
    }),
    { numRuns: 200 },
  );
});

test('a stage that lies on the line of its row in another file keeps its place', () => {
  const [stage] = spanRow('client', ['client.sent']).stages;
  if (stage === undefined) throw new Error('one stage');
  const moved = { ...stage, at: { source: 's2', line: 1, event: 'waybill.client.sent' } };
  const arena = new RowArena();
  const number = arena.add(spanRow('client', [], { stages: [moved] }));
  expect(arena.get(number).stages).toEqual([moved]);
});

test('rows that outgrow a block are kept whole', () => {
  const arena = new RowArena();
  const large = spanRow('client', ['client.sent'], {
    attributes: Object.fromEntries(
      Array.from({ length: 3000 }, (_, i) => [`waybill.x${i}`, `${i}`.repeat(200)]),
    ),
  });
  const numbers = [large, spanRow('server'), large].map((each) => arena.add(each));
  expect(numbers.map((number) => arena.get(number))).toEqual([large, spanRow('server'), large]);
});
