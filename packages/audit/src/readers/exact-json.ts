/**
 * JSON whose integers above 2^53 keep their value. `JSON.parse` rounds them, and its access to the source text came
 * only after Node 20. Readers parse with `JSON.parse` first; only a record in which a rounded number turns up is
 * parsed again here.
 */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/** Starts a string that stands for a number literal. U+FFFF is no character, so no exporter writes it. */
const MARK = '\uFFFFnumber:';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Fewer digits than this always fit a double exactly. */
const SAFE_DIGITS = 15;

/**
 * Like `JSON.parse`, but number literals that a double may not hold become strings, read by `exactInteger` and
 * `exactDouble`.
 * @throws SyntaxError as `JSON.parse` does
 */
export function parseExact(text: string): Json {
  let out = '';
  let copied = 0;
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
    } else if (isDigit(code) || code === MINUS) {
      const start = at;
      at += 1;
      while (isDigit(text.charCodeAt(at))) at += 1;
      const digits = at - start - (code === MINUS ? 1 : 0);
      const next = text[at];
      const fraction = next === '.' || next === 'e' || next === 'E';
      if (fraction) at = endOfNumber(text, at);
      // A fraction or exponent is a double whatever its size, but `isRounded` could not tell it from an integer.
      if (fraction ? isRounded(Number(text.slice(start, at))) : digits > SAFE_DIGITS) {
        out += `${text.slice(copied, start)}"${MARK}${text.slice(start, at)}"`;
        copied = at;
      }
    } else {
      at += 1;
    }
  }
  return JSON.parse(copied === 0 ? text : out + text.slice(copied)) as Json;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    at += code === BACKSLASH ? 2 : 1;
  }
  return at;
}

function endOfNumber(text: string, start: number): number {
  let at = start;
  while (at < text.length && /[0-9.eE+-]/.test(text[at] ?? '')) at += 1;
  return at;
}

/** The integer that `parseExact` kept; undefined for every other value. */
export function exactInteger(value: unknown): bigint | undefined {
  if (typeof value !== 'string' || !value.startsWith(MARK)) return undefined;
  const literal = value.slice(MARK.length);
  return /^-?\d+$/.test(literal) ? BigInt(literal) : undefined;
}

/** The double that a kept literal stands for, rounded or not; undefined for every other value. */
export function exactDouble(value: unknown): number | undefined {
  if (typeof value !== 'string' || !value.startsWith(MARK)) return undefined;
  return Number(value.slice(MARK.length));
}

/** A number from `JSON.parse` that may stand for another integer in the source. */
export function isRounded(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
