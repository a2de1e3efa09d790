import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SseDecoder, type SseRest } from './sse-decoder.js';

interface Event {
  readonly name: string;
  readonly data: string;
  readonly id: string;
  readonly overLimit: boolean;
}
interface Decoded {
  readonly events: readonly Event[];
  readonly fields: readonly string[];
  readonly rest: SseRest;
}

function decode(parts: readonly Uint8Array[], maxEventBytes?: number): Decoded {
  const events: Event[] = [];
  const fields: string[] = [];
  let data: number[] = [];
  const decoder = new SseDecoder(
    {
      data: (bytes, start, end) => data.push(...bytes.subarray(start, end)),
      dataLineBreak: () => data.push(0x0a),
      dispatch: (head) => {
        events.push({
          name: head.name,
          data: new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(data)),
          id: head.lastEventId,
          overLimit: head.overLimit,
        });
        data = [];
      },
      field: (name, value) => fields.push(`${name}=${value}`),
    },
    maxEventBytes === undefined ? {} : { maxEventBytes },
  );
  for (const part of parts) decoder.push(part);
  return { events, fields, rest: decoder.rest() };
}
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const message = (data: string, id = ''): Event => ({ name: 'message', data, id, overLimit: false });

/** The standard's algorithm, on text that is whole. */
function reference(text: string): readonly Event[] {
  const events: Event[] = [];
  let data: string[] = [];
  let name = '';
  let id = '';
  for (const line of text
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\r|\n/)
    .slice(0, -1)) {
    if (line === '') {
      if (data.length > 0)
        events.push({ name: name === '' ? 'message' : name, data: data.join('\n'), id, overLimit: false });
      data = [];
      name = '';
      continue;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') data.push(value);
    else if (field === 'event') name = value;
    else if (field === 'id' && !value.includes('\0')) id = value;
  }
  return events;
}

describe('SseDecoder', () => {
  it.each([
    ['a bare data line is a message', 'data: a\n\n', [message('a')]],
    ['only one space after the colon is dropped', 'data:  a\ndata:b\n\n', [message(' a\nb')]],
    [
      'CR, LF and CRLF all end a line',
      'data: a\r\rdata: b\n\ndata: c\r\n\r\n',
      [message('a'), message('b'), message('c')],
    ],
    ['comments are ignored', ': x\ndata: a\n:\n\n', [message('a')]],
    ['a data line without colon is an empty one', 'data\n\n', [message('')]],
    ['two empty data lines are a line feed', 'data\ndata\n\n', [message('\n')]],
    ['unknown fields are ignored', 'dat: a\ndatax: b\nretryy: 1\n\n', []],
    [
      'a name is for one event',
      'event: e\ndata: a\n\ndata: b\n\n',
      [{ ...message('a'), name: 'e' }, message('b')],
    ],
    ['a name without data is forgotten', 'event: e\n\ndata: b\n\n', [message('b')]],
    ['an id stays', 'id: 1\ndata: a\n\ndata: b\n\n', [message('a', '1'), message('b', '1')]],
    ['an id with a NUL is ignored', 'id: 1\0\ndata: a\n\n', [message('a')]],
    ['no blank line, no event', 'data: a\n', []],
    ['one byte order mark is skipped', '\uFEFFdata: a\n\n', [message('a')]],
    ['a second byte order mark is part of a field name', '\uFEFF\uFEFFdata: a\n\n', []],
  ])('%s', (_claim, text, events) => {
    expect(decode([bytesOf(text)]).events).toEqual(events);
  });

  it('tells what was left at the end', () => {
    expect(decode([bytesOf('data: a\n\n')]).rest).toMatchObject({
      midEvent: false,
      hasData: false,
      bom: false,
    });
    expect(decode([bytesOf('event: e\n')]).rest).toMatchObject({ midEvent: true, hasData: false });
    expect(decode([bytesOf('data: a')]).rest).toMatchObject({
      midEvent: true,
      hasData: true,
      head: { dataBytes: 1 },
    });
    expect(decode([bytesOf('da')]).rest).toMatchObject({ midEvent: true, unframed: false });
    expect(decode([bytesOf(': keep-al')]).rest).toMatchObject({ midEvent: false });
  });

  it.each([
    ['{"jsonrpc":"2.0"}', true],
    ['{"js', true],
    ['<html>\n', true],
    ['\n\n', false],
    ['', false],
    [': open\n\n', false],
    ['retry: 10\n', false],
    ['junk\ndata: a\n\n', false],
  ])('a body of %j is unframed: %s', (text, unframed) => {
    expect(decode([bytesOf(text)]).rest.unframed).toBe(unframed);
  });

  it('reads retry in milliseconds and only from digits', () => {
    expect(decode([bytesOf('retry: 100\nretry: 1s\n')]).rest.retryMs).toBe(100);
  });

  it('hands on no more of an event than the limit and says so', () => {
    const { events } = decode([bytesOf('data: abcdef\ndata: g\n\ndata: abc\n\n')], 4);
    expect(events).toEqual([{ ...message('abcd'), overLimit: true }, message('abc')]);
  });

  it('agrees with the standard on any text, wherever the bytes are split, also inside a character', () => {
    const piece = fc.constantFrom(
      'data',
      'event',
      'id',
      'retry',
      ':',
      ': ',
      ' ',
      '\n',
      '\r',
      '\r\n',
      '\n\n',
      'a',
      'é',
      '漢',
      '🙂',
      '\uFEFF',
      '{"a":1}',
      '9',
      'eventx',
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 40 }),
        fc.array(fc.nat(), { maxLength: 6 }),
        (pieces, cuts) => {
          const text = pieces.join('');
          const bytes = bytesOf(text);
          const places = [
            0,
            ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b),
            bytes.length,
          ];
          const parts = places.slice(1).map((place, i) => bytes.subarray(places[i], place));
          const whole = decode([bytes]);
          expect(whole.events).toEqual(reference(text));
          expect(decode(parts)).toEqual(whole);
        },
      ),
      { numRuns: 3000 },
    );
  });

  it('searches a chunk of many short lines once', () => {
    const line = 'data: x\n\n';
    const seen = decode([bytesOf(line.repeat(50_000))]);
    expect(seen.events).toHaveLength(50_000);
  });
});
