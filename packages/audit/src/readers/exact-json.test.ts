import { describe, expect, it } from 'vitest';
import { bytesOf, collect } from './collect.test-support.js';
import { exactDouble, exactInteger, parseExact } from './exact-json.js';

describe('numbers that a double cannot hold', () => {
  it.each([
    ['9007199254740993', 9007199254740993n],
    ['-9223372036854775808', -9223372036854775808n],
    ['18446744073709551615', 18446744073709551615n],
    ['1790000000000000001', 1790000000000000001n],
  ])('%s keeps its value', (text, value) => {
    expect(exactInteger((parseExact(`{"a":${text}}`) as { a: unknown }).a)).toBe(value);
  });

  it.each([
    '0',
    '-1',
    '123456789012345',
    '0.1',
    '1e300x'.slice(0, 3),
    '"9007199254740993"',
    '"a\\"9007199254740993"',
    'true',
    'null',
  ])('%s is what JSON.parse makes of it', (text) => {
    expect(parseExact(`[${text}]`)).toEqual(JSON.parse(`[${text}]`));
  });

  it('a large double is told from a large integer', () => {
    const [value] = parseExact('[1e21]') as readonly unknown[];
    expect(exactInteger(value)).toBeUndefined();
    expect(exactDouble(value)).toBe(1e21);
  });

  it('what is not JSON is a SyntaxError', () => {
    expect(() => parseExact('{"a":9007199254740993')).toThrow(SyntaxError);
    expect(() => parseExact('{"a":--9007199254740993}')).toThrow(SyntaxError);
  });
});

describe('numbers in exports', () => {
  const span = (attributes: string, rest = ''): string =>
    `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c",` +
    `"spanId":"b7ad6b7169203331","name":"n"${rest},"attributes":[${attributes}]}]}]}]}`;
  const attribute = (value: string): string => `{"key":"k","value":${value}}`;

  it.each<[string, unknown]>([
    ['{"intValue":9007199254740993}', 9007199254740993n],
    ['{"intValue":"9007199254740993"}', 9007199254740993n],
    ['{"intValue":"-9223372036854775808"}', -9223372036854775808n],
    ['{"intValue":42}', 42],
    ['{"intValue":"42"}', 42],
    ['{"doubleValue":1e300}', 1e300],
    ['{"doubleValue":9007199254740993}', 9007199254740992],
    ['{"doubleValue":"NaN"}', NaN],
    ['{"doubleValue":"-Infinity"}', -Infinity],
    ['{"stringValue":"9007199254740993"}', '9007199254740993'],
    ['9007199254740993', 9007199254740993n],
    ['{"arrayValue":{"values":[{"intValue":9007199254740993}]}}', [9007199254740993n]],
  ])('%s', async (value, expected) => {
    const { spans, damages } = await collect(bytesOf(span(attribute(value))));
    expect(spans.map(({ attributes }) => attributes['k'])).toEqual([expected]);
    expect(damages).toEqual([]);
  });

  it('a rounded number in a later span delivers no span twice', async () => {
    const later = '{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203332","name":"m",';
    const text = span('').replace(/\]\}\]\}\]\}$/, `,${later}"startTimeUnixNano":1790000000000000001}]}]}]}`);
    const { spans, damages } = await collect(bytesOf(text));
    expect(damages).toEqual([]);
    expect(spans.map(({ name, startTimeUnixNano }) => [name, startTimeUnixNano])).toEqual([
      ['n', 0n],
      ['m', 1790000000000000001n],
    ]);
  });
});
