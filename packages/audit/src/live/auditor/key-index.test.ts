import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hashOf } from '../../evidence/clusters.js';
import { KeyIndex } from './key-index.js';

let folder: string;
const file = (): string => path.join(folder, 'closed.index');

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'waybill-index-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('KeyIndex', () => {
  it('finds every key and no other, while it doubles and after it is opened again', () => {
    const count = 20_000;
    let index = new KeyIndex(file());
    const small = statSync(file()).size;
    for (let number = 0; number < count; number += 1) index.set(hashOf(`key-${number}`, 1), number * 10);
    expect(statSync(file()).size).toBeGreaterThan(small * 4);
    for (let round = 0; round < 2; round += 1) {
      for (let number = 0; number < count; number += 1) {
        expect(index.get(hashOf(`key-${number}`, 1))).toBe(number * 10);
      }
      expect(index.get(hashOf('key-0', 2))).toBeUndefined();
      index.close();
      index = new KeyIndex(file());
    }
    index.close();
  });

  it('what was synced is there after a kill, and what was not is no wrong answer', () => {
    const killed = new KeyIndex(file());
    killed.set(1, 10);
    killed.sync();
    killed.set(1, 20);
    killed.set(2, 30);
    const index = new KeyIndex(file());
    expect([index.get(1), index.get(2)]).toEqual([10, undefined]);
    index.close();
    killed.close();
  });

  it('a key that is set again has its latest offset, also the offset 0', () => {
    const index = new KeyIndex(file());
    index.set(7, 100);
    index.set(7, 0);
    expect(index.get(7)).toBe(0);
    index.close();
  });

  it('an empty file, or one that was cut off, is an empty index', () => {
    for (const size of [0, 1, 5_000]) {
      writeFileSync(file(), Buffer.alloc(size));
      const index = new KeyIndex(file());
      expect(index.get(1)).toBeUndefined();
      index.set(1, 2);
      expect(index.get(1)).toBe(2);
      index.close();
      rmSync(file());
    }
  });
});
