import { appendFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Tail } from './tail.js';

let folder: string;
const file = (): string => path.join(folder, 'lines');

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'waybill-tail-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function textOf(tail: Tail, limit?: number): string | undefined {
  return tail.read(limit)?.bytes.toString();
}

describe('Tail', () => {
  it('gives whole lines once, with the number of the first', () => {
    const tail = new Tail(file());
    expect(tail.read()).toBeUndefined();
    writeFileSync(file(), 'a\nb\nc');
    expect(tail.read()).toMatchObject({ from: { offset: 0, line: 1 } });
    expect(textOf(tail)).toBeUndefined();
    appendFileSync(file(), 'd\n');
    const piece = tail.read();
    expect(piece?.bytes.toString()).toBe('cd\n');
    expect(piece?.from).toMatchObject({ offset: 4, line: 3 });
  });

  it('reads no further than what is acknowledged', () => {
    writeFileSync(file(), 'a\nb\n');
    const tail = new Tail(file());
    expect(textOf(tail, 3)).toBe('a\n');
    expect(textOf(tail, 3)).toBeUndefined();
    expect(textOf(tail)).toBe('b\n');
  });

  it('goes on from a place', () => {
    writeFileSync(file(), 'a\nb\n');
    const first = new Tail(file());
    first.read(2);
    expect(textOf(new Tail(file(), first.next))).toBe('b\n');
  });

  it.each([
    ['shorter', 'x\n'],
    ['as long', 'x\ny\n'],
    ['longer', 'x\ny\nz\n'],
  ])('another file of that name, %s, is read from its start', (_, text) => {
    writeFileSync(file(), 'a\nb\n');
    const tail = new Tail(file());
    tail.read();
    rmSync(file());
    writeFileSync(file(), text);
    const piece = tail.read();
    expect(piece?.bytes.toString()).toBe(text);
    expect(piece?.from).toMatchObject({ offset: 0, line: 1 });
  });

  it('a file that was cut short behind the place is read again', () => {
    writeFileSync(file(), 'a\nb\n');
    const tail = new Tail(file());
    tail.read();
    truncateSync(file(), 2);
    expect(textOf(tail)).toBe('a\n');
  });

  it('a line larger than a piece comes whole', () => {
    const line = `${'x'.repeat(3_000_000)}\n`;
    writeFileSync(file(), `a\n${line}b\n`);
    const tail = new Tail(file());
    const pieces = [textOf(tail), textOf(tail), textOf(tail)].filter((piece) => piece !== undefined);
    expect(pieces.join('')).toBe(`a\n${line}b\n`);
  });

  describe('of frames', () => {
    // Resource spans that hold an empty resource.
    const RECORD = Buffer.from([0x0a, 0x02, 0x0a, 0x00]);
    const frame = (record: Uint8Array = RECORD): Buffer => {
      const head = Buffer.alloc(4);
      head.writeUInt32BE(record.length);
      return Buffer.concat([head, record]);
    };
    const lengthOf = (tail: Tail): number | undefined => tail.read()?.bytes.length;

    it('gives whole frames once, with the offset of the first', () => {
      const tail = new Tail(file(), undefined, 'frames');
      writeFileSync(file(), Buffer.concat([frame(), frame(), frame().subarray(0, 6)]));
      expect(tail.read()).toMatchObject({
        from: { offset: 0, line: 1 },
        bytes: Buffer.concat([frame(), frame()]),
      });
      expect(tail.read()).toBeUndefined();
      appendFileSync(file(), frame().subarray(6));
      expect(tail.read()).toMatchObject({ from: { offset: 16, line: 1 }, bytes: frame() });
    });

    it('gives a frame that is larger than one piece', () => {
      const large = frame(Buffer.concat([RECORD, Buffer.alloc(3 << 20, 0x0a)]));
      writeFileSync(file(), Buffer.concat([large, frame()]));
      const tail = new Tail(file(), undefined, 'frames');
      expect(lengthOf(tail)).toBeGreaterThanOrEqual(large.length);
    });

    it('gives what is no frame together with what is before the next one', () => {
      const garbage = Buffer.from([0xff, 0xff, 0xff, 0xff, 1, 2, 3]);
      writeFileSync(file(), Buffer.concat([frame(), garbage, frame()]));
      expect(lengthOf(new Tail(file(), undefined, 'frames'))).toBe(8 + garbage.length + 8);
    });

    it('goes on after a restart, and begins again in another file of the same name', () => {
      writeFileSync(file(), Buffer.concat([frame(), frame()]));
      const first = new Tail(file(), undefined, 'frames');
      first.read();
      const again = (): Tail => new Tail(file(), first.next, 'frames');
      expect(again().read()).toBeUndefined();
      appendFileSync(file(), frame());
      expect(again().read()).toMatchObject({ from: { offset: 16 } });
      writeFileSync(file(), Buffer.concat([Buffer.alloc(3), frame(), frame(), frame()]));
      expect(again().read()).toMatchObject({ from: { offset: 0 } });
    });
  });
});
