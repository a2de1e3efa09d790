import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FrameLog } from './frame-log.js';

let folder: string;
const file = (): string => path.join(folder, 'closed.bin');

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'waybill-frames-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('FrameLog', () => {
  it('gives back what it was given, with bigints, maps and bytes', async () => {
    const values = [
      { time: 1n << 62n, states: new Map([['a', 1]]), bytes: new Uint8Array([1, 2]) },
      'second',
    ];
    const log = new FrameLog(file());
    const offsets = await log.append(values);
    expect(offsets.map((offset) => log.read(offset))).toEqual(values);
    log.close();
    const again = new FrameLog(file());
    expect(offsets.map((offset) => again.read(offset))).toEqual(values);
    again.close();
  });

  it('a frame that is damaged or cut off is no value, and new ones stand behind it', async () => {
    const log = new FrameLog(file());
    const [first = 0, second = 0] = await log.append(['first', 'second']);
    log.close();
    const bytes = readFileSync(file());
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
    writeFileSync(file(), bytes);
    appendFileSync(file(), Buffer.from([255, 255, 0]));
    const again = new FrameLog(file());
    expect(again.read(first)).toBe('first');
    expect(again.read(second)).toBeUndefined();
    const [third = 0] = await again.append(['third']);
    expect(again.read(third)).toBe('third');
    expect(again.read(bytes.length)).toBeUndefined();
    again.close();
  });
});

describe('crc32', () => {
  it('is the checksum of gzip (check value of the CRC catalogue)', () => {
    expect(crc32(Buffer.from('123456789'))).toBe(0xcbf4_3926);
  });
});
