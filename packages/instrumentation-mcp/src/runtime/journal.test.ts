import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openJournal } from './journal.js';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'waybill-journal-'));
  path = join(folder, 'stages.jsonl');
});
afterEach(() => rmSync(folder, { recursive: true }));

const record = (eventName: string): Parameters<ReturnType<typeof openJournal>['append']>[0] => ({
  eventName,
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  attributes: { 'waybill.stage.seq': 1, aborted: false, share: 0.5, 'waybill.call.id': 'ä\n"' },
});
const lines = (): readonly string[] => readFileSync(path, 'utf8').split('\n');

describe('the stage journal', () => {
  it('is one OTLP JSON log record a line, values with their types', () => {
    openJournal(path).append(record('waybill.client.sent'));
    const [line = '', rest] = lines();
    expect(rest).toBe('');
    expect(JSON.parse(line)).toMatchObject({
      resourceLogs: [
        {
          scopeLogs: [
            {
              scope: { name: '@waybill/instrumentation-mcp' },
              logRecords: [
                {
                  eventName: 'waybill.client.sent',
                  traceId: '0af7651916cd43dd8448eb211c80319c',
                  spanId: 'b7ad6b7169203331',
                  attributes: [
                    { key: 'waybill.stage.seq', value: { intValue: '1' } },
                    { key: 'aborted', value: { boolValue: false } },
                    { key: 'share', value: { doubleValue: 0.5 } },
                    { key: 'waybill.call.id', value: { stringValue: 'ä\n"' } },
                  ],
                },
              ],
            },
          ],
        },
      ],
    });
  });

  it('is there when append returns, and is read by its owner only', () => {
    const journal = openJournal(path);
    for (let count = 1; count <= 3; count++) {
      journal.append(record('waybill.client.sent'));
      expect(lines()).toHaveLength(count + 1);
    }
    expect(statSync(path).mode & 0o077).toBe(0);
  });

  it.each([
    ['half a line', '{"resourceLogs":[{"reso', 3],
    ['a line', '{}\n', 3],
    ['nothing', '', 2],
  ])('behind %s begins on a line of its own', (_what, before, count) => {
    appendFileSync(path, before);
    openJournal(path).append(record('waybill.server.received'));
    const found = lines();
    expect(found).toHaveLength(count);
    expect(JSON.parse(found.at(-2) ?? '')).toHaveProperty('resourceLogs');
  });

  it('says why it cannot be opened', () => {
    expect(() => openJournal(join(folder, 'absent', 'stages.jsonl'))).toThrow('ENOENT');
  });

  it('throws on a full device and does not stop there', () => {
    const journal = openJournal('/dev/full');
    expect(() => journal.append(record('waybill.client.sent'))).toThrow('ENOSPC');
    expect(() => journal.append(record('waybill.client.sent'))).toThrow('ENOSPC');
  });
});
