/** One function a format; each gives the report in pieces, so that no format holds a large report as one string. */
import type { AuditReport } from '../report.js';
import { renderGithub } from './github.js';
import { renderHtml } from './html.js';
import { renderJson } from './json.js';
import { renderJsonLines } from './jsonl.js';
import { renderJunit } from './junit.js';
import { renderPretty, type PrettyOptions } from './pretty.js';
import { renderSarif } from './sarif.js';

export { explainJson, explainOperation, findOperations } from './explain.js';
export { renderGithub } from './github.js';
export { renderHtml } from './html.js';
export { renderJson, REPORT_SCHEMA } from './json.js';
export { renderJsonLines } from './jsonl.js';
export { renderJunit } from './junit.js';
export { printable } from './text.js';
export { renderPretty, type PrettyOptions } from './pretty.js';
export { renderSarif } from './sarif.js';

export const REPORT_FORMATS = ['pretty', 'json', 'jsonl', 'junit', 'sarif', 'github', 'html'] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];

const renderers: Readonly<
  Record<ReportFormat, (report: AuditReport, pretty: PrettyOptions) => Iterable<string>>
> = {
  pretty: renderPretty,
  json: renderJson,
  jsonl: renderJsonLines,
  junit: renderJunit,
  sarif: renderSarif,
  github: renderGithub,
  html: renderHtml,
};

/** Renders `report`; `pretty` matters to the terminal form alone. */
export function renderReport(
  report: AuditReport,
  format: ReportFormat,
  pretty: PrettyOptions,
): Iterable<string> {
  return renderers[format](report, pretty);
}
