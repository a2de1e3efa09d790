/**
 * How records stand in a file of the receiver: OTLP JSON as lines, OTLP protobuf with its length before it, as the
 * Collector's file exporter writes `format: proto`. `waybill audit` reads both.
 */
import type { FileHandle } from 'node:fs/promises';

export interface Form {
  /** The pieces that are written for a record. */
  wrap(record: Buffer): readonly Buffer[];
  /**
   * What has to be appended before the next record, so that a record that was cut off by a crash does not swallow it.
   * Nothing is ever taken away: what was cut off was not acknowledged, and a reader names it as damage.
   */
  completion(handle: FileHandle, size: number): Promise<Buffer>;
}

const NEWLINE = Buffer.from('\n');
const NOTHING = Buffer.alloc(0);

export const LINES: Form = {
  wrap: (record) => [record, NEWLINE],
  completion: async (handle, size) => {
    if (size === 0) return NOTHING;
    const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
    return buffer[0] === NEWLINE[0] ? NOTHING : NEWLINE;
  },
};

/** Bytes of a length, big-endian. */
export const FRAME_HEAD = 4;
/** Readers take no longer record; a length beyond it is damage, behind which they search for the next record. */
export const MAX_FRAME: number = 256 << 20;
const READ = 1 << 20;

export const FRAMES: Form = {
  wrap: (record) => {
    const head = Buffer.allocUnsafe(FRAME_HEAD);
    head.writeUInt32BE(record.length);
    return [head, record];
  },
  completion: async (handle, size) => {
    const buffer = Buffer.alloc(READ);
    let start = 0;
    let filled = 0;
    let at = 0;
    while (at < size) {
      if (at + FRAME_HEAD > start + filled) {
        start = at;
        filled = (await handle.read(buffer, 0, READ, start)).bytesRead;
        // A length that is cut off itself is completed with zeros as well.
        buffer.fill(0, filled, Math.max(filled, FRAME_HEAD));
      }
      const length = buffer.readUInt32BE(at - start);
      if (length > MAX_FRAME) return NOTHING;
      at += FRAME_HEAD + length;
    }
    return Buffer.alloc(at - size);
  },
};
