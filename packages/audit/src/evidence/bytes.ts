/**
 * Growing bytes in blocks, so that growth never copies what is there. A record never crosses a block: `begin` makes the
 * room, and what is written until the next `begin` has to fit it.
 */
const BLOCK = 1 << 20;
/** A place is the number of the block and the offset in it, in one integer below 2^53. */
const BLOCKS = 0x1_0000_0000;

/** In the place of the length of a text: a UUID follows as bytes. A text of this length has it in two bytes. */
const UUID = 0x7f;
const DASH = 0x2d;

const HEX_DIGITS = new Int8Array(256).fill(-1);
for (let digit = 0; digit < 16; digit++) HEX_DIGITS[digit.toString(16).charCodeAt(0)] = digit;

export class ByteWriter {
  readonly #blocks: Buffer[] = [];
  #block: Buffer = Buffer.alloc(0);
  #view: DataView = new DataView(new ArrayBuffer(0));
  #at = 0;

  /** Begins a record of at most `room` bytes; its place. */
  begin(room: number): number {
    if (this.#block.length - this.#at < room) {
      this.#block = Buffer.allocUnsafeSlow(Math.max(BLOCK, room));
      this.#view = new DataView(this.#block.buffer, this.#block.byteOffset, this.#block.length);
      this.#at = 0;
      this.#blocks.push(this.#block);
    }
    return (this.#blocks.length - 1) * BLOCKS + this.#at;
  }

  byte(value: number): void {
    this.#block[this.#at++] = value;
  }

  /** Integers from 0 to 2^53 - 1, at most 8 bytes. */
  varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.#block[this.#at++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#block[this.#at++] = rest;
  }

  bigint(value: bigint): void {
    this.#view.setBigUint64(this.#at, value, true);
    this.#at += 8;
  }

  uint32(value: number): void {
    this.#view.setUint32(this.#at, value, true);
    this.#at += 4;
  }

  float(value: number): void {
    this.#view.setFloat64(this.#at, value, true);
    this.#at += 8;
  }

  /** At most `roomOf(value)` bytes. */
  text(value: string): void {
    const { length } = value;
    if (length === 36 && this.#uuid(value)) return;
    if (length < UUID) {
      const block = this.#block;
      let at = this.#at;
      block[at++] = length;
      let index = 0;
      for (; index < length; index++) {
        const code = value.charCodeAt(index);
        if (code >= 0x80) break;
        block[at++] = code;
      }
      if (index === length) {
        this.#at = at;
        return;
      }
    }
    const size = Buffer.byteLength(value);
    // The same size in two bytes, since the one stands for something else.
    if (size === UUID) this.byte(UUID | 0x80);
    this.varint(size === UUID ? 0 : size);
    this.#at += this.#block.write(value, this.#at, size, 'utf8');
  }

  /** Most ids of calls are UUIDs in lower case: a mark and their 16 bytes. */
  #uuid(value: string): boolean {
    const begin = this.#at;
    this.byte(UUID);
    for (let index = 0; index < 36; index += 2) {
      if (index === 8 || index === 13 || index === 18 || index === 23) {
        if (value.charCodeAt(index) === DASH) index += 1;
        else return this.#back(begin);
      }
      const high = HEX_DIGITS[value.charCodeAt(index) & 0xff] ?? -1;
      const low = HEX_DIGITS[value.charCodeAt(index + 1) & 0xff] ?? -1;
      if (high < 0 || low < 0 || value.charCodeAt(index) > 0x7f || value.charCodeAt(index + 1) > 0x7f) {
        return this.#back(begin);
      }
      this.#block[this.#at++] = (high << 4) | low;
    }
    return true;
  }

  #back(at: number): false {
    this.#at = at;
    return false;
  }

  /** At most 8 bytes more than it has. */
  bytes(value: Uint8Array): void {
    this.varint(value.length);
    this.#block.set(value, this.#at);
    this.#at += value.length;
  }

  /** Numbers of 32 bits, the first byte the highest, as hex is read. */
  words(words: Uint32Array, from: number, to: number): void {
    for (let at = from; at < to; at++) {
      this.#view.setUint32(this.#at, words[at] ?? 0);
      this.#at += 4;
    }
  }

  /** Reads at a place; `reader` is moved there, or a new one is made. */
  reader(place: number, reader: ByteReader = new ByteReader()): ByteReader {
    const block = this.#blocks[Math.floor(place / BLOCKS)];
    reader.move(block ?? this.#block, place % BLOCKS);
    return reader;
  }
}

/** Bytes that a text takes at most, its length included. */
export function roomOf(value: string): number {
  return value.length * 3 + 8;
}

export class ByteReader {
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;

  move(bytes: Buffer, at: number): void {
    this.#bytes = bytes;
    this.#at = at;
  }

  get offset(): number {
    return this.#at;
  }

  seek(offset: number): void {
    this.#at = offset;
  }

  /** Whether the next `size` bytes are those that `other` has before it. */
  matches(other: ByteReader, size: number): boolean {
    const [mine, theirs, from, to] = [this.#bytes, other.#bytes, this.#at, other.#at];
    for (let index = 0; index < size; index++) {
      if (mine[from + index] !== theirs[to + index]) return false;
    }
    return true;
  }

  skip(size: number): void {
    this.#at += size;
  }

  skipText(): void {
    if (this.#bytes[this.#at] === UUID) this.#at += 17;
    else {
      const size = this.varint();
      this.#at += size;
    }
  }

  byte(): number {
    return this.#bytes[this.#at++] ?? 0;
  }

  varint(): number {
    let value = 0;
    let factor = 1;
    for (;;) {
      const byte = this.#bytes[this.#at++] ?? 0;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 0x80;
    }
  }

  bigint(): bigint {
    this.#at += 8;
    return this.#bytes.readBigUInt64LE(this.#at - 8);
  }

  uint32(): number {
    this.#at += 4;
    return this.#bytes.readUInt32LE(this.#at - 4);
  }

  uint32BE(): number {
    this.#at += 4;
    return this.#bytes.readUInt32BE(this.#at - 4);
  }

  float(): number {
    this.#at += 8;
    return this.#bytes.readDoubleLE(this.#at - 8);
  }

  text(): string {
    if (this.#bytes[this.#at] === UUID) {
      this.#at += 1;
      const hex = this.hex(16);
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
    }
    const size = this.varint();
    this.#at += size;
    return this.#bytes.toString('utf8', this.#at - size, this.#at);
  }

  /** A view, valid as long as the blocks are. */
  bytes(): Buffer {
    const size = this.varint();
    this.#at += size;
    return this.#bytes.subarray(this.#at - size, this.#at);
  }

  hex(bytes: number): string {
    this.#at += bytes;
    return this.#bytes.toString('hex', this.#at - bytes, this.#at);
  }
}
