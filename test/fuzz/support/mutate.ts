/** Changes bytes the way networks, proxies and careless servers do, and worse. */
import type { Random } from './random.js';

const text = (value: string): Uint8Array => Buffer.from(value, 'latin1');

/** What readers stumble over: line ends, marks, broken UTF-8, JSON-RPC members, numbers, names of prototypes. */
const TOKENS: readonly Uint8Array[] = [
  '\n',
  '\r',
  '\r\n',
  '\n\n',
  '\r\r',
  '\0',
  ' ',
  '\t',
  '\u00a0',

  'data:',
  'data: ',
  'data',
  'event: message\n',
  'event: x\n',
  'id: 1\n',
  'id:\0\n',
  'retry: 5\n',
  ': c\n',
  ':\n',
  '{',
  '}',
  '[',
  ']',
  '"',
  '\\',
  ',',
  ':',
  '\\u0000',
  '\\ud800',
  '\\uD83D\\uDE00',
  '//',
  '/**/',

  '"id":$ID',
  '"id":$STR',
  '"id":null',
  '"id":1e0',
  '"id":-0',
  '"id":7.0',
  '"id":9007199254740993',
  '"id":{}',

  '"jsonrpc":"2.0"',
  '"jsonrpc":"1.0"',
  '"jsonrpc":2',
  '"method":"x"',
  '"method":"notifications/progress"',

  '"result":{}',
  '"result":null',
  '"result":[]',
  '"result":1',
  '"error":null',
  '"error":{}',
  '"error":"x"',
  '"error":{"code":-32001,"message":"x"}',
  '"error":{"code":1.5,"message":"x"}',
  '"error":{"code":1}',

  '"content":[]',
  '"content":null',
  '"content":"x"',
  '"isError":true',
  '"isError":1',
  '"structuredContent":1',
  '"resultType":"complete"',
  '"resultType":"input_required"',
  '"resultType":"task"',
  '"resultType":null',
  '"__proto__":{"content":[]}',
  '"constructor":{}',
  '"toString":1',
  '"hasOwnProperty":0',
  '"then":1',

  '"_meta":{"io.waybill/callId":"x"}',
  '"_meta":{"io.waybill/callId":7}',
  '"_meta":null',
  '"inputRequests":{}',

  '1e999',
  '-0',
  '0x10',
  'NaN',
  'null',
  'true',
  'undefined',
  '1'.repeat(400),
  '[['.repeat(200),
  '{"a":'.repeat(200),

  '\u00ef\u00bb\u00bf',
  '\u00ff\u00fe',
  '\u00c3',
  '\u00e2\u0082',
  '\u00f0\u009f\u0098',
  '\u00ed\u00a0\u0080',
  '\u0080',
].map(text);

const MAX_BYTES = 16_384;

export function mutate(random: Random, base: Uint8Array, others: readonly Uint8Array[]): Uint8Array {
  let bytes = base;
  for (let times = 1 + random.below(4); times > 0; times--) bytes = once(random, bytes, others);
  return bytes.length > MAX_BYTES ? bytes.subarray(0, MAX_BYTES) : bytes;
}

function once(random: Random, bytes: Uint8Array, others: readonly Uint8Array[]): Uint8Array {
  const at = random.below(bytes.length + 1);
  const to = Math.min(bytes.length, at + random.below(random.pick([2, 8, 64, 1024])) + 1);
  switch (random.below(9)) {
    case 0: {
      // A bit falls over.
      const changed = Uint8Array.from(bytes);
      const where = random.below(Math.max(1, bytes.length));
      if (where < changed.length) changed[where] = (changed[where] ?? 0) ^ (1 << random.below(8));
      return changed;
    }
    case 1:
      return join(bytes.subarray(0, at), random.pick(TOKENS), bytes.subarray(at));
    case 2:
      return join(bytes.subarray(0, at), random.pick(TOKENS), bytes.subarray(to));
    case 3:
      // Something is missing.
      return join(bytes.subarray(0, at), bytes.subarray(to));
    case 4:
      // Something comes twice, or all of it does.
      return random.chance(0.3) ? join(bytes, bytes) : join(bytes.subarray(0, to), bytes.subarray(at));
    case 5:
      return bytes.subarray(0, at);
    case 6: {
      // Another reply, or a part of one, in the middle of this one.
      const other = random.pick(others);
      const part = random.chance(0.5) ? other : other.subarray(random.below(other.length + 1));
      return join(bytes.subarray(0, at), part, bytes.subarray(at));
    }
    case 7:
      return reencoded(random, bytes);
    default: {
      // Another line end throughout.
      const end = random.pick(['\r', '\r\n', '\n', '\n\r']);
      return text(
        Buffer.from(bytes)
          .toString('latin1')
          .replaceAll(/\r\n|\n|\r/g, end),
      );
    }
  }
}

function reencoded(random: Random, bytes: Uint8Array): Uint8Array {
  const whole = Buffer.from(bytes).toString('utf8');
  switch (random.below(4)) {
    case 0:
      return Buffer.from(whole, 'utf16le');
    case 1:
      return join(Uint8Array.of(0xef, 0xbb, 0xbf), bytes);
    case 2:
      return Buffer.from(whole, 'latin1');
    default:
      // Bytes of UTF-8 that were taken for characters and encoded once more.
      return Buffer.from(Buffer.from(bytes).toString('latin1'), 'utf8');
  }
}

/** Cuts anywhere, in as many pieces as may be. */
export function cut(random: Random, bytes: Uint8Array): readonly Uint8Array[] {
  if (bytes.length < 2) return [bytes];
  if (bytes.length < 600 && random.chance(0.1)) return [...bytes].map((_, at) => bytes.subarray(at, at + 1));
  const places = Array.from({ length: random.below(6) }, () => random.below(bytes.length)).sort(
    (a, b) => a - b,
  );
  const pieces: Uint8Array[] = [];
  let from = 0;
  for (const place of [...places, bytes.length]) {
    pieces.push(bytes.subarray(from, place));
    from = place;
  }
  return pieces;
}

function join(...parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts);
}
