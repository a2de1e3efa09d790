/** Knows an input by its first bytes. */

/** Enough of an input to know it by. */
export const HEAD_BYTES = 65_536;

export type InputKind = 'text' | 'gzip' | 'zstd' | 'utf-16le' | 'utf-16be' | 'framed' | 'protobuf';

/**
 * What the first bytes say; text is what is left, since only text can explain itself when it is read.
 * @param whole whether `head` is the whole input
 */
export function sniff(head: Uint8Array, whole: boolean, maxRecordBytes: number): InputKind {
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip';
  if (isZstd(head)) return 'zstd';
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  if (beginsJson(head)) return 'text';
  if (beginsFrame(head, maxRecordBytes) && !(whole && isDamagedLines(head))) return 'framed';
  if (beginsProtobuf(head, head.length, whole)) return 'protobuf';
  return holdsFrames(head, whole, maxRecordBytes) ? 'framed' : 'text';
}

/** What would be a length of more than is there, before lines of JSON: four damaged bytes of the first line. */
function isDamagedLines(head: Uint8Array): boolean {
  if (head.length >= 4 + frameLength(head)) return false;
  return Buffer.from(head.buffer, head.byteOffset, head.length).includes('}\n{"');
}

/** Damage at the front hides what an input is; two frames, one right after the other, say it all the same. */
function holdsFrames(head: Uint8Array, whole: boolean, maxRecordBytes: number): boolean {
  for (let at = 1; at + 5 < head.length; at += 1) {
    // No record that fits into the head is longer than 16 MiB: its length begins with a zero.
    if (head[at] !== 0 || !beginsFrame(head.subarray(at), maxRecordBytes)) continue;
    const next = at + 4 + frameLength(head.subarray(at));
    if (
      next === head.length ? whole : next < head.length && beginsFrame(head.subarray(next), maxRecordBytes)
    ) {
      return true;
    }
  }
  return false;
}

/** Magic number of a zstd frame (RFC 8878, section 3.1.1), or of a skippable frame before one. */
export function isZstd(bytes: Uint8Array): boolean {
  const frame = bytes[0] === 0x28 && bytes[1] === 0xb5 && bytes[2] === 0x2f && bytes[3] === 0xfd;
  const skippable =
    ((bytes[0] ?? 0) & 0xf0) === 0x50 && bytes[1] === 0x2a && bytes[2] === 0x4d && bytes[3] === 0x18;
  return frame || skippable;
}

/** A bracket, and then a key or the end of it: a protobuf message can begin with the bytes of "\n{", but not go on so. */
const JSON_START = /^(?:\u00ef\u00bb\u00bf)?\s*[[{][\s[{]*(?:"[\w@$-]|[\]}])/;

function beginsJson(head: Uint8Array): boolean {
  // RFC 7464 puts a record separator before each text.
  const text = head[0] === 0x1e ? head.subarray(1, 4_096) : head.subarray(0, 4_096);
  return JSON_START.test(Buffer.from(text.buffer, text.byteOffset, text.length).toString('latin1'));
}

/** Four bytes of length, big-endian, and a payload that is zstd, JSON or protobuf: the Collector's file exporter. */
export function beginsFrame(bytes: Uint8Array, maxRecordBytes: number): boolean {
  if (bytes.length < 5) return false;
  const length = frameLength(bytes);
  if (length < 2 || length > maxRecordBytes) return false;
  const payload = bytes.subarray(4, 4 + length);
  if (isZstd(payload)) return true;
  if (payload[0] === 0x7b) return beginsMembers(payload, length);
  return beginsProtobuf(payload, length, bytes.length >= 4 + length);
}

/** `{` and a key, and a `}` at the end where that can be seen: bytes of text may look like the length before it. */
function beginsMembers(payload: Uint8Array, length: number): boolean {
  let at = 1;
  while (payload[at] === 0x20 || payload[at] === 0x0a || payload[at] === 0x0d || payload[at] === 0x09)
    at += 1;
  if (payload[at] !== 0x22 && payload[at] !== 0x7d) return false;
  return payload.length < length || payload[length - 1] === 0x7d || payload[length - 1] === 0x0a;
}

export function frameLength(bytes: Uint8Array): number {
  return (bytes[0] ?? 0) * 0x100_0000 + ((bytes[1] ?? 0) << 16) + ((bytes[2] ?? 0) << 8) + (bytes[3] ?? 0);
}

/** Fields 1 to 3 of ResourceSpans, ResourceLogs and ResourceMetrics, all length-delimited. */
const RESOURCE_TAGS = new Set([0x0a, 0x12, 0x1a]);
const FIRST_TAG = 0x0a;

/**
 * Whether the bytes begin an export request: field 1, and in it a message that begins with a field that it may have.
 * @param length of the message, of which `bytes` may be the beginning only
 */
export function beginsProtobuf(bytes: Uint8Array, length: number, whole: boolean): boolean {
  if (bytes[0] !== FIRST_TAG) return false;
  const outer = varintAt(bytes, 1);
  if (outer === undefined) return false;
  const end = outer.next + outer.value;
  if (whole && end < length && bytes[end] !== FIRST_TAG) return false;
  if (outer.value === 0) return whole || bytes[end] === FIRST_TAG;
  const tag = bytes[outer.next];
  if (tag === undefined || !RESOURCE_TAGS.has(tag)) return false;
  const inner = varintAt(bytes, outer.next + 1);
  return inner !== undefined && inner.next + inner.value <= end;
}

/** An unsigned varint of up to 32 bits; undefined where there is none. */
export function varintAt(
  bytes: Uint8Array,
  at: number,
): { readonly value: number; readonly next: number } | undefined {
  let value = 0;
  for (let index = 0; index < 5; index += 1) {
    const byte = bytes[at + index];
    if (byte === undefined) return undefined;
    value += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return { value, next: at + index + 1 };
  }
  return undefined;
}
