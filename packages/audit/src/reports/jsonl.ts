/**
 * JSON Lines for pipes and stores: a `report` line with everything but the lists, then one line per operation, finding
 * and suppressed finding. Every line has a `type`; the other members are those of the JSON report, and since a line
 * stands alone, `places` says where its evidence was read.
 */
import { placeName } from '../places.js';
import type { AuditReport } from '../report.js';
import { jsonFinding, jsonHead, jsonOperation, jsonSuppressed, type JsonValue } from './json.js';
import { jsonText } from './text.js';

function line(type: string, value: { readonly [key: string]: JsonValue | undefined }): string {
  return `${jsonText({ type, ...value })}\n`;
}

export function* renderJsonLines(report: AuditReport): Generator<string> {
  yield line('report', jsonHead(report));
  for (const operation of report.operations)
    yield line('operation', { ...jsonOperation(operation), places: operation.places });
  for (const finding of report.findings) {
    yield line('finding', { ...jsonFinding(finding), places: finding.at.map(placeName) });
  }
  for (const finding of report.suppressed) {
    yield line('suppressed', { ...jsonSuppressed(finding), places: finding.at.map(placeName) });
  }
}
