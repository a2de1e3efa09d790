import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonRecords } from './json-records.js';

const SHAPES = fileURLToPath(new URL('../../../../test/cases/shapes/', import.meta.url));

type Seen = readonly [what: string, line: number, content: string];

/** What the framing makes of bytes that come in pieces. */
function cut(pieces: Iterable<Uint8Array>, only?: ReadonlySet<number>): readonly Seen[] {
  const seen: Seen[] = [];
  const records = new JsonRecords(
    {
      record(bytes, line) {
        const text = bytes.toString();
        try {
          JSON.parse(text);
        } catch {
          return false;
        }
        seen.push(['record', line, text]);
        return true;
      },
      problem(problem, _bytes, line) {
        seen.push([problem, line, '']);
      },
      wantsLine: only === undefined ? undefined : (line) => only.has(line),
    },
    64 << 20,
  );
  for (const piece of pieces) records.push(piece);
  records.end();
  return seen;
}

function* inPieces(bytes: Uint8Array, size: number): Iterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const GOOD = '{"resourceSpans":[{"a":"}{][\\"\\\\"}]}';
const SAMPLES: readonly (readonly [string, string])[] = [
  ...readdirSync(SHAPES)
    .filter((name) => !name.endsWith('.gz'))
    .map((name) => [name, readFileSync(SHAPES + name, 'utf8')] as const),
  ['lines with damage', `${GOOD}\n{"a":\n${GOOD}\n{"b" "c"}\n}\n${GOOD}`],
  ['arrays in arrays', `[[${GOOD},\n ${GOOD}],[\n${GOOD}]]\n`],
  ['text sequences', `\u001e${GOOD}\n\u001e${GOOD}\n`],
  ['a broken document before lines', `{\n "x": "\n\n${GOOD}\n${GOOD}`],
  ['documents with blank lines and CRLF', `\r\n{\r\n "a": 1\r\n}\r\n\r\n{\r\n}\r\n`],
];

describe('records do not depend on how the bytes arrive', () => {
  it.each(SAMPLES)('%s', (_name, text) => {
    const bytes = Buffer.from(text);
    const whole = cut([bytes]);
    for (const size of [1, 2, 3, 7, 64, 1_000]) expect(cut(inPieces(bytes, size))).toEqual(whole);
  });

  it('any text of the characters that matter (seed 20260930)', { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('{', '}', '[', ']', '"', '\\', '\n', ',', ' ', 'x', GOOD, `\n${GOOD}\n`), {
          maxLength: 30,
        }),
        fc.integer({ min: 1, max: 9 }),
        (parts, size) => {
          const bytes = Buffer.from(parts.join(''));
          expect(cut(inPieces(bytes, size))).toEqual(cut([bytes]));
        },
      ),
      { seed: 20_260_930, numRuns: 3_000 },
    );
  });
});

describe('large inputs', () => {
  const record = (index: number, bytes: number): string =>
    JSON.stringify({ resourceSpans: [{ index, filler: 'é'.repeat(bytes / 2) }] });

  it.each([
    ['lines of every size around the buffer', '\n', (text: string) => text],
    ['pretty-printed documents', '\n', (text: string) => JSON.stringify(JSON.parse(text), null, 1)],
    ['one array on one line', ',', (text: string) => text],
  ])('%s are cut whole', (_name, separator, layout) => {
    const sizes = [10, 400_000, 3_000_000, 20, 1_048_576, 1_048_500, 5, 700_000, 700_000];
    const texts = sizes.map((size, index) => layout(record(index, size)));
    const seen = cut(inPieces(Buffer.from(texts.join(separator)), 262_144));
    expect(seen.map(([what]) => what)).toEqual(sizes.map(() => 'record'));
    expect(seen.map(([, , text]) => JSON.parse(text) as unknown)).toEqual(
      texts.map((text) => JSON.parse(text)),
    );
  });

  it('a line of 12 MB, longer than lines that are waited for, is one record', () => {
    const text = record(0, 12 << 20);
    const seen = cut(inPieces(Buffer.from(`${text}\n${GOOD}\n`), 262_144));
    expect(seen.map(([what, line]) => [what, line])).toEqual([
      ['record', 1],
      ['record', 2],
    ]);
  });

  it('damaged lines without end cost time in proportion to their bytes', { timeout: 60_000 }, () => {
    const hostile = Buffer.from('{\n'.repeat(200_000));
    const started = process.cpuUsage();
    expect(cut([hostile]).length).toBe(200_000);
    const { user } = process.cpuUsage(started);
    // A quadratic scan takes minutes.
    expect(user / 1_000_000).toBeLessThan(30);
  });
});

describe('a second reading', () => {
  it.each(SAMPLES)('of %s finds the same records on the lines asked for', (_name, text) => {
    const bytes = Buffer.from(text);
    const records = cut([bytes]).filter(([what]) => what === 'record');
    for (const line of new Set(records.map(([, at]) => at))) {
      const again = cut([bytes], new Set([line])).filter(([what]) => what === 'record');
      expect(again).toEqual(records.filter(([, at]) => at === line));
    }
  });
});
