/** The bench's writer of OTLP protobuf, written apart from the reader: every span set reads the same in both forms. */
import { readFileSync } from 'node:fs';
import { audit } from '@waybill/audit';
import type { InputSource } from '@waybill/audit';
import { expect, test } from 'vitest';
import { framed } from '../../bench/otlp-proto.mjs';
import { asRecords, asSource, bytesOf } from './inputs.js';

const cases = JSON.parse(
  readFileSync(new URL('../cases/spans-open.json', import.meta.url), 'utf8'),
) as readonly {
  readonly id: string;
  readonly otlp: { readonly resourceSpans: readonly unknown[] };
  readonly receipts: readonly unknown[];
}[];

test.each(cases)('$id gives the same bytes of the report from JSON and from protobuf', async (each) => {
  const receipts = [asRecords('receipts.jsonl', each.receipts)];
  const binary: InputSource = { kind: 'bytes', id: 's1', path: 's1.binpb', bytes: framed(each.otlp) };
  const [json, proto] = [
    await audit({ traces: [asSource(JSON.stringify(each.otlp))], receipts }),
    await audit({ traces: [binary], receipts }),
  ];
  expect(proto.inputs[0]?.format).toBe('otlp-framed');
  expect(bytesOf(proto)).toBe(bytesOf(json));
});
