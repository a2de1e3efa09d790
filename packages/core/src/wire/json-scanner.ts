import {
  isScalar,
  isPlainAscii,
  isScalarByte,
  isSimpleEscape,
  isWhiteSpace,
  MAX_SCALAR,
  SCALAR,
  scalarEnd,
  stringEnd,
} from './json-bytes.js';
import type { JsonKind, JsonSketch } from './types.js';

/** Deeper texts are called malformed: no JSON-RPC message needs them, and the bit stack must end somewhere. */
const MAX_DEPTH = 65_536;
/** Longest member name, id or version that is kept; a longer one is only known to be there. */
const MAX_CAPTURE = 512;

type Expect =
  | 'value'
  | 'value_or_end'
  | 'key'
  | 'key_or_end'
  | 'colon'
  | 'comma_or_end'
  | 'string'
  | 'escape'
  | 'unicode'
  | 'scalar'
  | 'done'
  | 'malformed'
  | 'concatenated';

type Member = 'jsonrpc' | 'id' | 'method' | 'result' | 'error';
const MEMBERS: ReadonlySet<string> = new Set<Member>(['jsonrpc', 'id', 'method', 'result', 'error']);
const isMember = (name: string | undefined): name is Member => name !== undefined && MEMBERS.has(name);

/** Stands for a value that is there and was too long to keep; equal to nothing that a call can have as its id. */
const TOO_LONG = Symbol('too long to keep');

/**
 * Validates one JSON text byte by byte without keeping it (RFC 8259), and keeps the members of a JSON-RPC envelope.
 * Memory: one bit per level of nesting and at most two captures. Used where a stream tap must say whether an event was
 * complete, and whose response it was, without holding a second copy of a large result.
 */
export class JsonScanner {
  #expect: Expect = 'value';
  #depth = 0;
  /** One bit per open container: set for an object. */
  #objects = new Uint8Array(8);
  #unicodeLeft = 0;
  #stringIsKey = false;
  #scalar = '';
  #scalarCut = false;
  #first: string | undefined;
  #top: JsonKind | undefined;
  #capture: number[] | undefined;
  #captureCut = false;
  /** Member of the envelope, and of its `error`, whose value comes next or is being read. */
  #member: string | undefined;
  #errorMember: string | undefined;
  #envelope: Map<string, unknown> | undefined;
  #error: Map<string, unknown> | undefined;

  /** Reads `bytes[start, end)`; UTF-8 sequences may be split anywhere. */
  push(bytes: Uint8Array, start = 0, end: number = bytes.length): void {
    let at = start;
    while (at < end) {
      if (this.#expect === 'malformed' || this.#expect === 'concatenated') return;
      if (this.#keepsNothing()) {
        at = this.#skim(bytes, at, end);
        if (at === end) return;
      }
      if (this.#expect === 'string') at = this.#readString(bytes, at, end);
      else this.#step(bytes[at++] ?? 0);
    }
  }

  /** What is known now. A number at the top level ends with the text, so only `true` here can complete it. */
  sketch(textEnded = true): JsonSketch {
    let state: JsonSketch['state'];
    if (this.#expect === 'malformed' || this.#expect === 'concatenated' || this.#first === undefined) {
      state = this.#first === undefined ? 'empty' : (this.#expect as 'malformed' | 'concatenated');
    } else if (this.#expect === 'done' || (textEnded && this.#depth === 0 && this.#scalarIsComplete())) {
      state = 'complete';
    } else if (textEnded && this.#depth === 0 && this.#expect === 'scalar') {
      state = 'malformed';
    } else state = 'incomplete';
    return { state, top: this.#top, firstCharacter: this.#first, envelope: this.#readEnvelope() };
  }

  #readEnvelope(): Readonly<Record<string, unknown>> | undefined {
    if (this.#envelope === undefined) return undefined;
    const envelope: Record<string, unknown> = Object.fromEntries(this.#envelope);
    if (this.#error !== undefined && this.#envelope.get('error') === this.#error) {
      envelope['error'] = Object.fromEntries(this.#error);
    }
    return envelope;
  }

  /** Inside a result or another member of which only validity counts. */
  #keepsNothing(): boolean {
    return this.#depth > 1 && this.#capture === undefined && (this.#depth > 2 || this.#member !== 'error');
  }

  /**
   * The same steps without their bookkeeping, for the members of one container: most bytes of a large result. Stops
   * before a byte that it leaves to `#step`: brackets, escapes, errors, a number or literal that the chunk cuts.
   */
  #skim(bytes: Uint8Array, start: number, end: number): number {
    const inObject = this.#inObject();
    let expect = this.#expect;
    let key = this.#stringIsKey;
    let at = start;
    while (at < end) {
      let byte = bytes[at] ?? 0;
      if (expect === 'string') {
        at = stringEnd(bytes, at, end);
        if (at === end || bytes[at] !== 0x22) break;
        expect = key ? 'colon' : 'comma_or_end';
        if (++at === end) break;
        byte = bytes[at] ?? 0;
      }
      if (expect === 'comma_or_end' && byte === 0x2c) {
        expect = inObject ? 'key' : 'value';
        at++;
      } else if (expect === 'colon' && byte === 0x3a) {
        expect = 'value';
        at++;
      } else if (
        byte === 0x22 &&
        (expect === 'value' || expect === 'key' || expect === 'value_or_end' || expect === 'key_or_end')
      ) {
        key = expect === 'key' || expect === 'key_or_end';
        expect = 'string';
        at++;
      } else if (byte <= 0x20) {
        if (!isWhiteSpace(byte) || expect === 'scalar' || expect === 'escape' || expect === 'unicode') break;
        at++;
      } else if (expect === 'value' || expect === 'value_or_end') {
        const after = scalarEnd(bytes, at, end);
        if (after === at || after === end || !isScalar(bytes, at, after)) break;
        expect = 'comma_or_end';
        at = after;
      } else break;
    }
    this.#expect = expect;
    this.#stringIsKey = key;
    return at;
  }

  #step(byte: number): void {
    switch (this.#expect) {
      case 'escape':
        this.#keep(byte);
        if (byte === 0x75 /* u */) {
          this.#unicodeLeft = 4;
          this.#expect = 'unicode';
        } else if (isSimpleEscape(byte)) this.#expect = 'string';
        else this.#expect = 'malformed';
        return;
      case 'unicode':
        this.#keep(byte);
        if (!/[\da-fA-F]/.test(String.fromCharCode(byte))) this.#expect = 'malformed';
        else if (--this.#unicodeLeft === 0) this.#expect = 'string';
        return;
      case 'scalar':
        if (this.#continueScalar(byte)) return;
        if (!this.#endScalar()) return;
        break;
      case 'value':
      case 'value_or_end':
      case 'key':
      case 'key_or_end':
      case 'colon':
      case 'comma_or_end':
      case 'string':
      case 'done':
      case 'malformed':
      case 'concatenated':
        break;
      default:
        return this.#expect satisfies never;
    }
    if (isWhiteSpace(byte)) return;
    this.#first ??= String.fromCharCode(byte);
    this.#structure(byte);
  }

  #structure(byte: number): void {
    switch (this.#expect) {
      case 'value':
      case 'value_or_end':
        if (byte === 0x5d /* ] */ && this.#expect === 'value_or_end') this.#close(false);
        else this.#beginValue(byte);
        return;
      case 'key':
      case 'key_or_end':
        if (byte === 0x22 /* " */) this.#beginString(true);
        else if (byte === 0x7d /* } */ && this.#expect === 'key_or_end') this.#close(true);
        else this.#expect = 'malformed';
        return;
      case 'colon':
        this.#expect = byte === 0x3a /* : */ ? 'value' : 'malformed';
        return;
      case 'comma_or_end':
        if (byte === 0x2c /* , */) this.#expect = this.#inObject() ? 'key' : 'value';
        else if (byte === 0x7d || byte === 0x5d) this.#close(byte === 0x7d);
        else this.#expect = 'malformed';
        return;
      case 'done':
        this.#expect = 'concatenated';
        return;
      case 'string':
      case 'escape':
      case 'unicode':
      case 'scalar':
      case 'malformed':
      case 'concatenated':
        return;
      default:
        return this.#expect satisfies never;
    }
  }

  #beginValue(byte: number): void {
    if (byte === 0x7b /* { */ || byte === 0x5b /* [ */) {
      const kind = byte === 0x7b ? 'object' : 'array';
      this.#note(kind, kind === 'object' ? {} : []);
      this.#open(kind === 'object');
    } else if (byte === 0x22) {
      this.#note('string', '');
      this.#beginString(false);
    } else {
      this.#scalar = '';
      this.#scalarCut = false;
      this.#expect = 'scalar';
      if (!this.#continueScalar(byte)) this.#expect = 'malformed';
    }
  }

  #open(object: boolean): void {
    if (this.#depth >= MAX_DEPTH) {
      this.#expect = 'malformed';
      return;
    }
    const slot = this.#depth >> 3;
    if (slot >= this.#objects.length) {
      const grown = new Uint8Array(this.#objects.length * 2);
      grown.set(this.#objects);
      this.#objects = grown;
    }
    const bit = 1 << (this.#depth & 7);
    this.#objects[slot] = object ? (this.#objects[slot] ?? 0) | bit : (this.#objects[slot] ?? 0) & ~bit;
    this.#depth++;
    this.#expect = object ? 'key_or_end' : 'value_or_end';
  }

  #close(object: boolean): void {
    if (this.#depth === 0 || this.#inObject() !== object) {
      this.#expect = 'malformed';
      return;
    }
    this.#depth--;
    this.#endValue();
  }

  #inObject(): boolean {
    const level = this.#depth - 1;
    return level >= 0 && ((this.#objects[level >> 3] ?? 0) & (1 << (level & 7))) !== 0;
  }

  #endValue(): void {
    this.#expect = this.#depth === 0 ? 'done' : 'comma_or_end';
    if (this.#depth === 1) this.#member = undefined;
    else if (this.#depth === 2) this.#errorMember = undefined;
  }

  // Strings

  #beginString(key: boolean): void {
    this.#stringIsKey = key;
    this.#expect = 'string';
    this.#captureCut = false;
    const wanted = key
      ? this.#envelope !== undefined && (this.#depth === 1 || this.#insideError())
      : this.#target() !== undefined;
    this.#capture = wanted ? [] : undefined;
  }

  /** The long run of a text: everything up to a quote, a backslash or a control character. */
  #readString(bytes: Uint8Array, start: number, end: number): number {
    let at = start;
    let byte = 0;
    while (at < end) {
      byte = bytes[at] ?? 0;
      if (byte === 0x22 || byte === 0x5c || byte < 0x20) break;
      at++;
    }
    if (this.#capture !== undefined) for (let i = start; i < at; i++) this.#keep(bytes[i] ?? 0);
    if (at === end) return at;
    if (byte === 0x5c) {
      this.#keep(byte);
      this.#expect = 'escape';
    } else if (byte === 0x22) this.#endString();
    else this.#expect = 'malformed';
    return at + 1;
  }

  #keep(byte: number): void {
    if (this.#capture === undefined) return;
    if (this.#capture.length < MAX_CAPTURE) this.#capture.push(byte);
    else this.#captureCut = true;
  }

  #endString(): void {
    const text = this.#captured();
    this.#capture = undefined;
    if (this.#stringIsKey) {
      if (this.#depth === 1) this.#member = text;
      else if (this.#insideError()) this.#errorMember = text;
      this.#expect = 'colon';
      return;
    }
    const target = this.#target();
    if (target !== undefined) target.map.set(target.name, text ?? TOO_LONG);
    this.#endValue();
  }

  #captured(): string | undefined {
    if (this.#capture === undefined || this.#captureCut) return undefined;
    if (this.#capture.every(isPlainAscii)) return String.fromCharCode(...this.#capture);
    const raw = new TextDecoder().decode(Uint8Array.from(this.#capture));
    try {
      const value: unknown = JSON.parse(`"${raw}"`);
      return typeof value === 'string' ? value : undefined;
    } catch {
      return undefined;
    }
  }

  // Numbers and literals

  #continueScalar(byte: number): boolean {
    const part = isScalarByte(byte);
    if (part && this.#scalar.length < MAX_SCALAR) this.#scalar += String.fromCharCode(byte);
    else if (part) this.#scalarCut = true;
    return part;
  }

  #scalarIsComplete(): boolean {
    return this.#expect === 'scalar' && (this.#scalarCut || SCALAR.test(this.#scalar));
  }

  #endScalar(): boolean {
    if (!this.#scalarIsComplete()) {
      this.#expect = 'malformed';
      return false;
    }
    const value: unknown = this.#scalarCut ? TOO_LONG : JSON.parse(this.#scalar);
    this.#note(value === null ? 'null' : typeof value === 'boolean' ? 'boolean' : 'number', value);
    this.#endValue();
    return true;
  }

  // The envelope

  #insideError(): boolean {
    return this.#depth === 2 && this.#member === 'error' && this.#inObject();
  }

  /** Where the value that is being read belongs, if it is one that is kept. */
  #target(): { readonly map: Map<string, unknown>; readonly name: string } | undefined {
    if (this.#envelope === undefined) return undefined;
    if (this.#depth === 1 && isMember(this.#member)) return { map: this.#envelope, name: this.#member };
    const name = this.#errorMember;
    if (this.#error !== undefined && this.#insideError() && (name === 'code' || name === 'message')) {
      return { map: this.#error, name };
    }
    return undefined;
  }

  #note(kind: JsonKind, value: unknown): void {
    if (this.#depth === 0) {
      this.#top ??= kind;
      if (kind === 'object') this.#envelope ??= new Map();
      return;
    }
    const target = this.#target();
    if (target === undefined) return;
    if (target.map === this.#envelope && target.name === 'error' && kind === 'object') {
      this.#error = new Map();
      target.map.set('error', this.#error);
    } else target.map.set(target.name, value);
  }
}
