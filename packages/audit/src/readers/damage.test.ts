import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesOf, collect } from './collect.test-support.js';

const LINES = readFileSync(
  fileURLToPath(new URL('../../../../test/cases/shapes/s03-lines.jsonl', import.meta.url)),
);
const PRETTY = readFileSync(
  fileURLToPath(new URL('../../../../test/cases/shapes/s03-concat-pretty.log', import.meta.url)),
);

function span(index: number): object {
  return {
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: index.toString(16).padStart(16, '0'),
    name: `span ${index}`,
    kind: 3,
    startTimeUnixNano: '1790000000000000000',
    endTimeUnixNano: '1790000000000000001',
  };
}

function request(...spans: object[]): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'agent' } }] },
        scopeSpans: [{ scope: { name: 'scope' }, spans }],
      },
    ],
  });
}

const GOOD = request(span(1));

async function read(
  text: string,
): Promise<{ names: string[]; places: (string | number | undefined)[]; reasons: string[] }> {
  const { spans, damages } = await collect(bytesOf(text));
  return {
    names: spans.map(({ name }) => name),
    places: damages.map(({ at }) => at.line ?? at.offset),
    reasons: damages.map(({ reason }) => reason),
  };
}

describe('damage costs the record that it is in, and is named with its line', () => {
  const other = request(span(2));
  it.each<[string, string, string[], number[]]>([
    ['a line that is no JSON', `${GOOD}\nnonsense\n${other}\n`, ['span 1', 'span 2'], [2]],
    [
      'a line with a missing quote',
      `${GOOD}\n${GOOD.replace('"kind"', '"kind')}\n${other}\n`,
      ['span 1', 'span 2'],
      [2],
    ],
    [
      'a line with a missing bracket',
      `${GOOD}\n${GOOD.slice(0, -1)}\n${other}\n`,
      ['span 1', 'span 1', 'span 2'],
      [2],
    ],
    ['a line that stops in a string', `${GOOD}\n${GOOD.slice(0, 60)}\n${other}\n`, ['span 1', 'span 2'], [2]],
    ['a first line with a missing bracket', `${GOOD.slice(0, -2)}\n${other}\n`, ['span 1', 'span 2'], [1]],
    ['a half last line', `${GOOD}\n${other.slice(0, 80)}`, ['span 1'], [2]],
    ['zeros at the end', `${GOOD}\n\u0000\u0000\u0000`, ['span 1'], [2]],
    ['a bad element of an array', `[${GOOD},{"resourceSpans":[tru]},${other}]`, ['span 1', 'span 2'], [1]],
    ['a document after a broken one', `{\n "resourceSpans": [\n  {"x": "\n ]\n}\n${other}`, ['span 2'], [1]],
    ['nothing but brackets', '{\n{\n{\n', [], [1, 2, 3]],
    ['CRLF and a blank line', `${GOOD}\r\n\r\n{broken\r\n${other}\r\n`, ['span 1', 'span 2'], [3]],
  ])('%s', async (_name, text, names, places) => {
    const found = await read(text);
    expect({ names: found.names, places: found.places }).toEqual({ names, places });
  });

  it.each<[string, string]>([
    ['an empty input', ''],
    ['white space', ' \n\n'],
    ['prose', 'Dear auditor,\n'],
    ['JSON of something else', '{"hello":"world"}'],
    ['a number', '42'],
    ['an archive of nothing', '\u001f\u008b'],
  ])('%s is named and holds no spans', async (_name, text) => {
    const { summary } = await collect(bytesOf(Buffer.from(text, 'latin1')));
    expect(summary.format).toBe('none');
    expect(summary.spans).toBe(0);
    expect(summary.damaged).toHaveLength(1);
  });

  it('a receipt given as a trace says where it belongs', async () => {
    const { summary } = await collect(bytesOf('{"operation_id":"o-1","result":"applied"}'));
    expect(summary.damaged[0]?.remedy).toContain('--receipts');
  });
});

describe('the undamaged spans of a damaged record are read', () => {
  const many = request(span(1), span(2), span(3));
  it.each<[string, string, string[]]>([
    ['cut in the last span', many.slice(0, many.indexOf('span 3') + 3), ['span 1', 'span 2']],
    ['a bad token in the first span', many.replace('"kind":3', '"kind":?'), ['span 2', 'span 3']],
    ['a bad token in a middle span', many.replace('"name":"span 2"', '"name":span 2'), ['span 1', 'span 3']],
    ['a bad token in the last span', many.replace('"name":"span 3"', '"name":span 3'), ['span 1', 'span 2']],
    ['a bad token behind the spans', many.replace(/\]\}\]\}$/, '],x]}]}'), ['span 1', 'span 2', 'span 3']],
  ])('%s', async (_name, text, names) => {
    const { spans, damages } = await collect(bytesOf(text));
    expect(spans.map(({ name }) => name)).toEqual(names);
    expect(spans.map(({ resource }) => resource.serviceName)).toEqual(names.map(() => 'agent'));
    expect(damages).toHaveLength(1);
    expect(damages[0]?.reason).toContain(`its ${names.length} undamaged records were read`);
  });
});

describe('fields that cannot be read are named, the span is delivered without them', () => {
  it.each<[string, object, string]>([
    ['a trace id that is no id', { traceId: 'xyz' }, 'trace id'],
    ['a span id of the wrong length', { spanId: 'abc' }, 'span id'],
    ['no span id', { spanId: undefined }, 'without trace id or span id'],
    ['a negative time', { startTimeUnixNano: '-1' }, 'start time'],
    ['a time that is text', { endTimeUnixNano: 'soon' }, 'end time'],
    ['attributes that are text', { attributes: 'none' }, 'attributes'],
    [
      'an attribute whose value contradicts its type',
      { attributes: [{ key: 'k', value: { intValue: 'x' } }] },
      "'k'",
    ],
    ['an attribute without a key', { attributes: [{ value: { intValue: '1' } }] }, 'without a key'],
    ['events that are no list', { events: {} }, 'events'],
    ['an event that is no object', { events: [1] }, 'event'],
    ['links that are no list', { links: 1 }, 'links'],
  ])('%s', async (_name, change, reason) => {
    const { spans, damages } = await collect(bytesOf(request({ ...span(1), ...change })));
    expect(spans.map(({ name }) => name)).toEqual(['span 1']);
    expect(damages.map((damage) => damage.reason).join()).toContain(reason);
    expect(damages[0]?.at).toMatchObject({ source: 's1', line: 1 });
  });

  it('keys of an export mean nothing to the program', async () => {
    const text = request({
      ...span(1),
      attributes: [
        { key: '__proto__', value: { stringValue: 'polluted' } },
        {
          key: 'constructor',
          value: { kvlistValue: { values: [{ key: '__proto__', value: { boolValue: true } }] } },
        },
      ],
    });
    const { spans } = await collect(bytesOf(text));
    expect(Object.keys(spans[0]?.attributes ?? {})).toEqual(['__proto__', 'constructor']);
    expect(spans[0]?.attributes['toString']).toBeUndefined();
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});

describe('limits', () => {
  it('a record over the limit is named; the next one is read', async () => {
    const big = request({ ...span(1), name: 'x'.repeat(3 << 20) });
    const { spans, damages } = await collect(bytesOf(`${big}\n${GOOD}\n`), {
      limits: { maxRecordBytes: 1 << 20 },
    });
    expect(spans.map(({ name }) => name)).toEqual(['span 1']);
    expect(damages).toMatchObject([{ at: { line: 1 } }]);
    expect(damages[0]?.reason).toContain('a record of more than');
  });

  it('a bomb is stopped at the ratio', async () => {
    const bomb = gzipSync(Buffer.alloc(80 << 20, 0x20));
    const { summary } = await collect(bytesOf(bomb), { limits: { maxInflateRatio: 100 } });
    expect(summary.damaged[0]?.reason).toContain('unpacks to more than 100 times');
  });

  it('a flood of damaged lines is counted, not listed', async () => {
    const { summary } = await collect(bytesOf('{bad}\n'.repeat(50)), { limits: { maxDamages: 10 } });
    expect(summary.damaged).toHaveLength(11);
    expect(summary.damaged.at(-1)?.reason).toBe('40 more damaged places in this input');
  });

  it('nesting too deep for a trace is damage', async () => {
    const deep = `{"a":${'['.repeat(100_000)}`;
    const { reasons, names } = await read(`${deep}\n${GOOD}`);
    expect(names).toEqual(['span 1']);
    expect(reasons).toEqual(['JSON nested too deeply for a trace']);
  });
});

const SEED = 20_260_930;
const RUNS = 500;

/** Every input ends in a judged remainder: no throw, and what is delivered is well formed. */
async function judged(bytes: Uint8Array): Promise<{ spans: number; named: number }> {
  const { spans, summary } = await collect(bytesOf(bytes));
  for (const one of spans) {
    expect(one.traceId).toMatch(/^(?:[0-9a-f]{32})?$/);
    expect(one.spanId).toMatch(/^(?:[0-9a-f]{16})?$/);
    expect(typeof one.startTimeUnixNano).toBe('bigint');
  }
  for (const damage of summary.damaged) {
    expect(damage.reason).not.toBe('');
    expect(damage.remedy).not.toBe('');
  }
  return { spans: spans.length, named: summary.damaged.length };
}

/** A cut between two documents leaves no trace. No text of these samples holds a brace. */
function wholeDocuments(bytes: Uint8Array): boolean {
  const text = Buffer.from(bytes).toString();
  return text.split('{').length === text.split('}').length;
}

describe(`fuzz (seed ${SEED})`, { timeout: 60_000 }, () => {
  it.each([
    ['JSON Lines', LINES],
    ['pretty-printed', PRETTY],
  ])('any cut of %s loses only what was cut, and says so', async (_name, whole) => {
    for (let cut = 1; cut < whole.length; cut += 3) {
      const { spans, named } = await judged(whole.subarray(0, cut));
      if (spans < 2 && !wholeDocuments(whole.subarray(0, cut))) expect(named).toBeGreaterThan(0);
    }
  });

  it.each([
    ['JSON Lines', LINES],
    ['pretty-printed', PRETTY],
    ['gzip', gzipSync(LINES)],
  ])('any flipped bits of %s end in a judged remainder', async (_name, whole) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 })), {
          minLength: 1,
          maxLength: 4,
        }),
        async (flips) => {
          const bytes = Buffer.from(whole);
          for (const [at, mask] of flips) bytes[at] = (bytes[at] ?? 0) ^ mask;
          const { spans, named } = await judged(bytes);
          // A flip inside a text is another text; where a span is gone, its place is named.
          if (spans < 2) expect(named).toBeGreaterThan(0);
        },
      ),
      { seed: SEED, numRuns: RUNS },
    );
  });

  it('any bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        await judged(bytes);
      }),
      { seed: SEED, numRuns: RUNS },
    );
  });

  it('any JSON in the places of OTLP', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.jsonValue({ maxDepth: 3 }),
        fc.constantFrom('resourceSpans', 'spans', 'data', 'trace', 'span', 'attributes'),
        async (value, where) => {
          const root =
            where === 'span'
              ? { resourceSpans: [{ scopeSpans: [{ spans: [value] }] }] }
              : where === 'attributes'
                ? {
                    resourceSpans: [
                      { scopeSpans: [{ spans: [{ ...span(1), attributes: value, events: value }] }] },
                    ],
                  }
                : { [where]: value };
          await judged(Buffer.from(JSON.stringify(root)));
        },
      ),
      { seed: SEED, numRuns: RUNS },
    );
  });
});
