/** Ids as numbers: a span id is two of 32 bits, a trace id four. */

/** Eight lower-case hex digits as a number; -1 for anything else. */
export function uint32Of(text: string, from: number): number {
  let value = 0;
  for (let at = from; at < from + 8; at++) {
    const code = text.charCodeAt(at);
    if (code >= 0x30 && code <= 0x39) value = value * 16 + code - 0x30;
    else if (code >= 0x61 && code <= 0x66) value = value * 16 + code - 0x57;
    else return -1;
  }
  return value;
}

/** Reads so many numbers; false for a text of another length, or one that is no lower-case hex. */
export function readWords(text: string, words: number, into: Uint32Array, at: number): boolean {
  if (text.length !== words * 8) return false;
  for (let word = 0; word < words; word++) {
    const value = uint32Of(text, word * 8);
    if (value === -1) return false;
    into[at + word] = value;
  }
  return true;
}
