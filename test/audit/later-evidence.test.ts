/**
 * Evidence arrives in pieces: spans of either side, receipts, reads of the target, rows of the outbox. An audit of what
 * has come so far and a later one of more of it are held against each other. What may change, and what may not:
 *
 * - what is there again, or later without anything new, changes nothing;
 * - more telemetry alone takes back a proof, or the advice to repeat, only where it shows a contradiction or an attempt
 *   of which nothing was known (the two limits of DESIGN 2.4, read forwards);
 * - a proof turns into its contrary only with a record that says so: a receipt, a read of the target, an outbox row;
 * - an audit as of an earlier moment says what could be said then, whatever has come since.
 */
import { readFileSync } from 'node:fs';
import { audit } from '@waybill/audit';
import type { AuditReport, ReportOperation } from '@waybill/audit';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { asRecords, asSource, bytesOf } from './inputs.js';
import { OPERATION, linesOf, worldArbitrary } from './matrix/arbitrary.js';
import { START, timeAt } from './matrix/world.js';
import type { World } from './matrix/world.js';

type Row = Readonly<Record<string, unknown>>;

type Piece =
  | {
      readonly kind: 'span';
      readonly line: string;
      readonly side: 'client' | 'server';
      /** Call that the span is of; '' where it says none. */
      readonly call: string;
    }
  | { readonly kind: 'receipt' | 'target' | 'outbox'; readonly row: Row };

interface Moment {
  readonly asOf?: bigint;
  readonly graceMs?: number;
}

function auditOf(pieces: readonly Piece[], moment: Moment = {}): Promise<AuditReport> {
  const rows = (kind: Piece['kind']): readonly Row[] =>
    pieces.flatMap((piece) => (piece.kind === kind && 'row' in piece ? [piece.row] : []));
  const lines = pieces.flatMap((piece) => (piece.kind === 'span' ? [piece.line] : []));
  return audit(
    {
      traces: lines.length === 0 ? [] : [asSource(`${lines.join('\n')}\n`)],
      receipts: [asRecords('receipts.jsonl', rows('receipt'))],
      targets: [asRecords('targets.jsonl', rows('target'))],
      outbox: [asRecords('outbox.jsonl', rows('outbox'))],
    },
    {
      graceMs: moment.graceMs ?? 0,
      ...(moment.asOf === undefined ? {} : { asOfUnixNano: moment.asOf }),
    },
  );
}

/** A client that handed nothing over. */
function isUnsent(piece: Piece): boolean {
  if (piece.kind !== 'span' || piece.side !== 'client') return false;
  return !piece.line.includes('client.sent') || piece.line.includes('"stringValue":"connect"');
}

/**
 * An attempt or a delivery of which nothing was known before; a request that was never sent and yet arrived is one too:
 * with one of its halves it counted as no attempt.
 */
function showsNewAttempt(before: readonly Piece[], added: readonly Piece[]): boolean {
  const known = before.filter((piece) => piece.kind === 'span');
  for (const piece of added) {
    if (piece.kind !== 'span') continue;
    const sameCall = known.filter((each) => each.call === piece.call);
    if (sameCall.length === 0) return true;
    if (piece.side === 'server' && sameCall.some((each) => each.side === 'server' || isUnsent(each)))
      return true;
    known.push(piece);
  }
  return false;
}

const CONTRADICTED: readonly string[] = ['evidence_conflict', 'duplicate_effect', 'false_success'];
const UNDECIDED: readonly string[] = ['unknown_needs_reconciliation', 'open', 'insufficient_evidence'];

/** Why the step from the first to the second is not allowed; undefined when it is. */
function objection(
  first: ReportOperation,
  second: ReportOperation,
  before: readonly Piece[],
  added: readonly Piece[],
): string | undefined {
  const [from, to] = [first.verdict, second.verdict];
  const step = `${from} (${first.rule}, ${first.action}) -> ${to} (${second.rule}, ${second.action})`;
  const newAttempt = showsNewAttempt(before, added);
  const records = added.filter((piece) => piece.kind !== 'span');
  const applied = records.some(
    ({ row, kind }) => kind === 'receipt' && (row['result'] ?? row['outcome']) === 'applied',
  );

  const read = records.some(({ kind }) => kind === 'target');
  if (second.effects.atLeast < first.effects.atLeast && !read && to !== 'evidence_conflict')
    return `${step}: an effect that was proven is gone`;
  if (from === 'verified_done' && to !== from) {
    if (CONTRADICTED.includes(to)) return undefined;
    if (!UNDECIDED.includes(to)) return `${step}: done became not done`;
    if (!newAttempt && records.length === 0) return `${step}: telemetry alone took back a proof`;
  }
  if (from === 'not_delivered' && to !== from && !newAttempt && records.length === 0) {
    if (to !== 'evidence_conflict') return `${step}: telemetry alone took back a proof`;
  }
  if ((from === 'verified_not_done' || from === 'not_delivered') && to === 'verified_done' && !applied) {
    return `${step}: not done became done without a receipt`;
  }
  if (from === 'duplicate_effect' && to !== from && to !== 'evidence_conflict')
    return `${step}: counted twice, then once`;
  if (from === 'executed_receipt_pending' && !read) {
    if (['verified_not_done', 'not_delivered', 'false_success'].includes(to)) {
      return `${step}: the target showed the effect, and nobody read it again`;
    }
  }
  if (records.length === 0 && first.action === 'retry_same_operation_id' && !newAttempt) {
    if (second.action !== first.action && !CONTRADICTED.includes(to)) {
      return `${step}: a repeat was advised too early`;
    }
  }
  return undefined;
}

/** Every operation of the first report is held against the one of the same key in the second. */
function objections(
  first: AuditReport,
  second: AuditReport,
  before: readonly Piece[],
  added: readonly Piece[],
): readonly string[] {
  return [...first.operations].flatMap((operation) => {
    const later = second.operations.find((each) => each.key === operation.key);
    if (later !== undefined) return objection(operation, later, before, added) ?? [];
    // A span that named no call is a view of one that another span names; a call's key gives way to the operation's.
    if (operation.key.startsWith('span:')) return [];
    const calls = operation.calls.map((call) => call.callId);
    const moved = second.operations.find((each) => each.calls.some((call) => calls.includes(call.callId)));
    return moved === undefined ? [`${operation.key} is gone`] : [];
  });
}

/** Audits after each of the pieces has arrived; every pair of them is held against each other. */
async function objectionsOnTheWay(arrival: readonly Piece[], moment: Moment): Promise<readonly string[]> {
  const reports: AuditReport[] = [];
  for (let count = 1; count <= arrival.length; count++)
    reports.push(await auditOf(arrival.slice(0, count), moment));
  return reports.flatMap((first, index) =>
    reports.slice(index + 1).flatMap((second, distance) => {
      const count = index + 1;
      return objections(first, second, arrival.slice(0, count), arrival.slice(count, count + distance + 1));
    }),
  );
}

// --- the span sets

interface Case {
  readonly id: string;
  readonly title: string;
  readonly otlp: { readonly resourceSpans: readonly ResourceSpans[] };
  readonly receipts: readonly (Row & { readonly at: string })[];
  readonly target?: Row;
}
interface ResourceSpans {
  readonly resource?: unknown;
  readonly scopeSpans: readonly { readonly scope?: unknown; readonly spans: readonly CaseSpan[] }[];
}
interface CaseSpan {
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue?: string } }[];
  readonly events?: readonly { readonly timeUnixNano: string }[];
}

const cases = JSON.parse(
  readFileSync(new URL('../cases/spans-open.json', import.meta.url), 'utf8'),
) as readonly Case[];

function lineOf(part: ResourceSpans, scope: unknown, span: CaseSpan): string {
  return JSON.stringify({
    resourceSpans: [{ resource: part.resource, scopeSpans: [{ scope, spans: [span] }] }],
  });
}

function callOf(span: CaseSpan): string {
  const id = span.attributes.find(({ key }) => key === 'waybill.call.id' || key === 'waybill.call_id');
  return id?.value.stringValue ?? '';
}

function piecesOfCase(each: Case, change: (span: CaseSpan) => CaseSpan = (span) => span): readonly Piece[] {
  const spans = each.otlp.resourceSpans.flatMap((part) =>
    part.scopeSpans.flatMap(({ scope, spans: list }) =>
      list.map((span): Piece => ({
        kind: 'span',
        line: lineOf(part, scope, change(span)),
        side: span.kind === 2 ? 'server' : 'client',
        call: callOf(span),
      })),
    ),
  );
  const receipts = each.receipts.map((row): Piece => ({ kind: 'receipt', row }));
  const target: readonly Piece[] =
    each.target === undefined
      ? []
      : [{ kind: 'target', row: { operation_id: 'row-42:done:v1', ...each.target } }];
  return [...spans, ...receipts, ...target];
}

const LATE = START + 3_600_000_000_000n;

describe.each(cases)('$id $title', (each) => {
  const pieces = piecesOfCase(each);

  test('in every order of arrival, no audit on the way contradicts a later one', async () => {
    const order = fc.shuffledSubarray([...pieces], { minLength: pieces.length });
    await fc.assert(
      fc.asyncProperty(order, async (arrival) => {
        expect(await objectionsOnTheWay(arrival, { asOf: LATE })).toEqual([]);
      }),
      { numRuns: 24 },
    );
  });

  test('the last audit says the same in whatever order it came', async () => {
    const whole = bytesOf(await auditOf(pieces));
    expect(bytesOf(await auditOf(pieces.toReversed()))).toBe(whole);
    expect(bytesOf(await auditOf([...pieces, ...pieces.toReversed()]))).toBe(whole);
  });

  test('a later look at the same evidence decides the same', async () => {
    const now = await auditOf(pieces);
    const later = await auditOf(pieces, { asOf: LATE });
    expect(later.operations.map(({ key, verdict, action }) => [key, verdict, action])).toEqual(
      now.operations.map(({ key, verdict, action }) => [key, verdict, action]),
    );
  });

  test('as of each moment of its past, what came later changes nothing', async () => {
    for (const asOf of momentsOf(each)) {
      const known = piecesOfCase({
        ...each,
        otlp: {
          resourceSpans: each.otlp.resourceSpans.map((part) => ({
            ...part,
            scopeSpans: part.scopeSpans.map((scope) => ({
              ...scope,
              spans: scope.spans
                .filter((span) => BigInt(span.startTimeUnixNano) <= asOf)
                .map((span) => endedOtherwise(span, asOf)),
            })),
          })),
        },
        receipts: each.receipts.filter((row) => BigInt(row.at) <= asOf),
      });
      const [then, now] = [await auditOf(known, { asOf }), await auditOf(pieces, { asOf })];
      expect(verdictsOf(now), String(asOf)).toEqual(verdictsOf(then));
    }
  });
});

function momentsOf(each: Case): readonly bigint[] {
  const times = each.otlp.resourceSpans
    .flatMap((part) => part.scopeSpans.flatMap((scope) => scope.spans))
    .flatMap((span) => [
      span.startTimeUnixNano,
      span.endTimeUnixNano,
      ...(span.events ?? []).slice(0, 8).map(({ timeUnixNano }) => timeUnixNano),
    ]);
  const receipts = each.receipts.map((row) => row.at);
  return [...new Set([...times, ...receipts].map(BigInt))].filter((time) => time > 0n);
}

/** Another future: what had not ended by then ends in an error, and nothing later happens in it. */
function endedOtherwise(span: CaseSpan, asOf: bigint): CaseSpan {
  if (BigInt(span.endTimeUnixNano) <= asOf) return span;
  return {
    ...span,
    endTimeUnixNano: String(LATE),
    attributes: [
      ...span.attributes.filter(({ key }) => !key.startsWith('waybill.outcome')),
      { key: 'waybill.outcome', value: { stringValue: 'JSONRPC_ERROR' } },
    ],
    events: (span.events ?? []).filter(({ timeUnixNano }) => BigInt(timeUnixNano) <= asOf),
  };
}

function verdictsOf(report: AuditReport): unknown {
  return report.operations.map((operation) => ({ ...operation, places: undefined, evidence: undefined }));
}

// --- generated histories

const outboxArbitrary = fc.option(
  fc.constantFrom('applied', 'failed').map((outcome): Row => ({
    operation_id: OPERATION,
    state: 'pending',
    outcome,
    created_at: String(timeAt(6)),
  })),
  { nil: undefined },
);

function piecesOfWorld(world: World, outbox: Row | undefined): readonly Piece[] {
  const about = world.legs.flatMap((leg) => [
    ...(leg.client === undefined ? [] : [{ side: 'client' as const, call: leg.callId }]),
    ...leg.servers.map(() => ({ side: 'server' as const, call: leg.callId })),
  ]);
  const spans = linesOf(world).flatMap((line, index): readonly Piece[] => {
    const one = about[index];
    return line === '' || one === undefined ? [] : [{ kind: 'span', line, ...one }];
  });
  const receipts = world.receipts.flatMap((row): readonly Piece[] =>
    typeof row === 'string' ? [] : [{ kind: 'receipt', row }],
  );
  const targets = (world.targets ?? []).map((row): Piece => ({ kind: 'target', row }));
  return [
    ...spans,
    ...receipts,
    ...targets,
    ...(outbox === undefined ? [] : [{ kind: 'outbox', row: outbox } as const]),
  ];
}

const arrivalArbitrary = fc
  .tuple(worldArbitrary, outboxArbitrary)
  .map(([world, outbox]) => piecesOfWorld(world, outbox))
  .chain((pieces) => fc.shuffledSubarray([...pieces], { minLength: pieces.length }));

describe('generated histories', { timeout: 240_000 }, () => {
  test('no audit on the way contradicts a later one', async () => {
    await fc.assert(
      fc.asyncProperty(arrivalArbitrary, async (arrival) => {
        expect(await objectionsOnTheWay(arrival, { asOf: timeAt(100) })).toEqual([]);
      }),
      { numRuns: 400 },
    );
  });

  test('a later look at the same evidence only decides what was open', async () => {
    await fc.assert(
      fc.asyncProperty(arrivalArbitrary, fc.integer({ min: 0, max: 2000 }), async (pieces, graceMs) => {
        const [one, two] = [
          await auditOf(pieces, { asOf: timeAt(75), graceMs }),
          await auditOf(pieces, { asOf: timeAt(500), graceMs }),
        ];
        for (const first of one.operations) {
          const second = two.operations.find(({ key }) => key === first.key);
          if (first.verdict === 'open' || first.action === 'wait') continue;
          expect([second?.verdict, second?.action]).toEqual([first.verdict, first.action]);
        }
      }),
      { numRuns: 300 },
    );
  });
});
