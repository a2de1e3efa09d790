/** A request body to the record that is stored, without loss; or why that is not possible. */
import { isMessage } from '../protobuf/check.js';
import { decodeMessage, ProtobufError } from '../protobuf/decode.js';
import { beginsProtobuf } from '../readers/sniff.js';
import { SIGNALS, type Signal } from './signals.js';

export type Encoding = 'json' | 'protobuf';

export type Conversion =
  | {
      /** A line of OTLP JSON, or protobuf as it came. */
      readonly kind: 'line' | 'frame';
      readonly signal: Signal;
      /** Without newline or length. Undefined for a request that holds nothing. */
      readonly record: Buffer | undefined;
      /** The record is not everything: text that is no UTF-8 was replaced, so the body itself must be kept too. */
      readonly lossy: boolean;
    }
  | { readonly kind: 'undecodable'; readonly reason: string };

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;

/**
 * @param signal the signal of the path, undefined when the path names none: every signal is then tried
 */
export function convert(body: Buffer, encoding: Encoding, signal: Signal | undefined): Conversion {
  return encoding === 'json' ? convertJson(body, signal) : convertProtobuf(body, signal);
}

/** By content type; a body that contradicts it is taken for what it is. */
export function encodingOf(contentType: string | undefined, body: Buffer): Encoding {
  const type = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase();
  const json = looksLikeJson(body);
  if (type === 'application/x-protobuf' || type === 'application/protobuf') {
    // '{' is a group start in protobuf, which OTLP does not have.
    return body[0] === 0x7b && json ? 'json' : 'protobuf';
  }
  return json ? 'json' : 'protobuf';
}

function looksLikeJson(body: Buffer): boolean {
  const start = startOfText(body);
  return /^[\s]*[[{]/.test(body.toString('latin1', start, start + 256));
}

function startOfText(body: Buffer): number {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 3 : 0;
}

function convertJson(body: Buffer, expected: Signal | undefined): Conversion {
  const text = body.subarray(startOfText(body));
  let root: unknown;
  try {
    root = JSON.parse(text.toString('utf8'));
  } catch {
    return { kind: 'undecodable', reason: 'not JSON' };
  }
  if (typeof root !== 'object' || root === null || Array.isArray(root)) {
    return { kind: 'undecodable', reason: 'JSON that is no object' };
  }
  const members = root as Readonly<Record<string, unknown>>;
  const signal = [expected, ...SIGNALS].find(
    (one) => one !== undefined && Array.isArray(members[one.member]),
  );
  if (signal === undefined) {
    if (Object.keys(members).length === 0 && expected !== undefined) {
      return { kind: 'line', signal: expected, record: undefined, lossy: false };
    }
    return { kind: 'undecodable', reason: 'JSON without resourceSpans, resourceLogs or resourceMetrics' };
  }
  // The bytes themselves are kept, since parsing and printing would round integers above 2^53. JSON has raw line
  // breaks only between tokens, where a space means the same.
  const line = Buffer.from(text);
  for (let at = 0; at < line.length; at += 1) {
    if (line[at] === NEWLINE || line[at] === RETURN) line[at] = SPACE;
  }
  return { kind: 'line', signal, record: line, lossy: false };
}

function convertProtobuf(body: Buffer, expected: Signal | undefined): Conversion {
  if (body.length === 0 && expected !== undefined) {
    return { kind: 'line', signal: expected, record: undefined, lossy: false };
  }
  const asItIs = frameOf(body, expected);
  if (asItIs !== undefined) return { kind: 'frame', signal: asItIs, record: body, lossy: false };
  let first: string | undefined;
  for (const signal of [expected, ...SIGNALS]) {
    if (signal === undefined) continue;
    try {
      const decoded = decodeMessage(body, signal.message, { integers: 'text', keepUnknown: true });
      if (decoded.known === 0) continue;
      const line = Buffer.from(JSON.stringify(decoded.value));
      return { kind: 'line', signal, record: line, lossy: decoded.replaced };
    } catch (error) {
      if (!(error instanceof ProtobufError)) throw error;
      first ??= `not OTLP protobuf: ${error.message} at byte ${error.offset}`;
    }
  }
  return { kind: 'undecodable', reason: first ?? 'not OTLP protobuf' };
}

/**
 * The signal under which readers will read the body as a frame. A frame does not name its signal, they try one after
 * another: a body that an earlier one fits too is stored as JSON, which names it.
 */
function frameOf(body: Buffer, expected: Signal | undefined): Signal | undefined {
  if (!beginsProtobuf(body, body.length, true)) return undefined;
  const first = SIGNALS.find((signal) => isMessage(body, signal.message));
  return expected === undefined || first === expected ? first : undefined;
}
