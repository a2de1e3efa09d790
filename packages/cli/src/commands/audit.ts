import { readFileSync } from 'node:fs';
import {
  applyBaseline,
  baselineOf,
  printable,
  renderReport,
  type AuditReport,
  type ReportFormat,
} from '@waybill/audit';
import { CliError, EXIT, messageOf, type ExitCode } from '../errors.js';
import { exitCodeOf, nothingToJudge, type FailLevel } from '../exit-code.js';
import { writeFile, writeStream, type Streams } from '../output.js';
import { judge, type EvidenceFlags } from './evidence.js';

export interface AuditFlags extends EvidenceFlags {
  readonly failOn: FailLevel;
  readonly requireEvidence: boolean;
  readonly format: ReportFormat;
  readonly output?: string;
  readonly baseline?: string;
}

/** Colours only for a person: a terminal, no `NO_COLOR` (any value that is not empty, no-color.org), no dumb terminal. */
function wantsColor(streams: Streams, toFile: boolean): boolean {
  const { NO_COLOR, TERM } = process.env;
  return !toFile && streams.out.isTTY === true && (NO_COLOR ?? '') === '' && TERM !== 'dumb';
}

function count(number: number, one: string): string {
  return number === 0 ? '' : `${number} ${one}${number === 1 ? '' : 's'}`;
}

/**
 * What was wrong with the inputs, on stderr: whoever reads the report in a pipe or a file still sees it. The terminal
 * form shows it in the report itself.
 */
function* complaints(report: AuditReport, shown: boolean): Generator<string> {
  for (const finding of shown ? [] : report.findings) {
    if (finding.rule === 'input-damaged') yield `waybill: ${printable(finding.message)}\n`;
  }
  if (!nothingToJudge(report)) return;
  const spans = report.inputs.reduce((sum, input) => sum + input.spans, 0);
  const logs = report.inputs.reduce((sum, input) => sum + input.logs, 0);
  const read = [count(spans, 'span'), count(logs, 'log record')].filter((each) => each !== '').join(' and ');
  yield read === ''
    ? 'waybill: no span could be read, so nothing was judged.\n' +
      '  Remedy: give an export of traces: OTLP JSON or JSON Lines, OTLP protobuf, or the JSON of Jaeger, Tempo or Zipkin.\n'
    : `waybill: read ${read}; nothing in it is of an MCP tool call, so nothing was judged.\n` +
      '  Remedy: register an instrumentation for MCP in the client, the server, or both, and export again.\n';
}

function readBaseline(path: string): ReadonlySet<string> {
  try {
    return baselineOf(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new CliError(
      EXIT.usage,
      `baseline ${path} cannot be used: ${printable(messageOf(error))}`,
      'make one with --format json --output FILE.',
    );
  }
}

/** `waybill audit`: the report on stdout or in a file, what was wrong with the inputs on stderr. */
export async function auditCommand(
  inputs: readonly string[],
  flags: AuditFlags,
  streams: Streams,
  version: string,
): Promise<ExitCode> {
  const baseline = flags.baseline === undefined ? undefined : readBaseline(flags.baseline);
  const judged = await judge(inputs, flags, streams, version);
  const report = baseline === undefined ? judged : applyBaseline(judged, baseline);
  const pieces = renderReport(report, flags.format, {
    color: wantsColor(streams, flags.output !== undefined),
    ...(streams.out.columns === undefined ? {} : { width: streams.out.columns }),
  });
  await writeStream(streams.err, complaints(report, flags.format === 'pretty' && flags.output === undefined));
  if (flags.output === undefined) await writeStream(streams.out, pieces);
  else writeFile(flags.output, pieces);
  return exitCodeOf(report, flags.failOn, flags.requireEvidence);
}
