// Single bytes and short runs of a JSON text (RFC 8259), as the scanner sees them.

/** Longest number or literal that is checked to the letter. */
export const MAX_SCALAR: number = 64;

/** A whole number or literal. */
export const SCALAR: RegExp = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;

/** Bytes of numbers and literals: digits, `a`-`z`, `+`, `-`, `.`, `E`. */
export function isScalarByte(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x61 && byte <= 0x7a) ||
    byte === 0x2b ||
    byte === 0x2d ||
    byte === 0x2e ||
    byte === 0x45
  );
}

export function scalarEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && isScalarByte(bytes[at] ?? 0)) at++;
  return at;
}

export function isScalar(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start > MAX_SCALAR) return false;
  let at = start;
  if (bytes[start] !== 0x30) while (at < end && isDigit(bytes[at] ?? 0)) at++;
  else at++;
  return at === end || SCALAR.test(String.fromCharCode(...bytes.subarray(start, end)));
}

/** Place of the quote that ends a string, or of the first byte that needs more than a look at it. */
export function stringEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end) {
    const byte = bytes[at] ?? 0;
    if (byte === 0x5c && at + 1 < end && isSimpleEscape(bytes[at + 1] ?? 0)) at += 2;
    else if (byte === 0x22 || byte === 0x5c || byte < 0x20) return at;
    else at++;
  }
  return at;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

export function isWhiteSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** What may follow a backslash, but for `u`. */
export function isSimpleEscape(byte: number): boolean {
  switch (byte) {
    case 0x22: // "
    case 0x5c: // backslash
    case 0x2f: // /
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return true;
    default:
      return false;
  }
}

/** A character of a string that stands for itself in one byte. */
export function isPlainAscii(byte: number): boolean {
  return byte < 0x80 && byte >= 0x20 && byte !== 0x5c;
}
