/** Inputs of an audit from values in memory, and what of its report does not depend on where they were read. */
import { renderJson } from '@waybill/audit';
import type { AuditReport, InputSource, RecordSource } from '@waybill/audit';

export function asSource(text: string, id = 's1'): InputSource {
  return { kind: 'bytes', id, path: `${id}.json`, bytes: new TextEncoder().encode(text) };
}

export function asRecords(path: string, rows: readonly unknown[]): RecordSource {
  return { path, text: rows.map((row) => `${JSON.stringify(row)}\n`).join('') };
}

const INPUTS = /\n {2}"inputs": \[(?:\n[^]*?\n {2})?\],/;
const PLACES = /,\n {2}"places": \{\n[^]*?\n {2}\}(?=\n\}\n$)/;

/** The bytes of the JSON report without its lists `inputs` and `places`, which say where the evidence was read. */
export function bytesOf(report: AuditReport): string {
  const text = [...renderJson(report)].join('');
  if (!INPUTS.test(text) || !PLACES.test(text)) throw new Error('The report has no inputs or no places.');
  return text.replace(INPUTS, '').replace(PLACES, '');
}
