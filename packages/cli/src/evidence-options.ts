import type { Command } from 'commander';
import { parseMilliseconds, parseMoment } from './values.js';

/** An option that may be given again. */
export function collect(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value];
}

/** Adds the inputs and options of every command that judges evidence; `EvidenceFlags` is their type. */
export function withEvidenceOptions(command: Command): Command {
  return command
    .argument(
      '<inputs...>',
      "files, folders, globs, jaeger+http://… or tempo+http://… ; '-' reads standard input",
    )
    .option(
      '--receipts <file>',
      'receipts of the writing service, JSON Lines; every write then owes one',
      collect,
    )
    .option('--targets <file>', 'reads of the target by somebody else, JSON Lines', collect)
    .option('--outbox <file>', 'rows that wait in the outbox of the writing service, JSON Lines', collect)
    .option('--loss <file>', 'metrics of Collector or SDK that tell of lost spans', collect)
    .option(
      '--as-of <time>',
      'judge as of this moment (default: the latest time in the evidence)',
      parseMoment,
    )
    .option(
      '--from <time>',
      'start of the time range asked of a backend (default: an hour before --to)',
      parseMoment,
    )
    .option('--to <time>', 'end of the time range asked of a backend (default: now)', parseMoment)
    .option('--service <name>', 'ask Jaeger for traces of this service only; may be given again', collect)
    .option('--query <traceql>', 'TraceQL that selects the traces of Tempo (default: those with MCP spans)')
    .option('--grace <ms>', 'how long evidence may still come', parseMilliseconds, 0)
    .option('--require-signed', 'do not accept unsigned receipts', false)
    .option('--rule <file>', 'a rule of your own, an ES module; may be given again', collect)
    .option('--config <file>', 'configuration (default: waybill.config.js or .mjs here, if there is one)')
    .option('--no-config', 'load no configuration, not even one that is here');
}
