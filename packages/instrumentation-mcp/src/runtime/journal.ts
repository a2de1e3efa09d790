import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { SeverityNumber } from '@opentelemetry/api-logs';
import type { StageAttributes } from './stages.js';

const SCOPE_NAME = '@waybill/instrumentation-mcp';
const NEWLINE = 0x0a;

export interface JournalRecord {
  readonly eventName: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly attributes: StageAttributes;
}

/**
 * A file that takes one OTLP JSON log line a stage, written before the call goes on: the only form of a stage that
 * survives SIGKILL. Nothing is buffered in this process; the kernel has the line when `append` returns. Nothing is
 * synced: a machine that dies may lose the newest lines.
 */
export interface Journal {
  /** @throws the error of the file system; the next record then begins on a line of its own. */
  append(record: JournalRecord): void;
}

/** @throws the error of the file system when the file cannot be opened for appending. */
export function openJournal(path: string): Journal {
  const descriptor = openSync(path, 'a+', 0o600);
  let torn: boolean;
  try {
    torn = endsTorn(descriptor);
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
  return {
    append(record) {
      const line = Buffer.from(`${torn ? '\n' : ''}${lineOf(record)}\n`);
      torn = true;
      for (let at = 0; at < line.length;) at += writeSync(descriptor, line, at);
      torn = false;
    },
  };
}

/** A writer that died in the middle of a line must not take the first line of the next one with it. */
function endsTorn(descriptor: number): boolean {
  const stat = fstatSync(descriptor);
  if (!stat.isFile() || stat.size === 0) return false;
  const last = Buffer.alloc(1);
  readSync(descriptor, last, 0, 1, stat.size - 1);
  return last[0] !== NEWLINE;
}

function lineOf({ eventName, traceId, spanId, attributes }: JournalRecord): string {
  const now = unixNano();
  const record = {
    timeUnixNano: now,
    observedTimeUnixNano: now,
    severityNumber: SeverityNumber.INFO,
    eventName,
    traceId,
    spanId,
    attributes: Object.entries(attributes).map(([key, value]) => ({ key, value: otlpValue(value) })),
  };
  return JSON.stringify({
    resourceLogs: [{ resource: {}, scopeLogs: [{ scope: { name: SCOPE_NAME }, logRecords: [record] }] }],
  });
}

function unixNano(): string {
  const micros = Math.round((performance.timeOrigin + performance.now()) * 1000);
  return `${micros}000`;
}

function otlpValue(value: string | number | boolean): Record<string, unknown> {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
