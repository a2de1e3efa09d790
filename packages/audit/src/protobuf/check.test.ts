import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isMessage } from './check.js';
import { decodeMessage, ProtobufError } from './decode.js';
import { LOGS, METRICS, TRACES, type Message } from './schema.js';

const field = (number: number, ...parts: readonly Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(body.length)]), body]);
};
function varint(value: number): readonly number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}
const text = (value: string): Buffer => Buffer.from(value);
const number = (at: number, value: number): Buffer => Buffer.from([...varint(at * 8), ...varint(value)]);
const fixed64 = (at: number): Buffer => Buffer.from([at * 8 + 1, 1, 2, 3, 4, 5, 6, 7, 8]);
const attribute = (key: string, value: Buffer): Buffer =>
  Buffer.concat([field(1, text(key)), field(2, value)]);

const SPAN = Buffer.concat([
  field(1, Buffer.alloc(16, 7)),
  field(2, Buffer.alloc(8, 9)),
  field(5, text('tools/call a')),
  number(6, 3),
  fixed64(7),
  fixed64(8),
  field(9, attribute('waybill.call.id', field(1, text('c-1')))),
  field(9, attribute('list', field(5, field(1, number(3, 300)), field(1, number(2, 1))))),
  field(11, fixed64(1), field(2, text('waybill.client.sent'))),
  field(15, number(3, 2)),
  Buffer.from([16 * 8 - 128 + 5 + 128, 1, 1, 0, 0, 0]),
]);
const TRACE = field(
  1,
  field(1, field(1, attribute('service.name', field(1, text('agent'))))),
  field(2, field(2, SPAN)),
);
const HISTOGRAM = Buffer.concat([fixed64(2), field(6, Buffer.alloc(24, 1)), field(7, Buffer.alloc(16, 2))]);
const METRIC = field(1, field(2, field(2, field(1, text('m')), field(9, field(1, HISTOGRAM)))));

function decodes(bytes: Uint8Array, message: Message): boolean {
  try {
    return decodeMessage(bytes, message, { integers: 'text', keepUnknown: true }).known > 0;
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error;
    return false;
  }
}

describe('bytes are a message when, and only when, they can be decoded', () => {
  it.each<[string, Uint8Array, Message, boolean]>([
    ['a trace', TRACE, TRACES, true],
    ['two requests, one after the other', Buffer.concat([TRACE, TRACE]), TRACES, true],
    ['a packed list', METRIC, METRICS, true],
    ['an unknown field beside', Buffer.concat([TRACE, field(99, text('new'))]), TRACES, true],
    ['nothing but an unknown field', field(99, text('new')), TRACES, false],
    ['nothing', Buffer.alloc(0), TRACES, false],
    ['text', text('not protobuf at all'), LOGS, false],
    [
      'a number of 32 bits written in ten bytes',
      Buffer.from([0x8a, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 0]),
      TRACES,
      true,
    ],
    ['a tag beyond 32 bits', Buffer.from([0x8a, 0x80, 0x80, 0x80, 0x10, 0]), TRACES, false],
    ['a group', Buffer.from([0x0b]), TRACES, false],
    ['field number 0', Buffer.from([0x02, 0]), TRACES, false],
  ])('%s', (_name, bytes, message, expected) => {
    expect(isMessage(bytes, message)).toBe(expected);
    expect(decodes(bytes, message)).toBe(expected);
  });

  it('at every cut', () => {
    const answers = Array.from({ length: TRACE.length }, (_, cut) => {
      const bytes = TRACE.subarray(0, cut);
      expect(isMessage(bytes, TRACES)).toBe(decodes(bytes, TRACES));
      return isMessage(bytes, TRACES);
    });
    expect(answers).not.toContain(true);
  });

  it.each<[string, Uint8Array, Message]>([
    ['a trace', TRACE, TRACES],
    ['metrics', METRIC, METRICS],
  ])('with any bytes of %s changed (seed 20261201)', (_name, whole, message) => {
    const seen = { true: 0, false: 0 };
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 }),
        (changes) => {
          const bytes = Buffer.from(whole);
          for (const [at, value] of changes) bytes[at] = value;
          const answer = isMessage(bytes, message);
          seen[`${answer}`] += 1;
          expect(answer).toBe(decodes(bytes, message));
        },
      ),
      { seed: 20_261_201, numRuns: 3_000 },
    );
    expect(Math.min(seen.true, seen.false)).toBeGreaterThan(300);
  });

  it('messages nested too deeply are none', () => {
    let value = field(1, text('x'));
    for (let depth = 0; depth < 200; depth += 1) value = field(5, field(1, value));
    const bytes = field(1, field(1, field(1, attribute('deep', value))));
    expect(isMessage(bytes, TRACES)).toBe(false);
    expect(decodes(bytes, TRACES)).toBe(false);
  });
});
