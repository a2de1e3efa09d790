/**
 * One case in the shapes in which exporters and backends write it. The JSON report is compared byte by byte; taken out
 * is only what says where the evidence was read: the lists `inputs` and `places`.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { audit, renderJson } from '@waybill/audit';
import type { AuditReport } from '@waybill/audit';
import { describe, expect, test } from 'vitest';
import { asRecords, bytesOf } from './inputs.js';

const shapes = fileURLToPath(new URL('../cases/shapes/', import.meta.url));
const cases = JSON.parse(
  readFileSync(new URL('../cases/spans-open.json', import.meta.url), 'utf8'),
) as readonly { readonly id: string; readonly receipts: readonly unknown[] }[];
const receipts = cases.find((each) => each.id === 'S03')?.receipts ?? [];

function reportOf(name: string): Promise<AuditReport> {
  return audit({ traces: [shapes + name], receipts: [asRecords('receipts.jsonl', receipts)] });
}

async function textOf(name: string): Promise<string> {
  return bytesOf(await reportOf(name));
}

interface Parsed {
  readonly asOf: { readonly unixNano: string };
  readonly coverage: { readonly withClient: number; readonly withServer: number; readonly gaps: unknown[] };
  readonly inputs: readonly { readonly path: string; readonly damaged: readonly unknown[] }[];
  readonly operations: readonly {
    readonly verdict: string;
    readonly evidence: readonly string[];
    readonly calls: readonly {
      readonly client: { readonly service: string } | null;
      readonly server: { readonly service: string } | null;
    }[];
  }[];
  readonly findings: readonly { readonly rule: string; readonly message: string }[];
  readonly places: { readonly operations: readonly (readonly string[])[] };
}

async function parsedOf(name: string): Promise<Parsed> {
  return JSON.parse([...renderJson(await reportOf(name))].join('')) as Parsed;
}

const FIRST = 's03-hex.json';
const differing = ['single-span', 'truncated-last-line', 'numbers-upperhex', 'noscope-noresource'];
const equal = readdirSync(shapes).filter((name) => !differing.some((each) => name.includes(each)));

test.each(equal)('%s gives the bytes of the first shape', async (name) => {
  expect(await textOf(name)).toBe(await textOf(FIRST));
});

test('thirteen of the seventeen shapes are compared so', () => {
  expect(equal).toHaveLength(13);
});

test('what is compared says nothing of files, lines and formats', async () => {
  const text = await textOf('s03-lines.jsonl');
  expect(text).toContain('"span:4bf92f3577b34da6a3ce929d0e0e4736:a000000000000001"');
  expect(text).not.toMatch(/s03|"line"|"offset"|"source":"s1"|\bs1:/);
});

test('the places say which line each piece of evidence was read from', async () => {
  const { operations, places } = await parsedOf('s03-lines.jsonl');
  expect(operations[0]?.evidence.map((name, index) => [name, places.operations[0]?.[index]])).toEqual([
    ['span:4bf92f3577b34da6a3ce929d0e0e4736:a000000000000001', 's1:1'],
    ['span:4bf92f3577b34da6a3ce929d0e0e4736:b000000000000001', 's1:2'],
    expect.arrayContaining(['receipts:1']),
  ]);
});

describe('four shapes differ, each in one stated way', () => {
  test('single-span has one side', async () => {
    const { coverage } = await parsedOf('s03-single-span.json');
    expect(coverage).toMatchObject({ withClient: 1, withServer: 0 });
  });

  test('truncated-last-line names the damage, and judges the same but for what stood there', async () => {
    const name = readdirSync(shapes).find((each) => each.includes('truncated-last-line')) ?? '';
    const cut = await parsedOf(name);
    expect(cut.inputs[0]?.damaged).toHaveLength(1);
    expect(cut.findings.filter((finding) => finding.rule === 'input-damaged')).toHaveLength(1);
  });

  test('numbers-upperhex has times that are one nanosecond off, and nothing else', async () => {
    const text = await textOf('s03-numbers-upperhex.json');
    const first = await textOf(FIRST);
    const times = (from: string): readonly bigint[] => (from.match(/\b\d{19}\b/g) ?? []).map(BigInt);
    expect(times(text)).toEqual(times(first).map((time) => time + 1n));
    expect(text.replaceAll(/\b\d{19}\b/g, 'T')).toBe(first.replaceAll(/\b\d{19}\b/g, 'T'));
  });

  test('noscope-noresource has no service, and nothing else', async () => {
    const name = 's03-noscope-noresource.json';
    const { operations } = await parsedOf(name);
    expect(operations[0]?.calls[0]?.client?.service).toBe('');
    const blank = (text: string): string => text.replaceAll(/"service":"[^"]*"/g, '"service":""');
    expect(blank(await textOf(name))).toBe(blank(await textOf(FIRST)));
  });
});
