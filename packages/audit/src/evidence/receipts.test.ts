import { describe, expect, test } from 'vitest';
import { parseReceipt } from '@waybill/core';
import { callGroup, operationGroup, spanRow } from './fixtures.test-support.js';
import { legOf } from './legs.js';
import type { CallGroup } from './operations.js';
import { readReceiptsOf } from './receipts.js';
import type { ReceiptReading } from './receipts.js';
import type { ReceiptRow } from './records.js';

function receipt(over: Readonly<Record<string, unknown>> = {}): ReceiptRow {
  const parsed = parseReceipt(
    JSON.stringify({
      operation_id: 'op-1',
      call_id: 'c-1',
      object: 'row-1',
      expected: 'done',
      observed: 'done',
      version: 2,
      result: 'applied',
      at: '5',
      source: 'w',
      ...over,
    }),
  );
  if (parsed.kind !== 'receipt') throw new Error(parsed.detail);
  return { receipt: parsed, at: { source: 'receipts', line: 1, receiptId: parsed.receiptId } };
}
const failure = receipt({ result: 'failed', observed: 'todo', version: 1 });
const committed = receipt({ observed: undefined });

function call(id: string, server: readonly string[] = [], spans = 1): CallGroup {
  const timedOut = spanRow('client', ['client.sent', 'client.timeout'], { callId: id });
  const rows = Array.from({ length: server.length === 0 ? 0 : spans }, (_, nth) =>
    spanRow('server', server, { callId: id, spanId: `b00000000000000${nth}` }),
  );
  return callGroup([timedOut], rows, { id, callId: id });
}

function reading(
  receipts: readonly ReceiptRow[],
  calls: readonly CallGroup[] = [call('c-1')],
  options: { requireSigned?: boolean; incomplete?: boolean; outbox?: boolean } = {},
): ReceiptReading {
  const { requireSigned = false, incomplete = false, outbox = false } = options;
  const pending = {
    operationId: 'op-1',
    callId: 'c-1',
    receiptId: 'r-1',
    outcome: 'applied',
    createdAtUnixNano: 0n,
    at: { source: 'outbox', line: 1 },
  } as const;
  const operation = operationGroup(calls, { receipts, outbox: outbox ? [pending] : [] });
  return readReceiptsOf(
    operation,
    calls.map((each) => legOf(each, new Set())),
    { requireSigned, incomplete },
  );
}

describe('the receipt input', () => {
  test.each([
    ['none', reading([]), 'none'],
    ['none found in a damaged input', reading([], undefined, { incomplete: true }), 'ledger_unreadable'],
    ['bound to target and version', reading([receipt()]), 'success_bound'],
    ['without a version', reading([receipt({ version: undefined, observed: undefined })]), 'success_unbound'],
    ['a failure', reading([receipt({ result: 'failed', observed: undefined })]), 'failure'],
    ['a failure that read the target', reading([failure]), 'failure_read_back'],
    ['an outbox row', reading([], undefined, { outbox: true }), 'pending_outbox'],
    ['a receipt beside its outbox row', reading([receipt()], undefined, { outbox: true }), 'success_bound'],
    ['applied and failed about one attempt and object', reading([receipt(), failure]), 'conflicting'],
    ['applied, and it read another state', reading([receipt({ observed: 'todo' })]), 'conflicting'],
    [
      'unsigned where signatures are demanded',
      reading([receipt()], undefined, { requireSigned: true }),
      'none',
    ],
    [
      'a failure of one attempt while another is open',
      reading([failure], [call('c-1'), call('c-2')]),
      'none',
    ],
    [
      'a failure of each attempt',
      reading(
        [failure, receipt({ call_id: 'c-2', result: 'failed', observed: 'todo', version: 1 })],
        [call('c-1'), call('c-2')],
      ),
      'failure_read_back',
    ],
    [
      'a failure, then an attempt that was applied',
      reading([failure, receipt({ call_id: 'c-2' })], [call('c-1'), call('c-2')]),
      'success_bound',
    ],
    [
      'applied, while the only delivery says that its effect failed',
      reading(
        [receipt()],
        [call('c-1', ['server.received', 'server.effect_requested', 'server.effect_failed'])],
      ),
      'conflicting',
    ],
  ] as const)('%s', (_, found, expected) => {
    expect(found.input).toBe(expected);
  });
});

describe('distinct effects', () => {
  const two = [
    'server.received',
    'server.effect_requested',
    'server.effect_requested',
    'server.effect_confirmed',
    'server.effect_confirmed',
    'server.result_sent',
  ];
  test.each([
    ['one receipt', reading([receipt()]), 1, 0],
    ['committed and read back of one version are one effect', reading([committed, receipt()]), 1, 0],
    ['two versions are two effects', reading([receipt(), receipt({ version: 3 })]), 2, 0],
    [
      'an effect id decides before versions',
      reading([receipt({ effect_id: 'e' }), receipt({ effect_id: 'e', version: 3 })]),
      1,
      0,
    ],
    [
      'two objects from two deliveries are two effects',
      reading([receipt(), receipt({ object: 'row-2' })], [call('c-1', two, 2)]),
      2,
      0,
    ],
    [
      'two objects from one delivery that confirmed both are the parts of one',
      reading([receipt(), receipt({ object: 'row-2' })], [call('c-1', two)]),
      1,
      0,
    ],
    ['an attempt without a receipt stays open', reading([receipt()], [call('c-1'), call('c-2')]), 1, 1],
    [
      'a receipt without a call settles one attempt',
      reading([receipt({ call_id: undefined })], [call('c-1')]),
      1,
      0,
    ],
  ] as const)('%s', (_, found, effects, open) => {
    expect({ effects: found.effects.length, open: found.openAttempts }).toEqual({ effects, open });
  });
});

test('some parts applied and others failed within one call is partial', () => {
  const parts = [
    receipt({ object: 'part-1' }),
    receipt({ object: 'part-2', result: 'failed', observed: 'todo' }),
  ];
  expect(reading(parts)).toMatchObject({ partial: true, input: 'success_unbound' });
});
