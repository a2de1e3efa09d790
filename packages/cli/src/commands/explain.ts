import { explainJson, explainOperation, findOperations, printable } from '@waybill/audit';
import { CliError, EXIT, type ExitCode } from '../errors.js';
import { nothingToJudge } from '../exit-code.js';
import { writeStream, type Streams } from '../output.js';
import { judge, type EvidenceFlags } from './evidence.js';

export interface ExplainFlags extends EvidenceFlags {
  readonly json: boolean;
}

const SHOWN = 10;

/** `waybill explain`: one operation, found by its id or by an id of one of its calls, spans or traces. */
export async function explainCommand(
  wanted: string,
  inputs: readonly string[],
  flags: ExplainFlags,
  streams: Streams,
  version: string,
): Promise<ExitCode> {
  const report = await judge(inputs, flags, streams, version);
  if (nothingToJudge(report)) {
    throw new CliError(
      EXIT.unreadable,
      'no operation could be read from the inputs',
      'run `waybill audit` on them; it names what is wrong with each.',
    );
  }
  const found = findOperations(report, wanted);
  const [operation] = found;
  if (operation === undefined) {
    const known = report.operations.slice(0, SHOWN).map((each) => printable(each.key));
    throw new CliError(
      EXIT.usage,
      `no operation, call, span or trace here is called ${printable(wanted)}`,
      `take one of the ${report.operations.length} operations, for instance ${known.join(', ')}.`,
    );
  }
  if (found.length > 1) {
    const keys = found.slice(0, SHOWN).map((each) => printable(each.key));
    throw new CliError(
      EXIT.usage,
      `${printable(wanted)} fits ${found.length} operations`,
      `name one of them: ${keys.join(', ')}${found.length > SHOWN ? ', …' : ''}.`,
    );
  }
  await writeStream(
    streams.out,
    flags.json ? [explainJson(report, operation)] : explainOperation(report, operation, streams.out.columns),
  );
  return EXIT.ok;
}
