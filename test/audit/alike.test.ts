/**
 * Spans that are alike are packed without being converted one by one, and plain calls that are alike are judged once.
 * Nothing of that may show: every report is compared with one for which each span was converted and each call judged.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { audit, defineRule } from '@waybill/audit';
import type { AuditReport, Rule } from '@waybill/audit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asRecords, asSource, bytesOf } from './inputs.js';

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

/** With a rule that is not built in every operation is visited. */
const visitor: Rule<unknown> = defineRule<unknown>({
  meta: {
    id: 'test/visitor',
    description: 'Sees every operation and says nothing.',
    messages: {},
    defaultLevel: 'info',
    defaultOptions: undefined,
  },
  create: () => ({ operation: () => undefined }),
});

/** Ids in upper case are no plain form: such a span is read in the ordinary way, and its ids are the same. */
function loudIds(value: Json): Json {
  if (Array.isArray(value)) return value.map(loudIds);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      ['traceId', 'spanId', 'parentSpanId'].includes(key) && typeof member === 'string'
        ? member.toUpperCase()
        : loudIds(member),
    ]),
  );
}

async function both(
  documents: readonly Json[],
  receipts: readonly Json[],
): Promise<{ readonly quick: AuditReport; readonly thorough: AuditReport }> {
  const inputs = (lines: readonly Json[]): Parameters<typeof audit>[0] => ({
    traces: [asSource(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))],
    receipts: [asRecords('receipts.jsonl', receipts)],
  });
  return {
    quick: await audit(inputs(documents)),
    thorough: await audit(inputs(documents.map(loudIds)), { rules: [visitor] }),
  };
}

const OWN = ['waybill.call.id', 'waybill.operation.id', 'waybill.run.id', 'waybill.call.continues'];
const OWN_OF_RECEIPTS = ['operation_id', 'call_id', 'run_id', 'receipt_id'];

/** The same history of another time: every id is its own. */
function copy(value: Json, number: number): Json {
  if (Array.isArray(value)) return value.map((item) => copy(item, number));
  if (typeof value !== 'object' || value === null) return value;
  const { key, value: inner } = value;
  if (
    typeof key === 'string' &&
    OWN.includes(key) &&
    isObject(inner) &&
    typeof inner['stringValue'] === 'string'
  ) {
    return { key, value: { stringValue: `${inner['stringValue']}~${number}` } };
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      if (typeof member !== 'string' || member === '') return [name, copy(member, number)];
      if (OWN_OF_RECEIPTS.includes(name)) return [name, `${member}~${number}`];
      const isId = /^(?:trace|span|parentSpan)(?:Id|_id)$/.test(name);
      return [
        name,
        isId
          ? `${member.slice(0, -6)}${(number + 0xabc).toString(16).padStart(4, '0')}${member.slice(-2)}`
          : member,
      ];
    }),
  );
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const cases = JSON.parse(
  readFileSync(new URL('../cases/spans-open.json', import.meta.url), 'utf8'),
) as readonly {
  readonly id: string;
  readonly otlp: Json;
  readonly receipts: readonly Json[];
}[];

test.each(cases)(
  'span set $id, four times over, gives the report of every span and call by itself',
  async (each) => {
    const numbers = [1, 2, 3, 4];
    const documents = numbers.map((number) => copy(each.otlp, number));
    const receipts = numbers.flatMap((number) => each.receipts.map((receipt) => copy(receipt, number)));
    const { quick, thorough } = await both(documents, receipts);
    expect(bytesOf(quick)).toBe(bytesOf(thorough));
  },
);

describe('an export of a thousand calls', () => {
  const folder = mkdtempSync(join(tmpdir(), 'waybill-alike-'));
  const generator = fileURLToPath(new URL('../../bench/generate.mjs', import.meta.url));
  let documents: JsonObject[] = [];
  let receipts: JsonObject[] = [];
  const lines = (name: string): JsonObject[] =>
    readFileSync(join(folder, name), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as JsonObject);

  beforeAll(() => {
    execFileSync(process.execPath, [generator, '2500', folder]);
    documents = lines('traces.jsonl');
    receipts = lines('receipts.jsonl');
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  test('gives the report of every span and call by itself', async () => {
    const { quick, thorough } = await both(documents, receipts);
    expect(quick.operations.length).toBeGreaterThan(400);
    expect(bytesOf(quick)).toBe(bytesOf(thorough));
  });

  test.each([1, 2, 3, 4, 5, 6])(
    'the same of one where every fourth span is changed (seed %i)',
    async (seed) => {
      const random = randomOf(seed);
      const changed = structuredClone(documents);
      for (const spans of listsOf(changed)) {
        // One that is changed may be there twice then.
        for (const span of spans.slice()) if (random() < 0.25) change(span, spans, random);
      }
      const fewer = receipts.filter(() => random() < 0.9);
      const { quick, thorough } = await both(changed, fewer);
      expect(quick.findings.length).toBeGreaterThan(50);
      expect(bytesOf(quick)).toBe(bytesOf(thorough));
    },
  );
});

function listsOf(documents: readonly JsonObject[]): JsonObject[][] {
  return documents.flatMap((document) =>
    (document['resourceSpans'] as JsonObject[]).flatMap((resource) =>
      (resource['scopeSpans'] as JsonObject[]).map((scope) => scope['spans'] as JsonObject[]),
    ),
  );
}

function change(span: JsonObject, spans: JsonObject[], random: () => number): void {
  const events = (span['events'] ?? []) as JsonObject[];
  const attributes = span['attributes'] as JsonObject[];
  const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)];
  const event = pick(events);
  const attribute = pick(attributes);
  switch (Math.floor(random() * 12)) {
    case 0:
      if (event !== undefined) events.splice(events.indexOf(event), 1);
      break;
    case 1:
      if (event !== undefined)
        event['timeUnixNano'] = String(1_790_000_000_000_000_000n + BigInt(Math.floor(random() * 1e12)));
      break;
    case 2:
      if (attribute !== undefined) attributes.splice(attributes.indexOf(attribute), 1);
      break;
    case 3:
      if (attribute !== undefined) attribute['value'] = { stringValue: 'another' };
      break;
    case 4:
      if (attribute !== undefined) attribute['value'] = { intValue: '7' };
      break;
    case 5:
      spans.push(structuredClone(span));
      break;
    case 6:
      delete span['parentSpanId'];
      break;
    case 7:
      span['parentSpanId'] = 'abcdef0123456789';
      break;
    case 8:
      span['status'] = { code: 2, message: 'no' };
      break;
    case 9:
      span['flags'] = 256;
      break;
    case 10:
      span['endTimeUnixNano'] = span['startTimeUnixNano'] ?? '';
      break;
    default:
      span['droppedEventsCount'] = 1;
  }
}

function randomOf(seed: number): () => number {
  let state = seed * 0x9e3779b9;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5) | 0;
    return (state >>> 0) / 4_294_967_296;
  };
}
