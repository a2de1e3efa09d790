/** Knows an input by its first bytes. */

/** Enough of an input to know it by. */
export const HEAD_BYTES = 65_536;

export type InputKind = 'text' | 'gzip' | 'zstd' | 'utf-16le' | 'utf-16be';

/** What the first bytes say; text is what is left, since only text can explain itself when it is read. */
export function sniff(head: Uint8Array): InputKind {
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip';
  if (isZstd(head)) return 'zstd';
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  return 'text';
}

/** Magic number of a zstd frame (RFC 8878, section 3.1.1), or of a skippable frame before one. */
export function isZstd(bytes: Uint8Array): boolean {
  const frame = bytes[0] === 0x28 && bytes[1] === 0xb5 && bytes[2] === 0x2f && bytes[3] === 0xfd;
  const skippable =
    ((bytes[0] ?? 0) & 0xf0) === 0x50 && bytes[1] === 0x2a && bytes[2] === 0x4d && bytes[3] === 0x18;
  return frame || skippable;
}
