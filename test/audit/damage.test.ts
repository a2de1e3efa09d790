/**
 * Damage of every kind, by a seed: bytes that break the syntax of a record, the framing of binary messages, or the types
 * of a schema. Whatever it is, the audit ends, every operation that was not touched is judged as before, and the place is
 * named. FUZZ_SEED and FUZZ_RUNS change what is tried; both are printed.
 */
import { audit } from '@waybill/audit';
import type { AuditReport } from '@waybill/audit';
import * as fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { framed } from '../../bench/otlp-proto.mjs';
import { asRecords } from './inputs.js';
import { linesOf } from './matrix/arbitrary.js';
import { timeAt } from './matrix/world.js';
import type { Leg, Recorded } from './matrix/world.js';

const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_201);
const numRuns = Number(process.env['FUZZ_RUNS'] ?? 250);
const tried = { syntax: 0, framing: 0, schema: 0 };
afterAll(() => {
  const total = tried.syntax + tried.framing + tried.schema;
  process.stderr.write(
    `damage.test.ts: seed ${seed}, ${total} damages judged (${tried.syntax} of syntax, ${tried.framing} of framing, ${tried.schema} of a schema)\n`,
  );
});

// --- six operations, one line of OTLP JSON each, with a receipt each

const COUNT = 6;
const client: Recorded = {
  outcome: 'TOOL_SUCCESS',
  stages: [
    ['client.sent', 0],
    ['client.result_received', 9],
  ],
};
const server: Recorded = {
  outcome: 'TOOL_SUCCESS',
  stages: [
    ['server.received', 1],
    ['server.effect_requested', 2],
    ['server.effect_confirmed', 4],
    ['server.result_sent', 5],
  ],
};

interface Request {
  readonly resourceSpans: readonly unknown[];
}

/** Both sides of one call in one request, in a trace of its own. */
function requestOf(number: number): Request {
  const traceId = String(number + 1).repeat(32);
  const leg: Leg = {
    callId: `c-${number}`,
    operationId: `op-${number}`,
    client: { ...client, traceId },
    servers: [{ ...server, traceId }],
  };
  const parts = linesOf({ legs: [leg], receipts: [] }).map((line) => JSON.parse(line) as Request);
  return { resourceSpans: parts.flatMap((part) => part.resourceSpans) };
}

const requests = Array.from({ length: COUNT }, (_, number) => requestOf(number));
const lines = requests.map((request) => JSON.stringify(request));
const receipts = asRecords(
  'receipts.jsonl',
  requests.map((_, number) => ({
    operation_id: `op-${number}`,
    call_id: `c-${number}`,
    object: `row-${number}`,
    expected: 'done',
    observed: 'done',
    version: 2,
    result: 'applied',
    at: String(timeAt(4)),
    source: 'writer',
  })),
);

function auditOf(bytes: Uint8Array): Promise<AuditReport> {
  return audit({
    traces: [{ kind: 'bytes', id: 's1', path: 'traces', bytes }],
    receipts: [receipts],
  });
}

/** What is said of each operation but the damaged one. */
function saidOfOthers(report: AuditReport, damaged: number): unknown {
  return [...report.operations]
    .filter(({ key }) => /^op-\d+$/.test(key) && key !== `op-${damaged}`)
    .map(({ key, verdict, action, told, effects, calls }) => {
      const sides = calls.map((call) => [call.client?.outcome, call.server?.outcome]);
      return { key, verdict, action, told, effects, sides };
    })
    .sort((a, b) => (a.key < b.key ? -1 : 1));
}

const whole = await auditOf(Buffer.from(`${lines.join('\n')}\n`));

function places(report: AuditReport): readonly { readonly line?: number; readonly offset?: number }[] {
  for (const finding of report.findings.filter(({ rule }) => rule === 'input-damaged')) {
    expect(finding.level).toBe('error');
    expect(finding.message).toMatch(/traces.*Remedy: /);
  }
  return report.inputs.find(({ id }) => id === 's1')?.damaged ?? [];
}

test('undamaged, six operations are done and nothing is named', () => {
  expect(whole.operations.map(({ verdict }) => verdict)).toEqual(
    Array.from({ length: COUNT }, () => 'verified_done'),
  );
  expect(whole.findings).toEqual([]);
});

// --- syntax

const cutArbitrary = fc.record({
  line: fc.nat(COUNT - 1),
  at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  remove: fc.nat(6),
  insert: fc.string({
    unit: fc.constantFrom('{', '}', '[', ']', '"', ',', ':', '\\', '0', 'e', ' ', '\u0000', 'é'),
    maxLength: 4,
  }),
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Every bracket outside of texts closes one of its kind, and no text is left open. */
function isBalanced(text: string): boolean {
  const open: string[] = [];
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|["{}[\]]/g)) {
    if (token === '"') return false;
    if (token === '{' || token === '[') open.push(token === '{' ? '}' : ']');
    else if (token.length === 1 && open.pop() !== token) return false;
  }
  return open.length === 0;
}

function isAsBefore(report: AuditReport, line: number): boolean {
  const said = (of: AuditReport): string =>
    JSON.stringify(saidOfOthers({ ...of, operations: of.operations }, -1)).replaceAll(/\s/g, '');
  return (
    said(report) === said(whole) && report.operations.find(({ key }) => key === `op-${line}`) !== undefined
  );
}

describe(`damage by seed ${seed}, ${numRuns} of each kind`, { timeout: 240_000 }, () => {
  test('that breaks the syntax of a line costs no other line, and names the line', async () => {
    await fc.assert(
      fc.asyncProperty(cutArbitrary, async ({ line, at, remove, insert }) => {
        const text = lines[line] ?? '';
        const place = Math.floor(at * text.length);
        const broken = text.slice(0, place) + insert + text.slice(place + remove);
        fc.pre(!isJson(broken));
        tried.syntax += 1;
        const report = await auditOf(Buffer.from(`${lines.toSpliced(line, 1, broken).join('\n')}\n`));
        expect(saidOfOthers(report, line)).toEqual(saidOfOthers(whole, line));
        // Several documents on a line, and commas between them, are a layout of their own: nothing is lost.
        if (isBalanced(broken) && isAsBefore(report, line)) return;
        // A bracket that is never closed is known at the end of the input.
        const known = [line + 1, ...(insert.includes('[') ? [COUNT + 1] : [])];
        expect(places(report).some((each) => known.includes(each.line ?? 0))).toBe(true);
      }),
      { seed, numRuns },
    );
  });

  // --- framing

  const frames = requests.map((request) => framed(request));
  const framingArbitrary = fc.record({
    frame: fc.nat(COUNT - 1),
    damage: fc.oneof(
      fc.record({ kind: fc.constant('length' as const), value: fc.nat(0xff_ff_ff_ff) }),
      fc.record({
        kind: fc.constant('lost' as const),
        from: fc.nat(200),
        count: fc.integer({ min: 1, max: 40 }),
      }),
      fc.record({
        kind: fc.constant('added' as const),
        from: fc.nat(200),
        bytes: fc.uint8Array({ minLength: 1, maxLength: 40 }),
      }),
      fc.record({ kind: fc.constant('cut' as const), left: fc.nat(200) }),
    ),
  });

  test('that breaks the framing costs no other message, and names a byte', async () => {
    await fc.assert(
      fc.asyncProperty(framingArbitrary, async ({ frame, damage }) => {
        const bytes = frames[frame] ?? Buffer.alloc(0);
        let broken: Buffer;
        switch (damage.kind) {
          case 'length':
            fc.pre(damage.value !== bytes.length - 4);
            broken = Buffer.from(bytes);
            broken.writeUInt32BE(damage.value, 0);
            break;
          case 'lost':
            broken = Buffer.concat([
              bytes.subarray(0, damage.from),
              bytes.subarray(damage.from + damage.count),
            ]);
            break;
          case 'added':
            broken = Buffer.concat([
              bytes.subarray(0, damage.from),
              damage.bytes,
              bytes.subarray(damage.from),
            ]);
            break;
          case 'cut':
            broken = bytes.subarray(0, damage.left);
            break;
        }
        tried.framing += 1;
        // What is cut is the end of the file: a writer that stopped.
        const before = frames.slice(0, frame);
        const all = damage.kind === 'cut' ? [...before, broken] : frames.toSpliced(frame, 1, broken);
        const report = await auditOf(Buffer.concat(all));
        const last = damage.kind === 'cut' ? frame : COUNT;
        const others = saidOfOthers(whole, frame) as readonly { readonly key: string }[];
        const kept = others.filter(({ key }) => Number(key.slice(3)) < last);
        expect(
          (saidOfOthers(report, frame) as typeof others).filter(({ key }) => Number(key.slice(3)) < last),
        ).toEqual(kept);
        if (broken.length > 0) expect(places(report).length).toBeGreaterThan(0);
      }),
      { seed, numRuns },
    );
  });

  // --- schema

  type Path = readonly (string | number)[];
  function pathsOf(value: unknown, path: Path = []): readonly Path[] {
    if (typeof value !== 'object' || value === null) return [path];
    const inside = Array.isArray(value)
      ? value.flatMap((each: unknown, index) => pathsOf(each, [...path, index]))
      : Object.entries(value).flatMap(([key, each]) => pathsOf(each, [...path, key]));
    return path.length === 0 ? inside : [path, ...inside];
  }

  function replaced(value: unknown, [step, ...rest]: Path, make: (old: unknown) => unknown): unknown {
    if (step === undefined) return make(value);
    if (Array.isArray(value)) {
      return value.map((each: unknown, index) => (index === step ? replaced(each, rest, make) : each));
    }
    return Object.fromEntries(
      Object.entries(value as object).map(([key, each]: [string, unknown]) => [
        key,
        key === step ? replaced(each, rest, make) : each,
      ]),
    );
  }

  /** A value of another type than the one that stands there. */
  function contradiction(old: unknown): unknown {
    if (Array.isArray(old)) return 'damaged';
    switch (typeof old) {
      case 'object':
        return 'damaged';
      case 'string':
        return { damaged: true };
      default:
        return [{ damaged: true }];
    }
  }

  // A plain value in place of a typed one (`"value": "x"`) is read: some exports write attributes so.
  const paths = pathsOf(requests[0]).filter(
    (path) => !(path.at(-1) === 'value' && typeof path.at(-2) === 'number'),
  );
  test(`that contradicts a type, in each of ${paths.length} places of a request, costs no other operation and names the line`, async () => {
    const unnamed: string[] = [];
    for (const [index, path] of paths.entries()) {
      tried.schema += 1;
      const line = index % COUNT;
      const broken = JSON.stringify(replaced(requests[line], path, contradiction));
      const report = await auditOf(Buffer.from(`${lines.toSpliced(line, 1, broken).join('\n')}\n`));
      expect(saidOfOthers(report, line), path.join('.')).toEqual(saidOfOthers(whole, line));
      if (!places(report).some((each) => each.line === line + 1)) unnamed.push(path.join('.'));
    }
    expect(unnamed).toEqual([]);
  });
});
