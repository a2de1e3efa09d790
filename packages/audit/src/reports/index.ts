/** One function a format; each gives the report in pieces, so that no format holds a large report as one string. */
import type { AuditReport } from '../report.js';
import { renderJson } from './json.js';
import { renderPretty, type PrettyOptions } from './pretty.js';

export { renderJson, REPORT_SCHEMA } from './json.js';
export { printable } from './text.js';
export { renderPretty, type PrettyOptions } from './pretty.js';

export const REPORT_FORMATS = ['pretty', 'json'] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];

/** Renders `report`; `pretty` matters to the terminal form alone. */
export function renderReport(
  report: AuditReport,
  format: ReportFormat,
  pretty: PrettyOptions,
): Iterable<string> {
  switch (format) {
    case 'pretty':
      return renderPretty(report, pretty);
    case 'json':
      return renderJson(report);
  }
}
