/** A packed row at a glance: its shape, whose parent it is, its times; and the marks that stand before its values. */
import { ByteReader } from './bytes.js';
import type { Shape } from './shapes.js';

/** Which ids the row has. */
export const TRACE = 1;
export const SPAN = 2;
export const PARENT = 4;
/** A time does not fit 32 bits after the start. */
export const WIDE = 8;
export const LINE = 16;
export const OFFSET = 32;
/** The times of the stages are known and do not run backwards. */
export const IN_ORDER = 64;

const SECOND = 1_000_000_000n;

export function timeFrom(from: ByteReader): bigint {
  const seconds = from.uint32();
  return BigInt(seconds) * SECOND + BigInt(from.uint32());
}

/** A row of a common shape without its object. The reader stands at its ids; one object is used again and again. */
export class RowBrief {
  readonly from: ByteReader = new ByteReader();
  shape: Shape | undefined;
  #marks = 0;
  #begin = 0;
  #ids = 0;

  /** Moves to a row; false for a row of no common shape. */
  move(shape: Shape | undefined): boolean {
    this.shape = shape;
    if (shape === undefined) return false;
    const { from } = this;
    this.#marks = from.byte();
    this.#begin = from.offset;
    if (shape.hasCallId) from.skipText();
    if (shape.hasOperationId) from.skipText();
    this.#ids = from.offset - this.#begin;
    from.seek(this.#begin);
    return true;
  }

  /** The stages run in their order, and the time of each is known. */
  get inOrder(): boolean {
    return (this.#marks & IN_ORDER) !== 0;
  }

  get hasParent(): boolean {
    return (this.#marks & PARENT) !== 0;
  }

  /** Call id and operation id are those that the other has before it. */
  sameIds(other: ByteReader): boolean {
    return this.from.matches(other, this.#ids);
  }

  /** The other row is the parent of this one. */
  isChildOf(other: RowBrief): boolean {
    const own = TRACE | SPAN | PARENT;
    if ((this.#marks & own) !== own || (other.#marks & (TRACE | SPAN)) !== (TRACE | SPAN)) return false;
    this.from.seek(this.#begin + this.#ids);
    other.from.seek(other.#begin + other.#ids);
    let same = this.from.matches(other.from, 16);
    this.from.skip(24);
    other.from.skip(16);
    same &&= this.from.matches(other.from, 8);
    this.from.seek(this.#begin);
    other.from.seek(other.#begin);
    return same;
  }

  /** The two halves of the parent's span id. */
  parent(): { readonly high: number; readonly low: number } {
    this.from.seek(this.#begin + this.#ids + this.#idRoom() - 8);
    const high = this.from.uint32BE();
    const low = this.from.uint32BE();
    this.from.seek(this.#begin);
    return { high, low };
  }

  start(): bigint {
    this.from.seek(this.#begin + this.#ids + this.#idRoom());
    const start = timeFrom(this.from);
    this.from.seek(this.#begin);
    return start;
  }

  /** Time of the stage at this place of the shape. */
  timeOf(place: number): bigint {
    const wide = (this.#marks & WIDE) !== 0;
    const start = this.start();
    this.from.seek(this.#begin + this.#ids + this.#idRoom() + 8 + (place + 1) * (wide ? 8 : 4));
    const time = wide ? timeFrom(this.from) : start + BigInt(this.from.uint32());
    this.from.seek(this.#begin);
    return time;
  }

  #idRoom(): number {
    const marks = this.#marks;
    return (
      ((marks & TRACE) === 0 ? 0 : 16) + ((marks & SPAN) === 0 ? 0 : 8) + ((marks & PARENT) === 0 ? 0 : 8)
    );
  }
}
