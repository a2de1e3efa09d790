/** Inputs of an audit from values in memory. */
import type { InputSource, RecordSource } from '@waybill/audit';

export function asSource(text: string, id = 's1'): InputSource {
  return { kind: 'bytes', id, path: `${id}.json`, bytes: new TextEncoder().encode(text) };
}

export function asRecords(path: string, rows: readonly unknown[]): RecordSource {
  return { path, text: rows.map((row) => `${JSON.stringify(row)}\n`).join('') };
}
