import { audit, renderReport, type AuditReport, type ReportFormat } from '@waybill/audit';
import { loadConfig } from '../config.js';
import type { ExitCode } from '../errors.js';
import { exitCodeOf, nothingReadable, type FailLevel } from '../exit-code.js';
import { writeFile, writeStream, type Streams } from '../output.js';

export interface AuditFlags {
  readonly receipts?: readonly string[];
  readonly targets?: readonly string[];
  readonly outbox?: readonly string[];
  readonly loss?: readonly string[];
  readonly asOf?: bigint;
  readonly grace: number;
  readonly failOn: FailLevel;
  readonly requireEvidence: boolean;
  readonly requireSigned: boolean;
  readonly rule?: readonly string[];
  readonly config?: string;
  readonly format: ReportFormat;
  readonly output?: string;
}

/** Colours only for a person: a terminal, no `NO_COLOR` (any value that is not empty, no-color.org), no dumb terminal. */
function wantsColor(streams: Streams, toFile: boolean): boolean {
  const { NO_COLOR, TERM } = process.env;
  return !toFile && streams.out.isTTY === true && (NO_COLOR ?? '') === '' && TERM !== 'dumb';
}

/** Damage and unreadable inputs, one line each on stderr: whoever only reads the report of a pipe still sees them. */
function* complaints(report: AuditReport): Generator<string> {
  for (const input of report.inputs) {
    for (const { line, offset, reason, remedy } of input.damaged) {
      const place = line !== undefined ? `:${line}` : offset !== undefined ? `@${offset}` : '';
      yield `waybill: ${input.path}${place}: ${reason}. ${remedy}\n`;
    }
  }
  if (nothingReadable(report)) {
    yield (
      'waybill: nothing in the inputs could be read, so nothing was judged.\n' +
      '  Remedy: give an export of traces: OTLP JSON or JSON Lines, or the JSON that Jaeger exports.\n'
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
  const { config, rules } = await loadConfig(flags.config, flags.rule ?? []);
  const report = await audit(
    {
      traces: inputs,
      receipts: flags.receipts ?? [],
      targets: flags.targets ?? [],
      outbox: flags.outbox ?? [],
      loss: flags.loss ?? [],
    },
    {
      graceMs: flags.grace,
      requireSigned: flags.requireSigned,
      config,
      rules,
      version,
      ...(flags.asOf === undefined ? {} : { asOfUnixNano: flags.asOf }),
    },
  );
  const pieces = renderReport(report, flags.format, {
    color: wantsColor(streams, flags.output !== undefined),
    ...(streams.out.columns === undefined ? {} : { width: streams.out.columns }),
  });
  await writeStream(streams.err, complaints(report));
  if (flags.output === undefined) await writeStream(streams.out, pieces);
  else writeFile(flags.output, pieces);
  return exitCodeOf(report, flags.failOn, flags.requireEvidence);
}
