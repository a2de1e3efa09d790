/** Every fault of the matrix as worlds: one list per entry of its `expect`, several where an entry names variants. */
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { ed25519Signer, signReceipt } from '@waybill/core';
import type { ReceiptStatement } from '@waybill/core';
import type { Leg, Recorded, World } from './world.js';
import { timeAt } from './world.js';

export interface Expectation {
  readonly verdict: string;
  readonly action: string;
  readonly flags: readonly string[];
  readonly findings: readonly string[];
  readonly when?: string;
}

export interface Fault {
  readonly id: string;
  readonly title: string;
  readonly outcome: string | Readonly<Record<string, string>>;
  readonly receipt: string;
  readonly stages_happened: readonly string[];
  readonly stages_exported: readonly string[];
  readonly expect?: readonly Expectation[];
}

const OPERATION = 'row-42:done:v1';
type Json = Readonly<Record<string, unknown>>;

export function receipt(over: Json = {}): Json {
  return {
    operation_id: OPERATION,
    call_id: 'c-1',
    object: 'row-42',
    expected: 'done',
    observed: 'done',
    version: 2,
    result: 'applied',
    at: String(timeAt(5)),
    source: 'db-writer',
    ...over,
  };
}
const failed = receipt({ observed: 'todo', version: 1, result: 'failed' });
const target = (over: Json = {}): Json => ({
  operation_id: OPERATION,
  object: 'row-42',
  state: 'todo',
  expected: 'done',
  version: 1,
  reader: 'reader',
  ...over,
});
const applied = target({ state: 'done', version: 2, applied: true });
const outboxRow: Json = { operation_id: OPERATION, call_id: 'c-1', receipt_id: 'r-1', state: 'pending' };
const collectorLoss: Json = { otelcol_exporter_enqueue_failed_spans: 12 };

/** `HTTP_ERROR(503)`, `STREAM_INCOMPLETE(reset)`, `TOOL_SUCCESS with …`, `TIMEOUT then TOOL_SUCCESS`. */
function outcomeOf(text: string): Pick<Recorded, 'outcome' | 'reason' | 'attributes'> {
  const match = /^([A-Z_]+)(?:\(([a-z_0-9]+)\))?/.exec(text);
  if (match === null) return {};
  const [, outcome = '', detail] = match;
  if (outcome === 'HTTP_ERROR') {
    return {
      outcome,
      attributes: { 'http.response.status_code': Number(detail), 'error.type': detail ?? '' },
    };
  }
  return { outcome, ...(detail === undefined ? {} : { reason: detail }) };
}

type Placed = readonly (readonly [string, number])[];

/** A reply that is no JSON-RPC response is no `client.result_received` (DESIGN 2.2): the call failed. */
const RESPONSE = /^(?:TOOL_|JSONRPC_|INPUT_|TASK_|INVALID_TOOL_RESULT|HTTP_ERROR\(400\))/;

function placed(stages: readonly string[], outcome: string): Placed {
  const end = RESPONSE.test(outcome) ? 'client.result_received' : 'client.failed';
  return stages.map((name, at) => [name === 'client.result_received' ? end : name.replace('*', ''), at]);
}

const isClient = ([name]: readonly [string, number]): boolean => name.startsWith('client.');

/** The server's part, one record per delivery. */
function deliveries(stages: Placed): readonly Placed[] {
  const lists: (readonly [string, number])[][] = [];
  for (const stage of stages.filter((each) => !isClient(each))) {
    if (stage[0] === 'server.received' || lists.length === 0) lists.push([]);
    // Interleaved deliveries: a stage goes to the first one that has not had it.
    const list = lists.find((each) => !each.some(([name]) => name === stage[0])) ?? lists.at(-1);
    list?.push(stage);
  }
  return lists;
}

interface Shape {
  readonly stages: readonly string[];
  readonly outcome: string;
  readonly server?: Partial<Recorded>;
  readonly client?: Partial<Recorded>;
  readonly shift?: number;
}

function leg(shape: Shape, over: Partial<Leg> = {}): Leg {
  const all = placed(shape.stages, shape.outcome).map(
    ([name, at]) => [name, at + (shape.shift ?? 0)] as const,
  );
  const clientStages = all.filter(isClient);
  const answer = serverOutcome(shape.outcome);
  return {
    callId: 'c-1',
    operationId: OPERATION,
    ...(clientStages.length === 0
      ? {}
      : { client: { stages: clientStages, ...outcomeOf(shape.outcome), ...shape.client } }),
    servers: deliveries(all).map((stages) => ({
      stages,
      ...(stages.some(([name]) => name.startsWith('server.result')) ? { outcome: answer } : {}),
      ...shape.server,
    })),
    ...over,
  };
}

function serverOutcome(outcome: string): string {
  return (
    ['TOOL_ERROR', 'JSONRPC_ERROR', 'INPUT_REQUIRED'].find((each) => outcome.startsWith(each)) ??
    'TOOL_SUCCESS'
  );
}

const OK = [
  'client.sent',
  'server.received',
  'server.effect_requested',
  'server.effect_confirmed',
  'server.result_sent',
  'client.result_received',
];

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const attacker = generateKeyPairSync('ed25519').privateKey;
export const keys = new Map([['db-1', createPublicKey(publicKey.export({ type: 'spki', format: 'pem' }))]]);

function signed(by: 'writer' | 'attacker', over: Partial<ReceiptStatement> = {}): Promise<string> {
  const statement: ReceiptStatement = {
    v: 'waybill/receipt/1',
    receipt_id: '8d2f9b1e-0000-4000-8000-000000000001',
    operation_id: OPERATION,
    attempt: 1,
    outcome: 'applied',
    stage: 'committed',
    params_hash: `sha256:${'a'.repeat(64)}`,
    target: { system: 'todo', id: 'row-42', observed_version: 2 },
    source: { service: 'todo-mcp', instance: 'i-1', key_id: 'db-1' },
    call_id: 'c-1',
    effect_at: String(timeAt(3)),
    observed_at: String(timeAt(3)),
    ...over,
  };
  const key =
    by === 'writer' ? createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' })) : attacker;
  return signReceipt(statement, ed25519Signer('db-1', key));
}

const second = (shape: Shape): Leg => leg({ shift: 10, ...shape }, { callId: 'c-2' });

/** Worlds of one entry; `undefined` leaves the entry to the default rendering. */
type Special = (fault: Fault) => readonly World[] | Promise<readonly World[]>;

function base(fault: Fault, over: Partial<World> = {}, shape: Partial<Shape> = {}): readonly World[] {
  const outcomes = typeof fault.outcome === 'string' ? [fault.outcome] : Object.values(fault.outcome);
  return outcomes.map((outcome) => ({
    legs: [leg({ stages: fault.stages_exported, outcome, ...shape })],
    receipts: /^(?:acked|stored|late|1|first)/.test(fault.receipt) ? [receipt()] : [],
    ...over,
  }));
}

const happened = (fault: Fault): Partial<Shape> => ({ stages: fault.stages_happened });
const journal: Partial<Shape> = { stages: OK, server: { journal: true } };
const none: Partial<World> = { receipts: [] };
const masked: Partial<Shape> = {
  client: { attributes: { 'waybill.sdk.accepted': true, 'waybill.sdk.outcome': 'TOOL_SUCCESS' } },
};
const swapped = (id: string, op: string, shift: number): Leg =>
  leg({ stages: OK, outcome: 'TOOL_SUCCESS', shift }, { callId: id, operationId: op });
const retried = (receipts: readonly Json[], replayed: boolean): World => ({
  legs: [
    leg({ stages: [...OK.slice(0, -1), 'client.timeout'], outcome: 'TIMEOUT' }),
    second(
      replayed
        ? {
            stages: ['client.sent', 'server.received', 'server.result_sent', 'client.result_received'],
            outcome: 'TOOL_SUCCESS',
            server: { attributes: { 'waybill.effect.replayed': true } },
          }
        : { stages: OK, outcome: 'TOOL_SUCCESS' },
    ),
  ],
  receipts,
});
const twice = [receipt(), receipt({ call_id: 'c-2', version: 3, at: String(timeAt(14)) })];

const SPECIAL: Readonly<Record<string, readonly (Special | undefined)[]>> = {
  'A1.tool_error_no_effect': [undefined, (fault) => base(fault, { receipts: [failed] })],
  'A2.rpc_error': [
    (fault) => base(fault, none, { client: { attributes: { 'rpc.response.status_code': '-32602' } } }),
    (fault) => base(fault, { receipts: [failed] }),
  ],
  // The body of the refusal is a JSON-RPC error, and its code is recorded beside the status.
  'A3.rpc_error_http400': [
    (fault) =>
      base(fault, none, {
        client: {
          attributes: {
            'http.response.status_code': 400,
            'error.type': '400',
            'rpc.response.status_code': '-32600',
          },
        },
      }),
  ],
  'A4.input_required': [
    undefined,
    (fault) => [
      {
        legs: [
          leg({ stages: fault.stages_exported, outcome: 'INPUT_REQUIRED' }),
          second({
            stages: OK,
            outcome: 'TOOL_SUCCESS',
            client: { attributes: { 'waybill.call.continues': 'c-1' } },
          }),
        ],
        receipts: [receipt({ call_id: 'c-2', at: String(timeAt(14)) })],
      },
    ],
  ],
  'B3.client_timeout_before_handler': [undefined, (fault) => base(fault, { targets: [target()] })],
  'B4.timeout_then_late_effect': [
    (fault) =>
      base(fault, {
        targets: [target({ read_at: String(timeAt(2.3)) })],
        options: { asOfUnixNano: timeAt(2.5) },
        receipts: [receipt()],
      }),
    (fault) => base(fault, { receipts: [receipt()] }),
  ],
  'B6.client_clock_skew': [
    (fault) =>
      base(
        fault,
        {},
        {
          client: {
            stages: [
              ['client.sent', 9000],
              ['client.result_received', 9005],
            ],
          },
        },
      ),
  ],
  'C1.connect_refused': [undefined],
  // The matrix lists both sides one after the other; the effect was committed before the cut.
  'C2.reset_before_headers': [(fault) => base(fault, {}, { stages: [...OK.slice(0, -1), 'client.failed'] })],
  'C6.proxy_504_while_running': [
    (fault) =>
      base(fault, {
        targets: [target({ read_at: String(timeAt(1.3)) })],
        options: { asOfUnixNano: timeAt(1.5) },
      }),
    undefined,
  ],
  'C7.redirect_307_replay': [
    (fault) => base(fault, { receipts: [receipt(), receipt({ version: 3, at: String(timeAt(6)) })] }),
    (fault) => replayedDelivery(fault),
  ],
  'C8.duplicate_delivery': [
    (fault) => base(fault, { receipts: [receipt(), receipt({ version: 3, at: String(timeAt(6)) })] }),
    (fault) => replayedDelivery(fault),
  ],
  'C9.out_of_order_two_calls': [
    () => [
      {
        legs: [
          leg({
            stages: [
              'client.sent',
              'server.received',
              'server.effect_requested',
              'server.effect_confirmed',
              'server.result_sent',
              'client.result_received',
            ],
            outcome: 'TOOL_SUCCESS',
          }),
          leg(
            { stages: OK, outcome: 'TOOL_SUCCESS', shift: -0.5 },
            { callId: 'c-2', operationId: 'row-43:done:v1' },
          ),
        ],
        receipts: [receipt(), receipt({ operation_id: 'row-43:done:v1', call_id: 'c-2', object: 'row-43' })],
      },
    ],
  ],
  'C10.retry_overlap_same_key': [() => [overlapping([receipt()], true)], () => [overlapping(twice, false)]],
  'C11.retry_new_key': [
    () => {
      const digest = { attributes: { 'waybill.args.digest': '5f70bf18' } };
      return [
        {
          legs: [
            leg(
              {
                stages: [
                  'client.sent',
                  'server.received',
                  'server.effect_requested',
                  'server.effect_confirmed',
                  'server.result_sent',
                  'client.timeout',
                ],
                outcome: 'TIMEOUT',
                client: digest,
              },
              { operationId: 'create:aaa' },
            ),
            leg(
              { stages: OK, outcome: 'TOOL_SUCCESS', shift: 10, client: digest },
              { callId: 'c-2', operationId: 'create:bbb' },
            ),
          ],
          receipts: [
            receipt({ operation_id: 'create:aaa', version: 1 }),
            receipt({ operation_id: 'create:bbb', call_id: 'c-2', object: 'row-43', version: 1 }),
          ],
        },
      ];
    },
  ],
  'D1.fail_before_commit': [(fault) => base(fault, { receipts: [failed] }), (fault) => base(fault, none)],
  'D2.false_success': [
    (fault) => [
      ...base(fault, { ...none, targets: [target()] }, happened(fault)),
      ...base(fault, { receipts: [failed] }, happened(fault)),
    ],
    (fault) => base(fault, none, happened(fault)),
  ],
  'D3.error_text_as_success': [
    (fault) => [...base(fault, { ...none, targets: [target()] }), ...base(fault, { receipts: [failed] })],
    (fault) => base(fault, none),
  ],
  'D4.commit_unknown': [(fault) => base(fault, none)],
  'D5.partial_effect': [
    (fault) =>
      base(fault, {
        receipts: [
          receipt({ object: 'part-1' }),
          receipt({ object: 'part-2', observed: 'todo', version: 1, result: 'failed' }),
        ],
      }),
  ],
  'D6.crash_before_commit': [(fault) => base(fault, { ...none, loss: [collectorLoss] })],
  'D7.crash_after_commit': [
    (fault) => base(fault, { ...none, loss: [collectorLoss], targets: [applied], outbox: [outboxRow] }),
  ],
  'D8.crash_after_receipt': [undefined],
  'D9.stale_read_back': [
    (fault) =>
      base(fault, { targets: [target({ read_at: String(timeAt(6)) })], options: { graceMs: 60_000 } }),
    (fault) => base(fault, { targets: [target({ read_at: String(timeAt(6)) })] }),
  ],
  'D10.overwritten_later': [(fault) => base(fault, { targets: [target({ state: 'archived', version: 3 })] })],
  'E1.receipt_sink_down': [(fault) => base(fault, { ...none, outbox: [outboxRow] })],
  'E2.receipt_ack_lost': [(fault) => base(fault, { receipts: [receipt(), receipt()] })],
  'E3.receipt_late': [
    (fault) => base(fault, { ...none, targets: [applied] }),
    (fault) => base(fault, { targets: [applied], receipts: [receipt()] }),
  ],
  'E4.receipt_without_effect': [
    (fault) =>
      ['TOOL_ERROR', 'TOOL_SUCCESS'].flatMap((outcome) =>
        base(fault, { receipts: [receipt()], targets: [target()] }, { outcome }),
      ),
  ],
  'E5.receipt_forged': [
    async (fault) => base(fault, { receipts: [await signed('attacker')], options: { keys } }),
  ],
  // Presented: the agent's span names the receipt of another operation, or the receipt names a call of this one.
  'E6.receipt_replayed': [
    async (fault) => {
      const other = leg(
        { stages: OK, outcome: 'TOOL_SUCCESS', shift: 20 },
        { callId: 'c-7', operationId: 'row-7:done:v1' },
      );
      const id = '8d2f9b1e-0000-4000-8000-000000000007';
      const genuine = { receipt_id: id, operation_id: 'row-7:done:v1', call_id: 'c-7' };
      const [named, called] = await Promise.all([
        signed('writer', genuine),
        signed('writer', { ...genuine, call_id: 'c-1' }),
      ]);
      const naming = { client: { attributes: { 'waybill.receipt.id': id } } };
      return [
        ...base(fault, { receipts: [named], options: { keys } }, naming),
        ...base(fault, { receipts: [called], options: { keys } }),
      ].map((world) => ({ ...world, legs: [...world.legs, other] }));
    },
  ],
  'E8.receipt_tail_truncated': [undefined, (fault) => base(fault, { ...none, targets: [applied] })],
  'F14.accepted_202': [
    (fault) => base(fault, none),
    (fault) =>
      base(
        fault,
        { receipts: [receipt()] },
        {
          stages: [
            'client.sent',
            'server.received',
            'server.effect_requested',
            'server.effect_confirmed',
            'server.result_sent',
            'client.timeout',
          ],
        },
      ),
  ],
  'G6.batch_array': [(fault) => base(fault, {}, masked)],
  'G8.content_missing': [(fault) => base(fault, {}, masked)],
  'G9.unknown_result_type': [(fault) => base(fault, {}, masked)],
  'G12.html_200': [
    (fault) => base(fault, none, { stages: ['client.sent', 'client.failed'] }),
    (fault) => base(fault, { receipts: [receipt()] }),
  ],
  'H1.collector_down': [(fault) => base(fault, { legs: [] })],
  'H2.collector_queue_full': [
    (fault) => base(fault, { loss: [collectorLoss] }, { stages: OK, server: { droppedEvents: 2 } }),
  ],
  'H3.collector_sigkill': [(fault) => base(fault, {}, journal)],
  'H4.server_sigkill_before_export': [(fault) => base(fault, {}, journal)],
  'H5.sampled_out': [(fault) => base(fault, {}, journal)],
  'H6.propagation_broken': [
    (fault) => base(fault, {}, { server: { traceId: '0af7651916cd43dd8448eb211c80319c' } }),
  ],
  'H7.duplicate_export': [(fault) => base(fault, { order: 'twice' })],
  'H8.out_of_order_spans': [(fault) => base(fault, { order: 'reversed' })],
  'I2.event_removed': [(fault) => base(fault, {}, { server: { lostSeq: [3] } })],
  'I3.outcome_rewritten': [
    (fault) => [
      ...base(fault, { receipts: [failed] }, { ...happened(fault), outcome: 'TOOL_SUCCESS' }),
      ...base(fault, { ...none, targets: [target()] }, { ...happened(fault), outcome: 'TOOL_SUCCESS' }),
    ],
    (fault) => base(fault, none, { ...happened(fault), outcome: 'TOOL_SUCCESS' }),
  ],
  'I4.span_forged': [
    (fault) => base(fault, { ...none, targets: [target()] }, { outcome: 'TOOL_SUCCESS' }),
    (fault) => base(fault, none, { outcome: 'TOOL_SUCCESS' }),
  ],
  'I5.whole_operation_erased': [(fault) => base(fault, { legs: [] })],
  'I7.operation_id_swapped': [
    () => [
      {
        legs: [swapped('c-1', 'row-43:done:v1', 0), swapped('c-2', OPERATION, 10)],
        receipts: [
          receipt(),
          receipt({
            operation_id: 'row-43:done:v1',
            call_id: 'c-2',
            object: 'row-43',
            at: String(timeAt(14)),
          }),
        ],
      },
    ],
  ],
  'I8.timestamps_shifted': [
    (fault) =>
      base(
        fault,
        {},
        {
          client: {
            stages: [
              ['client.sent', 100],
              ['client.result_received', 110],
            ],
          },
        },
      ),
  ],
  'J4.session_404': [
    (fault) =>
      base(fault, none, {
        client: { reason: 'session_lost', attributes: { 'http.response.status_code': 404 } },
      }),
  ],
  'J5.server_restart_between_attempts': [() => [retried(twice, false)]],
  'J6.key_reused_other_args': [
    () => [
      {
        legs: [
          leg({
            stages: OK,
            outcome: 'TOOL_SUCCESS',
            client: { attributes: { 'waybill.args.digest': 'aaaa' } },
          }),
          second({
            stages: ['client.sent', 'server.received', 'server.result_sent', 'client.result_received'],
            outcome: 'TOOL_ERROR',
            client: { attributes: { 'waybill.args.digest': 'bbbb' } },
          }),
        ],
        receipts: [receipt()],
      },
    ],
  ],
  'J7.key_expired': [() => [retried(twice, false)]],
};

function replayedDelivery(fault: Fault): readonly World[] {
  return base(fault, { receipts: [receipt()] }).map((world) => ({
    ...world,
    legs: world.legs.map((each) => ({
      ...each,
      servers: each.servers.map((server, nth): Recorded =>
        nth === 0
          ? server
          : {
              stages: [
                ['server.received', 4.5],
                ['server.result_sent', 7],
              ],
              outcome: 'TOOL_SUCCESS',
              attributes: { 'waybill.effect.replayed': true },
            },
      ),
    })),
  }));
}

/** The second attempt is sent while the first one still runs. */
function overlapping(receipts: readonly Json[], replayed: boolean): World {
  return {
    legs: [
      {
        callId: 'c-1',
        operationId: OPERATION,
        client: {
          stages: [
            ['client.sent', 0],
            ['client.timeout', 1],
          ],
          outcome: 'TIMEOUT',
        },
        servers: [
          {
            stages: [
              ['server.received', 0.5],
              ['server.effect_requested', 4],
              ['server.effect_confirmed', 7],
              ['server.result_sent', 8],
            ],
            outcome: 'TOOL_SUCCESS',
          },
        ],
      },
      {
        callId: 'c-2',
        operationId: OPERATION,
        client: {
          stages: [
            ['client.sent', 2],
            ['client.result_received', 12],
          ],
          outcome: 'TOOL_SUCCESS',
        },
        servers: [
          replayed
            ? {
                stages: [
                  ['server.received', 3],
                  ['server.result_sent', 11],
                ],
                outcome: 'TOOL_SUCCESS',
                attributes: { 'waybill.effect.replayed': true },
              }
            : {
                stages: [
                  ['server.received', 3],
                  ['server.effect_requested', 5],
                  ['server.effect_confirmed', 9],
                  ['server.result_sent', 11],
                ],
                outcome: 'TOOL_SUCCESS',
              },
        ],
      },
    ],
    receipts,
  };
}

/** The worlds that one entry of a fault's `expect` stands for. */
export async function worldsOf(fault: Fault, entry: number): Promise<readonly World[]> {
  const special = SPECIAL[fault.id]?.[entry];
  return special === undefined ? base(fault) : special(fault);
}
