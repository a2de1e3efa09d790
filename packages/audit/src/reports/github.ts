/**
 * Annotations of GitHub Actions: one workflow command a finding, on the file and line of its first place. GitHub shows
 * the first ten of a kind in a step; the last line counts all of them.
 */
import type { AuditReport, Finding } from '../report.js';
import { SEVERITIES, pathsOf, placeTexts, plural, printable } from './text.js';

const commands: Readonly<Record<Finding['level'], string>> = {
  error: 'error',
  warning: 'warning',
  info: 'notice',
};

/** Escaping of the workflow commands; a value of a property may also not end it or begin the next. */
function data(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function property(text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}

export function* renderGithub(report: AuditReport): Generator<string> {
  const paths = pathsOf(report);
  for (const level of SEVERITIES) {
    for (const finding of report.findings) {
      if (finding.level !== level) continue;
      const [place] = finding.at;
      const properties: string[] = [];
      const path = place && paths.get(place.source);
      if (path !== undefined && path !== '-') properties.push(`file=${property(printable(path))}`);
      if (path !== undefined && place?.line !== undefined) properties.push(`line=${place.line}`);
      properties.push(`title=${property(finding.rule)}`);
      const at = placeTexts(finding.at, paths).join(', ');
      const text = [
        finding.message,
        finding.operation === null ? '' : `operation ${finding.operation}`,
        finding.certainty === 'suspected' ? 'suspected' : '',
        at === '' ? '' : `at ${at}`,
      ].filter((part) => part !== '');
      yield `::${commands[level]} ${properties.join(',')}::${data(text.map(printable).join('\n'))}\n`;
    }
  }
  const { error, warning, info } = report.summary.findings;
  yield `waybill: ${plural(report.coverage.operations, 'operation')}; findings: ${error} error, ${warning} warning, ${info} info\n`;
}
