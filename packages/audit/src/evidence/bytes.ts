/** Growing bytes in blocks, so that growth never copies what is there. A record never crosses a block. */
const BLOCK = 1 << 20;
/** No record is larger: kept attributes are capped, stages are few; a larger one gets a block of its own. */
const ROOM = 1 << 16;

export class ByteWriter {
  readonly #blocks: Buffer[] = [];
  /** Position of the first byte of each block. */
  readonly #starts: number[] = [];
  #block: Buffer = Buffer.alloc(0);
  #at = 0;
  #start = 0;

  /** Position of the next record; call it before the first byte of a record is written. */
  get length(): number {
    if (this.#block.length - this.#at < ROOM) this.#open(BLOCK);
    return this.#start + this.#at;
  }

  byte(value: number): void {
    if (this.#at >= this.#block.length) this.#extend(1);
    this.#block[this.#at++] = value;
  }

  /** Integers from 0 to 2^53 - 1. */
  varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.byte((rest % 0x80) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    this.byte(rest);
  }

  bigint(value: bigint): void {
    if (this.#block.length - this.#at < 8) this.#extend(8);
    this.#block.writeBigUInt64LE(BigInt.asUintN(64, value), this.#at);
    this.#at += 8;
  }

  float(value: number): void {
    if (this.#block.length - this.#at < 8) this.#extend(8);
    this.#block.writeDoubleLE(value, this.#at);
    this.#at += 8;
  }

  text(value: string): void {
    const size = Buffer.byteLength(value);
    this.varint(size);
    if (this.#block.length - this.#at < size) this.#extend(size);
    this.#at += this.#block.write(value, this.#at, size, 'utf8');
  }

  /** A hex id of `bytes` bytes takes them and one; anything else is written as text. */
  hex(value: string, bytes: number): void {
    if (value.length === bytes * 2 && /^[0-9a-f]*$/.test(value)) {
      if (this.#block.length - this.#at < bytes + 1) this.#extend(bytes + 1);
      this.#block[this.#at++] = 1;
      this.#at += this.#block.write(value, this.#at, bytes, 'hex');
    } else {
      this.byte(value === '' ? 0 : 2);
      if (value !== '') this.text(value);
    }
  }

  reader(position: number): ByteReader {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= position) low = middle;
      else high = middle - 1;
    }
    return new ByteReader(this.#blocks[low] ?? Buffer.alloc(0), position - (this.#starts[low] ?? 0));
  }

  #open(size: number): void {
    this.#start += this.#block.length;
    this.#block = Buffer.allocUnsafeSlow(size);
    this.#at = 0;
    this.#blocks.push(this.#block);
    this.#starts.push(this.#start);
  }

  /** A record outgrew the room that was left for it: its block is made larger, which happens to no ordinary record. */
  #extend(size: number): void {
    const grown = Buffer.allocUnsafeSlow(this.#block.length * 2 + size);
    this.#block.copy(grown, 0, 0, this.#at);
    this.#block = grown;
    if (this.#blocks.length === 0) this.#starts.push(this.#start);
    this.#blocks[Math.max(0, this.#blocks.length - 1)] = grown;
  }
}

export class ByteReader {
  readonly #bytes: Buffer;
  #at: number;
  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.#at = at;
  }

  byte(): number {
    return this.#bytes[this.#at++] ?? 0;
  }

  varint(): number {
    let value = 0;
    let factor = 1;
    for (;;) {
      const byte = this.byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 0x80;
    }
  }

  bigint(): bigint {
    this.#at += 8;
    return this.#bytes.readBigUInt64LE(this.#at - 8);
  }

  float(): number {
    this.#at += 8;
    return this.#bytes.readDoubleLE(this.#at - 8);
  }

  text(): string {
    const size = this.varint();
    this.#at += size;
    return this.#bytes.toString('utf8', this.#at - size, this.#at);
  }

  hex(bytes: number): string {
    const form = this.byte();
    if (form === 0) return '';
    if (form === 2) return this.text();
    this.#at += bytes;
    return this.#bytes.toString('hex', this.#at - bytes, this.#at);
  }
}
