/** Judges groups that had their grace, with the evidence, verdicts and rules of the batch auditor as they are. */
import type { KeySource } from '@waybill/core';
import { createEngine, matchesPattern } from '../../engine.js';
import { createEvidence } from '../../evidence/index.js';
import type { JudgedOperation } from '../../evidence/index.js';
import type { LossRow } from '../../evidence/loss.js';
import type { Finding } from '../../report.js';
import type { AuditConfig, Rule } from '../../rule.js';
import { builtinRules } from '../../rules/index.js';
import { latestOf, type Item } from './items.js';

export interface JudgeOptions {
  readonly graceMs: number;
  readonly requireSigned?: boolean;
  readonly keys?: KeySource;
  readonly config?: AuditConfig;
  readonly rules?: readonly Rule<unknown>[];
  readonly receiptsDeclared: boolean;
  readonly targetsGiven: boolean;
}

/** What the auditor learned from everything that came by, not from one group. */
export interface Learned {
  readonly roles: ReadonlySet<string>;
  readonly effectTools: ReadonlyMap<string, bigint>;
  /** What is known to be lost of anybody's telemetry. */
  readonly loss: readonly LossRow[];
}

export interface Judged {
  readonly operations: readonly { readonly judged: JudgedOperation; readonly findings: readonly Finding[] }[];
  /** Findings about no one operation, or about a tool: each is said once. */
  readonly others: readonly Finding[];
}

/**
 * Rules that ask for the whole input: spans that are no tool calls and all operations of a run pass by here and are not
 * kept. `waybill audit` on the same folder evaluates them.
 */
export const NOT_LIVE: readonly string[] = ['broken-context', 'duplicate-intent', 'sampled-away'];

export function judgeGroups(
  groups: readonly (readonly Item[])[],
  now: number,
  learned: Learned,
  options: JudgeOptions,
): Judged {
  const config: AuditConfig = {
    ...options.config,
    rules: {
      ...options.config?.rules,
      ...Object.fromEntries(NOT_LIVE.map((rule) => [rule, 'off' as const])),
    },
  };
  const graceNano = BigInt(Math.round(options.graceMs * 1_000_000));
  const items = groups.flat();
  const evidence = createEvidence();
  for (const item of items) if (item.kind === 'row') evidence.row(item.row);
  for (const item of items) if (item.kind === 'receipt') evidence.receipt(item.row);
  const required = config.receipts?.required ?? [];
  const verdicts = evidence.finish({
    asOfUnixNano: asOfOf(items, now, graceNano),
    graceNano,
    requireSigned: options.requireSigned ?? false,
    receiptsDeclared: options.receiptsDeclared,
    receiptRequired: (service, tool) =>
      required.some(
        (pattern) => matchesPattern(pattern, tool) || matchesPattern(pattern, `${service}/${tool}`),
      ),
    records: {
      broken: items.flatMap((item) => (item.kind === 'broken' ? [item.row] : [])),
      targets: items.flatMap((item) => (item.kind === 'target' ? [item.row] : [])),
      outbox: items.flatMap((item) => (item.kind === 'outbox' ? [item.row] : [])),
    },
    loss: learned.loss,
    receiptsIncomplete: false,
    effectTools: learned.effectTools,
  });
  const available = new Set<'client' | 'server' | 'receipts' | 'target'>();
  if (learned.roles.has('client') || learned.roles.has('tool')) available.add('client');
  if (learned.roles.has('server')) available.add('server');
  if (options.receiptsDeclared) available.add('receipts');
  if (options.targetsGiven) available.add('target');
  const engine = createEngine({
    rules: [
      ...builtinRules,
      ...(config.plugins ?? []).flatMap((plugin) => Object.values(plugin.rules)),
      ...(options.rules ?? []),
    ],
    config,
    asOfUnixNano: verdicts.asOfUnixNano,
    graceNano,
    available,
    own: [],
  });
  const operations: JudgedOperation[] = [];
  for (let group = 0; group < verdicts.groups; group += 1) {
    for (const judged of verdicts.judge(group)) {
      operations.push(judged);
      engine.visit(judged.operation);
    }
  }
  const byOperation = new Map<string, Finding[]>();
  const others: Finding[] = [];
  for (const finding of engine.finish().findings) {
    if (onceKeyOf(finding) !== undefined) others.push(finding);
    else if (finding.operation !== null) {
      const held = byOperation.get(finding.operation);
      if (held === undefined) byOperation.set(finding.operation, [finding]);
      else held.push(finding);
    }
  }
  return {
    operations: operations.map((judged) => ({ judged, findings: byOperation.get(judged.group.key) ?? [] })),
    others,
  };
}

/** Of which the batch audit makes one per tool, at the first operation of that tool. */
const PER_TOOL: ReadonlySet<string> = new Set(['generated-operation-id', 'success-without-receipt']);

/** The same for findings of which one is enough; undefined for a finding about one operation. */
export function onceKeyOf({ rule, level, tool, operation, fingerprint }: Finding): string | undefined {
  if (PER_TOOL.has(rule) && level === 'info' && tool !== null) return `${rule} ${tool}`;
  return operation === null ? fingerprint : undefined;
}

/**
 * The evidence had its grace by the clock of this process; a clock of another host that is ahead must not keep an
 * operation open, nor may anything be cut off as if it lay in the future.
 */
function asOfOf(items: readonly Item[], now: number, graceNano: bigint): bigint {
  const latest = items.reduce((a, item) => {
    const time = latestOf(item);
    return time > a ? time : a;
  }, 0n);
  const given = BigInt(Math.floor(now)) * 1_000_000n;
  return latest + graceNano > given ? latest + graceNano : given;
}
