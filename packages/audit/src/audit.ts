/** The auditor as one function: readers -> evidence -> verdicts -> rules -> report. */
import type { KeySource } from '@waybill/core';
import { createEvidence } from './evidence/index.js';
import type { Evidence, OtherRecords, Verdicts } from './evidence/index.js';
import { pathOf } from './evidence/lines.js';
import type { RecordSource } from './evidence/lines.js';
import { readLoss } from './evidence/loss.js';
import { readOutbox, readReceipts, readTargets } from './evidence/records.js';
import type { LossRow } from './evidence/loss.js';
import { fingerprintOf, matchesPattern, createEngine, settingOf } from './engine.js';
import type { Damage, InputSummary } from './model.js';
import { openInputs, readInput } from './readers/index.js';
import type { InputSource, RemoteOptions } from './readers/index.js';
import { REPORT_SCHEMA_VERSION } from './report.js';
import { operationOfReport } from './report-operation.js';
import { Tally, judgeAll } from './judge-all.js';
import { OperationIndex, reportOperations } from './operation-list.js';
import type { AuditReport, Finding, ReportInput } from './report.js';
import type { AuditConfig, Rule } from './rule.js';
import { builtinRules, formatMessage } from './rules/index.js';
import { inputDamaged } from './rules/input-damaged.js';

export interface AuditInputs {
  /** Files, folders, patterns, `-`; or sources that were opened already. */
  readonly traces: readonly (string | InputSource)[];
  /** JSON Lines of receipts. That any are given declares receipts for every tool that may have an effect. */
  readonly receipts?: readonly RecordSource[];
  readonly targets?: readonly RecordSource[];
  readonly outbox?: readonly RecordSource[];
  readonly loss?: readonly RecordSource[];
}

export interface AuditOptions {
  /** Nothing later is known. Default: the latest time in the evidence. */
  readonly asOfUnixNano?: bigint;
  /** How long evidence may still come, in milliseconds. Default 0: files are complete. */
  readonly graceMs?: number;
  /** Receipts without a valid signature are no receipts. */
  readonly requireSigned?: boolean;
  /** Declares receipts although no receipts input is given, or the other way round. Default: whether one is given. */
  readonly receiptsDeclared?: boolean;
  /** Public keys that receipts may be signed with. */
  readonly keys?: KeySource;
  readonly config?: AuditConfig;
  /** Rules beside the built-in ones and those of plugins. */
  readonly rules?: readonly Rule<unknown>[];
  /** Time range, services, headers and progress for traces that are fetched from a backend. */
  readonly remote?: RemoteOptions;
  /** Version that the report names. */
  readonly version?: string;
}

/**
 * Audits exported evidence. Damaged inputs are findings, not errors: the rest is judged.
 *
 * @example
 * const report = await audit({ traces: ['traces.jsonl'], receipts: ['receipts.jsonl'] });
 * report.summary.verdicts; // { verified_done: 4 }
 */
export async function audit(inputs: AuditInputs, options: AuditOptions = {}): Promise<AuditReport> {
  const config = options.config ?? {};
  const evidence = createEvidence();
  const reported: ReportInput[] = [];
  const damages: { readonly path: string; readonly damage: Damage }[] = [];

  const { sources, problems } = sourcesOf(inputs.traces, options.remote);
  for (const damage of problems) damages.push({ path: damage.at.source, damage });
  for (const source of sources) {
    const summary = await readInput(source, evidence);
    reported.push(inputOfTraces(summary, evidence.mcpSpans(summary.id)));
    for (const damage of summary.damaged) damages.push({ path: summary.path, damage });
  }

  const besides = readRecords(inputs, options, evidence, reported, damages);
  const receiptsDeclared = options.receiptsDeclared ?? (inputs.receipts ?? []).length > 0;
  const required = config.receipts?.required ?? [];
  const verdicts = evidence.finish({
    asOfUnixNano: options.asOfUnixNano,
    graceNano: BigInt(Math.round((options.graceMs ?? 0) * 1_000_000)),
    requireSigned: options.requireSigned ?? false,
    receiptsDeclared,
    receiptRequired: (service, tool) =>
      required.some(
        (pattern) => matchesPattern(pattern, tool) || matchesPattern(pattern, `${service}/${tool}`),
      ),
    records: besides.records,
    loss: besides.loss,
    receiptsIncomplete: besides.receiptsIncomplete,
  });

  const engine = createEngine({
    rules: [
      ...builtinRules,
      ...(config.plugins ?? []).flatMap((plugin) => Object.values(plugin.rules)),
      ...(options.rules ?? []),
    ],
    config,
    asOfUnixNano: verdicts.asOfUnixNano,
    graceNano: BigInt(Math.round((options.graceMs ?? 0) * 1_000_000)),
    available: availableOf(verdicts, inputs),
    own: damageFindings(damages, config),
  });
  const index = new OperationIndex(verdicts);
  const tally = new Tally();
  const foreignRules = (config.plugins ?? []).length + (options.rules ?? []).length > 0;
  judgeAll(verdicts, engine, index, tally, foreignRules);
  if (engine.wantsRuns) for (const run of index.runs()) engine.visitRun(run);
  const result = engine.finish();
  const count = (level: Finding['level']): number =>
    result.findings.filter((finding) => finding.level === level).length;
  const asOfSource = verdicts.asOfUnixNano === 0n ? 'none' : 'latest_evidence';
  return {
    schemaVersion: REPORT_SCHEMA_VERSION,
    tool: { name: 'waybill', version: options.version ?? '0.1.0' },
    asOf: {
      unixNano: verdicts.asOfUnixNano,
      source: options.asOfUnixNano === undefined ? asOfSource : 'given',
    },
    graceMs: options.graceMs ?? 0,
    inputs: reported,
    coverage: {
      ...tally.counts,
      receiptsDeclared: receiptsDeclared ? 'all-writes' : required.length > 0 ? 'configured' : 'none',
      gaps: verdicts.gaps,
      notEvaluated: result.notEvaluated,
      notes: [...notesOf(verdicts.withoutBoundary, index.length, reported), ...result.notes],
    },
    summary: {
      verdicts: tally.verdicts(),
      findings: { error: count('error'), warning: count('warning'), info: count('info') },
      suppressed: result.suppressed.length,
    },
    operations: reportOperations(index, operationOfReport),
    findings: result.findings,
    suppressed: result.suppressed,
  };
}

function sourcesOf(
  traces: AuditInputs['traces'],
  remote: RemoteOptions | undefined,
): {
  readonly sources: readonly InputSource[];
  readonly problems: readonly Damage[];
} {
  const named = traces.filter((each) => typeof each === 'string');
  const opened = traces.filter((each) => typeof each !== 'string');
  const { sources, problems } = openInputs(named, remote);
  return { sources: [...sources, ...opened], problems };
}

interface Besides {
  readonly records: OtherRecords;
  readonly loss: readonly LossRow[];
  readonly receiptsIncomplete: boolean;
}

/** Reads what stands beside the traces. Receipts go to the evidence one by one: there may be many. */
function readRecords(
  inputs: AuditInputs,
  options: AuditOptions,
  evidence: Evidence,
  reported: ReportInput[],
  damages: { readonly path: string; readonly damage: Damage }[],
): Besides {
  const readAll = <R extends RecordCount>(
    sources: readonly RecordSource[] | undefined,
    name: string,
    read: (source: RecordSource, id: string) => R,
    count: (result: R) => number,
  ): readonly R[] =>
    (sources ?? []).map((source, index) => {
      const id = index === 0 ? name : `${name}${index + 1}`;
      const result = read(source, id);
      const path = pathOf(source);
      reported.push(inputOfRecords(id, path, name, result, count(result)));
      for (const damage of result.damaged) damages.push({ path, damage });
      return result;
    });
  const rows = (result: { readonly rows: readonly unknown[] }): number => result.rows.length;
  const receipts = readAll(
    inputs.receipts,
    'receipts',
    (source, id) => readReceipts(source, id, options.keys, (row) => evidence.receipt(row)),
    (result) => result.receipts,
  );
  const targets = readAll(inputs.targets, 'targets', readTargets, rows);
  const outbox = readAll(inputs.outbox, 'outbox', readOutbox, rows);
  const loss = readAll(inputs.loss, 'loss', readLoss, rows);
  return {
    records: {
      broken: receipts.flatMap((each) => each.broken),
      targets: targets.flatMap((each) => each.rows),
      outbox: outbox.flatMap((each) => each.rows),
    },
    loss: loss.flatMap((each) => each.rows),
    receiptsIncomplete: receipts.some((each) => each.damaged.length > 0),
  };
}

interface RecordCount {
  readonly bytes: number;
  readonly damaged: readonly Damage[];
}

function inputOfTraces(summary: InputSummary, mcpSpans: number): ReportInput {
  const { id, path, format, bytes, spans, logs } = summary;
  return {
    id,
    path,
    format,
    bytes,
    spans,
    logs,
    mcpSpans,
    records: 0,
    damaged: summary.damaged.map(damageOf),
  };
}

function inputOfRecords(
  id: string,
  path: string,
  name: string,
  { bytes, damaged }: RecordCount,
  records: number,
): ReportInput {
  return {
    id,
    path,
    format: name,
    bytes,
    spans: 0,
    logs: 0,
    mcpSpans: 0,
    records,
    damaged: damaged.map(damageOf),
  };
}

function damageOf({ at, reason, remedy }: Damage): ReportInput['damaged'][number] {
  return {
    ...(at.line === undefined ? {} : { line: at.line }),
    ...(at.offset === undefined ? {} : { offset: at.offset }),
    reason,
    remedy,
  };
}

function damageFindings(
  damages: readonly { readonly path: string; readonly damage: Damage }[],
  config: AuditConfig,
): readonly Finding[] {
  const { level } = settingOf(inputDamaged, config);
  if (level === 'off') return [];
  const template = inputDamaged.meta.messages['damaged'] ?? '{place}: {reason}. Remedy: {remedy}';
  return damages.map(({ path, damage }): Finding => {
    const { at, reason, remedy } = damage;
    const place =
      at.line !== undefined
        ? `${path}:${at.line}`
        : at.offset !== undefined
          ? `${path}, byte ${at.offset}`
          : path;
    return {
      rule: inputDamaged.meta.id,
      level,
      certainty: 'proven',
      operation: null,
      callId: null,
      tool: null,
      at: [at],
      message: formatMessage(template, { place, reason, remedy }),
      messageId: 'damaged',
      fingerprint: fingerprintOf(inputDamaged.meta.id, path, at.line ?? at.offset ?? -1, reason),
    };
  });
}

function availableOf(
  verdicts: Verdicts,
  inputs: AuditInputs,
): ReadonlySet<'client' | 'server' | 'receipts' | 'ledger' | 'target'> {
  const available = new Set<'client' | 'server' | 'receipts' | 'ledger' | 'target'>();
  if (verdicts.hasClient) available.add('client');
  if (verdicts.hasServer) available.add('server');
  if ((inputs.receipts ?? []).length > 0) available.add('receipts');
  if ((inputs.targets ?? []).length > 0) available.add('target');
  return available;
}

function notesOf(
  withoutBoundary: boolean,
  operations: number,
  inputs: readonly ReportInput[],
): readonly string[] {
  if (withoutBoundary) {
    return [
      'no MCP boundary spans: these tool calls were recorded by a framework, so what crossed the wire is not known; bodies are not interpreted',
    ];
  }
  const spans = inputs.reduce((sum, input) => sum + input.spans + input.logs, 0);
  if (operations === 0 && spans > 0) return ['no span of an MCP tool call is in the evidence'];
  return [];
}
