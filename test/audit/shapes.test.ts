import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { audit, renderJson } from '@waybill/audit';
import { expect, test } from 'vitest';
import { asRecords } from './inputs.js';

const shapes = fileURLToPath(new URL('../cases/shapes/', import.meta.url));
const cases = JSON.parse(
  readFileSync(new URL('../cases/spans-open.json', import.meta.url), 'utf8'),
) as readonly { readonly id: string; readonly receipts: readonly unknown[] }[];
const receipts = cases.find((each) => each.id === 'S03')?.receipts ?? [];

/**
 * The bytes of the report without what speaks of the file and not of the calls: the whole list of inputs (names, sizes,
 * formats, damage), line numbers, and the records that the file was cut into.
 */
async function bytesOf(name: string): Promise<string> {
  const report = await audit({
    traces: [shapes + name],
    receipts: [asRecords('receipts.jsonl', receipts)],
  });
  return [...renderJson(report)]
    .join('')
    .replaceAll(shapes + name, 'SOURCE')
    .replace(/"inputs": \[[^]*?\n {2}\]/, '"inputs": []')
    .replaceAll(/"line":\d+/g, '"line":0')
    .replaceAll(/"s1:\d+"(,"s1:\d+")*/g, '"s1"');
}

const differing = ['single-span', 'truncated-last-line', 'numbers-upperhex', 'noscope-noresource'];
const equal = readdirSync(shapes).filter((name) => !differing.some((each) => name.includes(each)));
test.each(equal)('%s gives the judgement of the first shape, byte for byte', async (name) => {
  expect(await bytesOf(name)).toBe(await bytesOf('s03-hex.json'));
});
