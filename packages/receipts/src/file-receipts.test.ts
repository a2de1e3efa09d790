import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fileReceipts } from './file-receipts.js';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'waybill-file-'));
  path = join(folder, 'receipts.jsonl');
});
afterEach(() => rmSync(folder, { recursive: true }));
const content = (): string => readFileSync(path, 'utf8');

describe('fileReceipts', () => {
  it('has the line in the file when append resolves, in the order of the calls', async () => {
    const sink = fileReceipts(path);
    await sink.append('{"n":1}');
    expect(content()).toBe('{"n":1}\n');
    await Promise.all([sink.append('{"n":2}'), sink.append('{"n":3}')]);
    expect(content()).toBe('{"n":1}\n{"n":2}\n{"n":3}\n');
    await sink.close();
  });

  it('appends to what another process wrote', async () => {
    writeFileSync(path, '{"n":0}\n');
    const sink = fileReceipts(path);
    await sink.append('{"n":1}');
    appendFileSync(path, '{"n":2}\n');
    await sink.append('{"n":3}');
    await sink.close();
    expect(content()).toBe('{"n":0}\n{"n":1}\n{"n":2}\n{"n":3}\n');
  });

  it('closes a half line with a line end before its own', async () => {
    writeFileSync(path, '{"n":');
    const sink = fileReceipts(path);
    await sink.append('{"n":1}');
    await sink.close();
    expect(content()).toBe('{"n":\n{"n":1}\n');
  });

  it('rejects what is more than one line, and goes on', async () => {
    const sink = fileReceipts(path);
    await expect(sink.append('a\nb')).rejects.toThrow(/one line/);
    await sink.append('{"n":1}');
    await sink.close();
    expect(content()).toBe('{"n":1}\n');
  });

  it('rejects while the file cannot be opened, and works once it can', async () => {
    const sink = fileReceipts(join(folder, 'later', 'receipts.jsonl'));
    await expect(sink.append('{"n":1}')).rejects.toThrow(/ENOENT/);
    mkdirSync(join(folder, 'later'));
    await sink.append('{"n":1}');
    await sink.close();
    expect(readFileSync(join(folder, 'later', 'receipts.jsonl'), 'utf8')).toBe('{"n":1}\n');
  });
});
