/**
 * The command line. Commands are loaded when they are called: `waybill --help` reads no auditor and no receiver.
 */
import { readFileSync } from 'node:fs';
import { Command, CommanderError, Option } from 'commander';
import type { ReportFormat } from '@waybill/audit';
import type { AuditFlags } from './commands/audit.js';
import type { ExplainFlags } from './commands/explain.js';
import type { ServeFlags } from './commands/serve.js';
import { FAIL_LEVELS } from './exit-code.js';
import { collect, withEvidenceOptions } from './evidence-options.js';
import { CliError, EXIT, describeError } from './errors.js';
import type { Streams } from './output.js';
import { parseMilliseconds, parsePort } from './values.js';

/** Written out, so that help and usage errors load no auditor; the type keeps the list true. */
const FORMATS: readonly ReportFormat[] = ['pretty', 'json', 'jsonl', 'junit', 'sarif', 'github', 'html'];

const examples = {
  root: `
Examples:
  waybill audit traces.json                        judge an export that you already have
  waybill audit traces/ --receipts receipts.jsonl  with what the writing service can show
  waybill serve --dir evidence                     receive OTLP on 127.0.0.1:4318, on disk before it is acknowledged
`,
  audit: `
Examples:
  waybill audit traces.jsonl
  waybill audit 'exports/*.json' --receipts receipts.jsonl --targets targets.jsonl
  waybill audit traces/ --format json --output report.json --fail-on error
  cat traces.json | waybill audit -
  waybill audit jaeger+http://127.0.0.1:16686 --from 2026-09-21T14:00:00Z --service agent

Exit codes, the first that applies:
  2  wrong usage or configuration
  3  nothing could be read, or nothing in it is of a tool call
  1  findings at or above --fail-on
  4  with --require-evidence: the evidence does not decide every operation
  0  otherwise
`,
  explain: `
Examples:
  waybill explain row-42:done:v1 traces.jsonl --receipts receipts.jsonl
  waybill explain 4bf92f3577b34da6a3ce929d0e0e4736 traces/ --json
`,
  serve: `
Examples:
  waybill serve
  waybill serve --port 0 --dir evidence
  waybill serve --receipts receipts.jsonl --emit http://127.0.0.1:4418

The live page is at /, metrics at /metrics, health at /healthz and /readyz.
Headers for --emit come from WAYBILL_HTTP_HEADERS (name=value,name=value).

  OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 node --import ./otel.mjs app.mjs
`,
};

function version(): string {
  const manifest: { readonly version?: unknown } = JSON.parse(
    readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
  );
  return String(manifest.version);
}

function buildProgram(streams: Streams, finish: (code: number) => void): Command {
  const program = new Command('waybill')
    .description('Did it happen? Says for every MCP tool call what its traces and receipts prove.')
    .version(version(), '-V, --version')
    .addHelpText('after', examples.root)
    .helpCommand(false)
    .exitOverride()
    .showHelpAfterError('  Remedy: see the options with --help.')
    .configureOutput({
      writeOut: (text) => streams.out.write(text),
      writeErr: (text) => streams.err.write(text),
      outputError: (text, write) => write(`waybill: ${text.replace(/^error: /, '')}`),
    });

  withEvidenceOptions(program.command('audit').description('judge every tool call in exported traces'))
    .addOption(
      new Option('--fail-on <level>', 'exit 1 at this level').choices(FAIL_LEVELS).default('warning'),
    )
    .option('--require-evidence', 'exit 4 when the evidence does not decide every operation', false)
    .addOption(new Option('--format <format>', 'form of the report').choices(FORMATS).default('pretty'))
    .option('--output <file>', 'write the report to a file')
    .option('--baseline <file>', 'an earlier JSON report: what it found no longer counts')
    .addHelpText('after', examples.audit)
    .action(async (inputs: string[], flags: AuditFlags) => {
      const { auditCommand } = await import('./commands/audit.js');
      finish(await auditCommand(inputs, flags, streams, version()));
    });

  withEvidenceOptions(
    program
      .command('explain')
      .description('tell the story of one operation, each sentence with its evidence')
      .argument('<operation>', 'id of the operation, or of one of its calls, spans or traces'),
  )
    .option('--json', 'the operation and its findings as JSON', false)
    .addHelpText('after', examples.explain)
    .action(async (operation: string, inputs: string[], flags: ExplainFlags) => {
      const { explainCommand } = await import('./commands/explain.js');
      finish(await explainCommand(operation, inputs, flags, streams, version()));
    });

  program
    .command('serve')
    .description('receive OTLP over HTTP, on disk before it is acknowledged, and judge it as it comes')
    .option('--port <port>', 'port; 0 takes a free one', parsePort, 4318)
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--dir <folder>', 'where traces, logs and quarantine/ are kept', 'waybill-data')
    .option('--receipts <file>', 'receipts of the writing service, followed as they are appended', collect)
    .option(
      '--targets <file>',
      'reads of the target by somebody else, followed as they are appended',
      collect,
    )
    .option('--outbox <file>', 'rows that wait in an outbox, followed as they are appended', collect)
    .option(
      '--loss <file or url>',
      'metrics of Collector or SDK that tell of lost spans, looked at again',
      collect,
    )
    .option('--grace <ms>', 'time without news after which an operation is judged', parseMilliseconds, 60_000)
    .option('--emit <url>', 'OTLP/HTTP endpoint for verdicts and findings, as log events')
    .option('--verdict-spans', 'with --emit: also one span of no length in the trace of the operation', false)
    .option('--require-signed', 'do not accept unsigned receipts', false)
    .option('--rule <file>', 'a rule of your own, an ES module; may be given again', collect)
    .option('--config <file>', 'configuration (default: waybill.config.js or .mjs here, if there is one)')
    .option('--no-config', 'load no configuration, not even one that is here')
    .addHelpText('after', examples.serve)
    .action(async (flags: ServeFlags) => {
      const { serveCommand } = await import('./commands/serve.js');
      finish(await serveCommand(flags, streams, version()));
    });

  return program;
}

/**
 * Runs one command line, without the two leading elements of `process.argv`, and gives its exit code. Never calls
 * `process.exit`: the caller sets `process.exitCode`, so that pending output is written.
 */
export async function run(
  args: readonly string[],
  streams: Streams = { out: process.stdout, err: process.stderr },
): Promise<number> {
  let code: number = EXIT.ok;
  const program = buildProgram(streams, (result) => {
    code = result;
  });
  try {
    if (args.length === 0) {
      program.outputHelp({ error: true });
      return EXIT.usage;
    }
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    streams.err.write(describeError(error));
    return error instanceof CliError ? error.exitCode : EXIT.usage;
  }
}
