/**
 * Closed groups on disk: frames of a length, a checksum and a value in the structured-clone format of `node:v8`, which
 * carries bigints and bytes. Only appended to; a group that came back and closed again has a newer frame.
 */
import { closeSync, fdatasync, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { deserialize, serialize } from 'node:v8';
import { crc32 } from 'node:zlib';

const HEAD = 8;
const syncData = promisify(fdatasync);

export class FrameLog {
  readonly #fd: number;
  #size: number;

  constructor(file: string) {
    this.#fd = openSync(file, 'a+', 0o600);
    this.#size = fstatSync(this.#fd).size;
  }

  get size(): number {
    return this.#size;
  }

  /** Appends values in one write and waits until they are on disk; gives their offsets. */
  async append(values: readonly unknown[]): Promise<readonly number[]> {
    const offsets: number[] = [];
    const parts: Buffer[] = [];
    let at = this.#size;
    for (const value of values) {
      const body = serialize(value);
      const head = Buffer.alloc(HEAD);
      head.writeUInt32LE(body.length, 0);
      head.writeUInt32LE(crc32(body), 4);
      offsets.push(at);
      at += HEAD + body.length;
      parts.push(head, body);
    }
    const bytes = Buffer.concat(parts);
    let written = 0;
    try {
      while (written < bytes.length) written += writeSync(this.#fd, bytes, written);
    } finally {
      // A frame that was cut off (a full disk) stays behind as a hole that nothing points to.
      this.#size += written;
    }
    await syncData(this.#fd);
    return offsets;
  }

  /** The value of a frame; undefined when the frame is not whole. */
  read(offset: number): unknown {
    const head = Buffer.alloc(HEAD);
    if (readSync(this.#fd, head, 0, HEAD, offset) < HEAD) return undefined;
    const length = head.readUInt32LE(0);
    if (offset + HEAD + length > this.#size) return undefined;
    const body = Buffer.alloc(length);
    if (readSync(this.#fd, body, 0, length, offset + HEAD) < length) return undefined;
    return crc32(body) === head.readUInt32LE(4) ? deserialize(body) : undefined;
  }

  close(): void {
    closeSync(this.#fd);
  }
}
