/**
 * Canonical JSON: the one byte string of a value (RFC 8785). What is signed, hashed and stored as a receipt is these
 * bytes, so two writers that mean the same write the same.
 */
import * as canonicalizeModule from 'canonicalize';

/** A value that JSON can hold. */
export type JsonValue =
  string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

export interface CanonicalOptions {
  /**
   * How numbers other than safe integers are taken. `refuse`, the default and the rule for receipts: readers in other
   * languages differ in them. `allow` follows RFC 8785 (ECMAScript formatting); for digests of a caller's parameters.
   */
  readonly fractions?: 'refuse' | 'allow';
}

/** A value that has no canonical form; `path` names the place, for instance `$.target.id`. */
export class CanonicalError extends TypeError {
  override readonly name = 'CanonicalError';
  readonly path: string;
  constructor(path: string, problem: string) {
    super(`${path}: ${problem}`);
    this.path = path;
  }
}

const MAX_DEPTH = 100;

// The package is one CommonJS function; a bundler or a loader may hand it over as the namespace or as its default.
const serialize: (value: unknown) => string | undefined = (() => {
  let found: unknown = canonicalizeModule;
  while (typeof found === 'object' && found !== null && 'default' in found) found = found.default;
  if (typeof found !== 'function') throw new Error('the package canonicalize has no function to call');
  return found as (value: unknown) => string | undefined;
})();

/**
 * The canonical text of a value. Members whose value is undefined are left out, as JSON does.
 *
 * @throws CanonicalError for what has no single form: NaN, infinities, fractions and unsafe integers (see options),
 * lone surrogates, BigInt, functions, class instances, cycles, more than 100 levels.
 */
export function canonicalJson(value: unknown, options: CanonicalOptions = {}): string {
  assertCanonical(value, '$', options.fractions ?? 'refuse', 0);
  const text = flatText(value) ?? serialize(value);
  if (text === undefined) throw new CanonicalError('$', 'there is nothing to write');
  return text;
}

/** The canonical text of what holds nothing nested, as nearly every receipt does: a few times faster. */
function flatText(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return scalarText(value);
  if (Array.isArray(value)) return undefined;
  const members = value as Readonly<Record<string, unknown>>;
  let text = '';
  for (const key of Object.keys(members).sort()) {
    const member = members[key];
    if (typeof member === 'object' && member !== null) return undefined;
    if (member === undefined) continue;
    text += `${text === '' ? '' : ','}${scalarText(key)}:${scalarText(member)}`;
  }
  return `{${text}}`;
}

/** What JSON writes as it stands; a call into the engine for each word costs more than to look at it. */
const PLAIN_TEXT = /^[ !#-[\]-~]*$/;

function scalarText(value: unknown): string {
  return typeof value === 'string' && PLAIN_TEXT.test(value) ? `"${value}"` : JSON.stringify(value);
}

/** UTF-8 bytes of {@link canonicalJson}. */
export function canonicalBytes(value: unknown, options: CanonicalOptions = {}): Uint8Array {
  return new TextEncoder().encode(canonicalJson(value, options));
}

function assertCanonical(value: unknown, path: string, fractions: 'refuse' | 'allow', depth: number): void {
  if (depth > MAX_DEPTH) throw new CanonicalError(path, `deeper than ${MAX_DEPTH} levels, or a cycle`);
  switch (typeof value) {
    case 'boolean':
      return;
    case 'string':
      assertText(value, path);
      return;
    case 'number':
      assertNumber(value, path, fractions);
      return;
    case 'object':
      break;
    default:
      throw new CanonicalError(path, `a ${typeof value} is no JSON value`);
  }
  if (value === null) return;
  if (Array.isArray(value)) {
    value.forEach((item, i) => assertCanonical(item, `${path}[${i}]`, fractions, depth + 1));
    return;
  }
  if (!isPlain(value)) {
    throw new CanonicalError(path, 'an instance of a class; pass the plain value that it stands for');
  }
  for (const [key, member] of Object.entries(value)) {
    assertText(key, path);
    if (member !== undefined) assertCanonical(member, `${path}.${key}`, fractions, depth + 1);
  }
}

/** Objects of literals and of JSON.parse, of any realm. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function assertText(text: string, path: string): void {
  // With the flag `u` a surrogate matches only when it stands alone.
  if (/\p{Surrogate}/u.test(text))
    throw new CanonicalError(path, 'text with a lone surrogate has no UTF-8 form');
}

function assertNumber(value: number, path: string, fractions: 'refuse' | 'allow'): void {
  if (!Number.isFinite(value)) throw new CanonicalError(path, `${value} is no JSON number`);
  if (fractions === 'refuse' && !Number.isSafeInteger(value)) {
    throw new CanonicalError(
      path,
      `${value} is no integer below 2^53; write it as text, readers would disagree about its digits`,
    );
  }
}

/**
 * Whether a JSON text surely names no member twice, told by counting: in the text of an object that holds nothing nested
 * and no escapes, every member has two quotes, and every text value two more.
 */
export function hasDistinctKeys(validJson: string, parsed: Readonly<Record<string, unknown>>): boolean {
  if (validJson.includes('\\')) return false;
  let owed = 0;
  for (const key of Object.keys(parsed)) {
    const member = parsed[key];
    if (typeof member === 'object' && member !== null) return false;
    owed += typeof member === 'string' ? 4 : 2;
  }
  let quotes = 0;
  for (let at = validJson.indexOf('"'); at !== -1; at = validJson.indexOf('"', at + 1)) quotes += 1;
  return quotes === owed;
}

/** Where a JSON text names one member twice, for instance `$.target.id`; undefined when it does not. */
export function duplicateKey(validJson: string): string | undefined {
  interface Frame {
    readonly path: string;
    readonly keys: Set<string> | undefined;
    item: number;
    key: string | undefined;
  }
  const stack: Frame[] = [];
  const here = (): string => {
    const frame = stack.at(-1);
    if (frame === undefined) return '$';
    return frame.keys === undefined ? `${frame.path}[${frame.item}]` : `${frame.path}.${frame.key ?? ''}`;
  };
  const token = /"(?:[^"\\]|\\.)*"|[{}[\],]/g;
  for (const [text] of validJson.matchAll(token)) {
    const frame = stack.at(-1);
    if (text === '{' || text === '[') {
      stack.push({ path: here(), keys: text === '{' ? new Set() : undefined, item: 0, key: undefined });
    } else if (text === '}' || text === ']') {
      stack.pop();
    } else if (text === ',') {
      if (frame !== undefined) {
        frame.item += 1;
        frame.key = undefined;
      }
    } else if (frame?.keys !== undefined && frame.key === undefined) {
      frame.key = JSON.parse(text) as string;
      if (frame.keys.has(frame.key)) return here();
      frame.keys.add(frame.key);
    }
  }
  return undefined;
}
