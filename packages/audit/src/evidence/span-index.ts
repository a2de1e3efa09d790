/**
 * Which spans there are at all, in 13 bytes each: a call below a span of something else must be told from one whose
 * parent was lost, and nothing else of such spans is worth keeping.
 */
import { uint32Of } from './hex.js';

export interface IndexedSpan {
  readonly source: string;
  /** Milliseconds since the epoch; enough to say that a parent ended before its child began. */
  readonly endMs: number;
}

const START = 1 << 12;
/** Share of the slots that are taken before there are more of them, and how many more. */
const FULL = 0.7;
const GROWTH = 1.5;
/** It has no end, or none that was exported. */
const NO_END = -(2 ** 31);
const MAX_END = 2 ** 31 - 1;

export class SpanIndex {
  #size = 0;
  #capacity = START;
  #high = new Uint32Array(START);
  #low = new Uint32Array(START);
  /** Milliseconds after the first end that was seen; a span that ended weeks before or after it counts as at the bound. */
  #ends = new Int32Array(START);
  #firstMs = Number.NaN;
  #source = new Uint8Array(START);
  readonly #sources: string[] = [];

  /** Span ids are 16 hex digits; anything else is not indexed. */
  add(spanId: string, source: string, endMs: number): void {
    if (spanId.length !== 16) return;
    const high = uint32Of(spanId, 0);
    const low = uint32Of(spanId, 8);
    if (high === -1 || low === -1) return;
    this.addWords(high, low, source, endMs);
  }

  /** By the two halves of the id. */
  addWords(high: number, low: number, source: string, endMs: number): void {
    if (high === 0 && low === 0) return;
    if (this.#size > this.#capacity * FULL) this.#grow();
    this.#put(high, low, this.#packedEnd(endMs), this.#sourceNumber(source));
  }

  get(spanId: string): IndexedSpan | undefined {
    if (spanId.length !== 16) return undefined;
    const high = uint32Of(spanId, 0);
    const low = uint32Of(spanId, 8);
    return high === -1 || low === -1 ? undefined : this.find(high, low);
  }

  /** By the two halves of the id. */
  find(high: number, low: number): IndexedSpan | undefined {
    for (let slot = this.#slotOf(high, low); ; slot = slot + 1 === this.#capacity ? 0 : slot + 1) {
      const found = this.#high[slot] ?? 0;
      const foundLow = this.#low[slot] ?? 0;
      if (found === 0 && foundLow === 0) return undefined;
      if (found === high && foundLow === low) {
        return {
          source: this.#sources[this.#source[slot] ?? 0] ?? '',
          endMs: this.#endOf(this.#ends[slot] ?? NO_END),
        };
      }
    }
  }

  /** Rounded up: a parent is never taken to have ended earlier than it did. */
  #packedEnd(endMs: number): number {
    if (endMs === 0) return NO_END;
    if (Number.isNaN(this.#firstMs)) this.#firstMs = Math.ceil(endMs);
    return Math.max(NO_END + 1, Math.min(MAX_END, Math.ceil(endMs - this.#firstMs)));
  }

  #endOf(end: number): number {
    return end === NO_END ? 0 : end + this.#firstMs;
  }

  #sourceNumber(source: string): number {
    const last = this.#sources.length - 1;
    if (this.#sources[last] === source) return last & 0xff;
    const found = this.#sources.indexOf(source);
    if (found !== -1) return found & 0xff;
    this.#sources.push(source);
    return (this.#sources.length - 1) & 0xff;
  }

  #put(high: number, low: number, end: number, source: number): void {
    let slot = this.#slotOf(high, low);
    while (this.#high[slot] !== 0 || this.#low[slot] !== 0) {
      if (this.#high[slot] === high && this.#low[slot] === low) {
        // The later end of two copies, whatever their order.
        if (end > (this.#ends[slot] ?? NO_END)) this.#ends[slot] = end;
        return;
      }
      slot = slot + 1 === this.#capacity ? 0 : slot + 1;
    }
    this.#high[slot] = high;
    this.#low[slot] = low;
    this.#ends[slot] = end;
    this.#source[slot] = source;
    this.#size += 1;
  }

  #slotOf(high: number, low: number): number {
    return Math.floor((hash(high, low) / 0x1_0000_0000) * this.#capacity);
  }

  #grow(): void {
    const [highs, lows, ends, sources] = [this.#high, this.#low, this.#ends, this.#source];
    const capacity = Math.ceil(highs.length * GROWTH);
    this.#capacity = capacity;
    this.#high = new Uint32Array(capacity);
    this.#low = new Uint32Array(capacity);
    this.#ends = new Int32Array(capacity);
    this.#source = new Uint8Array(capacity);
    this.#size = 0;
    for (let i = 0; i < highs.length; i++) {
      const high = highs[i] ?? 0;
      const low = lows[i] ?? 0;
      if (high !== 0 || low !== 0) this.#put(high, low, ends[i] ?? NO_END, sources[i] ?? 0);
    }
  }
}

function hash(high: number, low: number): number {
  return (Math.imul(high ^ (low >>> 15), 0x85ebca6b) ^ Math.imul(low, 0xc2b2ae35)) >>> 0;
}
