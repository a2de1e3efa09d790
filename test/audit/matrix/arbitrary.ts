/** Generated histories of one operation: legs with what each side recorded of them, receipts, a read of the target. */
import * as fc from 'fast-check';
import { inputsOf, timeAt } from './world.js';
import type { Leg, Recorded, World } from './world.js';

export const OPERATION = 'op-1';
/** Outcomes of a client with the stage that ends the call, and whether anything was sent. */
const ENDS = [
  ['TOOL_SUCCESS', undefined, 'client.result_received'],
  ['TOOL_ERROR', undefined, 'client.result_received'],
  ['JSONRPC_ERROR', undefined, 'client.result_received'],
  ['INPUT_REQUIRED', undefined, 'client.result_received'],
  ['TASK_PENDING', undefined, 'client.result_received'],
  ['TIMEOUT', undefined, 'client.timeout'],
  ['CANCELLED', undefined, 'client.cancelled'],
  ['STREAM_INCOMPLETE', 'reset', 'client.failed'],
  ['TRANSPORT_ERROR', 'connect', 'client.failed'],
  ['TRANSPORT_ERROR', 'reset', 'client.failed'],
] as const;

const SERVERS = [
  ['server.received', 'server.result_sent'],
  ['server.received', 'server.effect_requested', 'server.effect_confirmed', 'server.result_sent'],
  ['server.received', 'server.effect_requested', 'server.effect_failed', 'server.result_sent'],
  ['server.received', 'server.effect_requested'],
] as const;

const legArbitrary = fc.record({
  end: fc.constantFrom(...ENDS),
  sent: fc.boolean(),
  client: fc.boolean(),
  servers: fc.array(fc.record({ stages: fc.constantFrom(...SERVERS), replayed: fc.boolean() }), {
    maxLength: 2,
  }),
});

export const worldArbitrary: fc.Arbitrary<World> = fc
  .record({
    legs: fc.array(legArbitrary, { minLength: 1, maxLength: 3 }),
    receipts: fc.array(
      fc.record({
        leg: fc.nat(2),
        version: fc.integer({ min: 1, max: 4 }),
        result: fc.constantFrom('applied', 'failed', 'refused'),
        readBack: fc.boolean(),
        named: fc.boolean(),
      }),
      { maxLength: 3 },
    ),
    target: fc.option(
      fc.record({
        version: fc.integer({ min: 1, max: 4 }),
        state: fc.constantFrom('done', 'todo'),
        fenced: fc.boolean(),
        deduplicates: fc.boolean(),
      }),
      { nil: undefined },
    ),
  })
  .map(({ legs, receipts, target }) => ({
    legs: legs.map((leg, index): Leg => {
      const [outcome, reason, end] = leg.end;
      const at = index * 20;
      const stages: (readonly [string, number])[] = [[end, at + 9]];
      if (leg.sent && reason !== 'connect') stages.unshift(['client.sent', at]);
      const client: Recorded = { stages, outcome, ...(reason === undefined ? {} : { reason }) };
      return {
        callId: `c-${index + 1}`,
        operationId: OPERATION,
        ...(leg.client || leg.servers.length === 0 ? { client } : {}),
        servers: leg.servers.map((server, nth) => ({
          stages: server.stages.map((name, place) => [name, at + 1 + place + nth * 0.3] as const),
          // What the server answered is what the client was told, where it was told anything of it.
          outcome: end === 'client.result_received' ? outcome : 'TOOL_SUCCESS',
          ...(server.replayed ? { attributes: { 'waybill.effect.replayed': true } } : {}),
        })),
      };
    }),
    receipts: receipts.map((row) => ({
      operation_id: OPERATION,
      ...(row.named ? { call_id: `c-${row.leg + 1}` } : {}),
      object: 'row-1',
      expected: 'done',
      ...(row.readBack ? { observed: row.result === 'applied' ? 'done' : 'todo' } : {}),
      version: row.version,
      result: row.result,
      at: String(timeAt(row.leg * 20 + 5)),
      source: 'writer',
    })),
    ...(target === undefined
      ? {}
      : {
          targets: [
            {
              operation_id: OPERATION,
              object: 'row-1',
              expected: 'done',
              read_at: String(timeAt(70)),
              ...target,
            },
          ],
        }),
  }));

export function linesOf(world: World): readonly string[] {
  const [source] = inputsOf(world).inputs.traces;
  if (source === undefined || typeof source === 'string' || source.kind !== 'bytes') return [];
  return new TextDecoder().decode(source.bytes).trimEnd().split('\n');
}
