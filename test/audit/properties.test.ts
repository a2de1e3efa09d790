import { audit } from '@waybill/audit';
import type { AuditReport } from '@waybill/audit';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { asRecords, asSource, bytesOf } from './inputs.js';
import { linesOf, worldArbitrary } from './matrix/arbitrary.js';
import { inputsOf, timeAt } from './matrix/world.js';
import type { Leg, Recorded, World } from './matrix/world.js';

const RUNS = { numRuns: 150 };

function run(world: World): Promise<AuditReport> {
  const { inputs, options } = inputsOf(world);
  return audit(inputs, options);
}

describe('the same evidence gives the same report', { timeout: 240_000 }, () => {
  test('in any order of lines, in any split into files, delivered twice', async () => {
    const shuffled = worldArbitrary.chain((world) => {
      const lines = linesOf(world);
      return fc.record({
        world: fc.constant(world),
        lines: fc.shuffledSubarray([...lines, ...lines], { minLength: lines.length * 2 }),
        cut: fc.nat(lines.length * 2),
        receipts: fc.shuffledSubarray([...world.receipts, ...world.receipts], {
          minLength: world.receipts.length * 2,
        }),
      });
    });
    await fc.assert(
      fc.asyncProperty(shuffled, async ({ world, lines, cut, receipts }) => {
        const { inputs, options } = inputsOf(world);
        const files = [lines.slice(0, cut), lines.slice(cut)].filter((file) => file.length > 0);
        const other = await audit(
          {
            ...inputs,
            traces: files.map((file, index) => asSource(file.join('\n'), `s${index + 1}`)),
            receipts: [asRecords('receipts.jsonl', receipts)],
          },
          options,
        );
        expect(bytesOf(other)).toBe(bytesOf(await audit(inputs, options)));
      }),
      RUNS,
    );
  });
});

type Removal = 'client' | 'servers' | { readonly side: 'client' | 'server'; readonly stage: number };

/** Takes a side, or one event, out of one leg; the number of the event stays taken. */
function without(leg: Leg, removal: Removal): Leg {
  if (removal === 'client') {
    const { callId, operationId, servers } = leg;
    return { callId, operationId, servers };
  }
  if (removal === 'servers') return { ...leg, servers: [] };
  const lose = (recorded: Recorded): Recorded => {
    if (recorded.stages.length < 2) return recorded;
    const place = removal.stage % recorded.stages.length;
    return {
      ...recorded,
      stages: recorded.stages.filter((_, index) => index !== place),
      lostSeq: [place + 1],
    };
  };
  if (removal.side === 'client') return leg.client === undefined ? leg : { ...leg, client: lose(leg.client) };
  return { ...leg, servers: leg.servers.map(lose) };
}

const removalArbitrary: fc.Arbitrary<Removal> = fc.oneof(
  fc.constantFrom<Removal>('client', 'servers'),
  fc.record({ side: fc.constantFrom('client' as const, 'server' as const), stage: fc.nat(3) }),
);

/** The stated limits of DESIGN 2.4: a half of a contradiction is lost, or nothing at all is left of an attempt. */
function isStatedLimit(before: AuditReport, world: World, after: World): boolean {
  const [operation] = before.operations;
  const contradicts =
    operation === undefined ||
    ['evidence_conflict', 'duplicate_effect', 'false_success'].includes(operation.verdict) ||
    world.legs.some((leg) => leg.client?.reason === 'connect' && leg.servers.length > 0) ||
    world.legs.some((leg) => isUnsent(leg) && leg.servers.length > 0);
  const emptied = after.legs.some((leg) => leg.client === undefined && leg.servers.length === 0);
  return contradicts || emptied || fewerDeliveries(world, after);
}

function isUnsent(leg: Leg): boolean {
  return leg.client !== undefined && !leg.client.stages.some(([name]) => name === 'client.sent');
}

/** A request that was delivered twice and of whose second delivery nothing is left. */
function fewerDeliveries(world: World, after: World): boolean {
  return world.legs.some((leg, index) => {
    const left = after.legs[index]?.servers.length ?? 0;
    return leg.servers.length > 1 && left < leg.servers.length;
  });
}

describe('what is lost proves nothing', { timeout: 240_000 }, () => {
  test('removing events or whole sides never leads to verified_done, not_delivered or a repeat', async () => {
    await fc.assert(
      fc.asyncProperty(worldArbitrary, removalArbitrary, fc.nat(2), async (world, removal, at) => {
        const index = at % world.legs.length;
        const after = {
          ...world,
          legs: world.legs.map((leg, place) => (place === index ? without(leg, removal) : leg)),
        };
        const [one, two] = [await run(world), await run(after)];
        fc.pre(!isStatedLimit(one, world, after));
        const [before] = one.operations;
        for (const operation of two.operations) {
          if (['verified_done', 'not_delivered'].includes(operation.verdict)) {
            expect(operation.verdict).toBe(before?.verdict);
          }
          if (operation.action === 'retry_same_operation_id') expect(before?.action).toBe(operation.action);
        }
      }),
      { numRuns: 400 },
    );
  });
});

describe('an audit as of an earlier time', { timeout: 240_000 }, () => {
  test('knows nothing of what came later', async () => {
    await fc.assert(
      fc.asyncProperty(worldArbitrary, fc.integer({ min: 1, max: 65 }), async (world, place) => {
        const asOf = timeAt(place + 0.5);
        const options = { asOfUnixNano: asOf };
        const known = await run({ ...world, options });
        // Another future: what ends later ends otherwise, what begins later never happens.
        const other: World = {
          ...world,
          options,
          legs: world.legs
            .filter((leg) =>
              [leg.client, ...leg.servers].some((each) => each !== undefined && begins(each) <= asOf),
            )
            .map((leg) => ({
              ...leg,
              ...(leg.client === undefined ? {} : { client: changed(leg.client, asOf) }),
              servers: leg.servers.filter((each) => begins(each) <= asOf).map((each) => changed(each, asOf)),
            })),
          receipts: world.receipts.filter(
            (row) => typeof row !== 'string' && BigInt(String(row['at'])) <= asOf,
          ),
          targets: (world.targets ?? []).filter((row) => BigInt(String(row['read_at'])) <= asOf),
        };
        expect(operationsOf(await run(other))).toEqual(operationsOf(known));
      }),
      RUNS,
    );
  });
});

function begins(recorded: Recorded): bigint {
  return timeAt(Math.min(...recorded.stages.map(([, at]) => at)) - 0.1);
}

function changed(recorded: Recorded, asOf: bigint): Recorded {
  const ends = timeAt(Math.max(...recorded.stages.map(([, at]) => at)) + 0.1);
  if (ends <= asOf) return recorded;
  return {
    ...recorded,
    outcome: 'JSONRPC_ERROR',
    stages: [
      ...recorded.stages.filter(([, at]) => timeAt(at) <= asOf),
      [
        (recorded.stages[0]?.[0] ?? '').startsWith('client') ? 'client.cancelled' : 'server.result_dropped',
        500,
      ],
    ],
  };
}

function operationsOf(report: AuditReport): unknown {
  return report.operations.map((operation) => ({ ...operation, places: undefined }));
}
