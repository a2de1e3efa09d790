/** Runs rules over judged operations; knows levels, options and suppressions, and no rule by name but its own two. */
import { createHash } from 'node:crypto';
import type {
  AuditConfig,
  Call,
  EvidenceRef,
  Level,
  Operation,
  Report,
  Rule,
  RuleVisitor,
  Run,
} from './rule.js';
import type { Finding, NotEvaluated, SuppressedFinding } from './report.js';
import { compareText } from './evidence/rows.js';
import { compareEvidence } from './places.js';
import { formatMessage } from './rules/message.js';
import { ruleCrashed } from './rules/rule-crashed.js';
import { suppress } from './suppressions.js';

export { matchesPattern } from './suppressions.js';

export interface EngineOptions {
  readonly rules: readonly Rule<unknown>[];
  readonly config: AuditConfig;
  readonly asOfUnixNano: bigint;
  readonly graceNano: bigint;
  /** Evidence that is there; a rule that needs more is listed and not run. */
  readonly available: ReadonlySet<'client' | 'server' | 'receipts' | 'ledger' | 'target'>;
  /** Findings that the auditor itself makes. */
  readonly own: readonly Finding[];
}

export interface EngineResult {
  readonly findings: readonly Finding[];
  readonly suppressed: readonly SuppressedFinding[];
  readonly notEvaluated: readonly NotEvaluated[];
  readonly notes: readonly string[];
}

/** Operations pass through once, in any order; only findings are kept. */
export interface Engine {
  /** Grows with everything that is said, or kept to be said at the end: unchanged, a visit left no trace. */
  readonly noted: number;
  visit(operation: Operation): void;
  /** Whether any rule looks at whole runs. */
  readonly wantsRuns: boolean;
  /** Whether some rule looks at the run of this operation on account of it. */
  wantsRunOf(operation: Operation): boolean;
  visitRun(run: Run): void;
  finish(): EngineResult;
}

const WORDS = {
  client: 'no client span in the evidence',
  server: 'no server span in the evidence',
  receipts: 'no receipts given',
  ledger: 'no ledger given',
  target: 'no target reads given',
} as const;

interface ActiveRule {
  readonly rule: Rule<unknown>;
  readonly visitor: RuleVisitor;
  /** Operation that is being visited. */
  current: Operation | undefined;
  /** It threw: what it found stands, and it is not asked again. */
  crashed: boolean;
}

export function createEngine(options: EngineOptions): Engine {
  const findings: Finding[] = [...options.own];
  const notEvaluated: NotEvaluated[] = [];
  const active: ActiveRule[] = [];
  let kept = 0;
  const keep = (): void => {
    kept += 1;
  };
  for (const rule of options.rules) {
    const { level, options: given } = settingOf(rule, options.config);
    if (level === 'off') continue;
    const lack = (rule.meta.needs ?? []).find((need) => !options.available.has(need));
    if (lack !== undefined) {
      notEvaluated.push({ rule: rule.meta.id, because: WORDS[lack] });
      continue;
    }
    const begun = begin(rule, level, given, options, findings, keep);
    if (begun !== undefined) active.push(begun);
  }
  const runRules = active.filter((each) => each.visitor.run !== undefined);
  const runAttributes = [...new Set(runRules.flatMap((each) => each.rule.meta.on?.runAttribute ?? []))];
  const guard = (each: ActiveRule, visit: () => void): void => {
    if (each.crashed) return;
    try {
      visit();
    } catch (error) {
      each.crashed = true;
      findings.push(crashOf(each.rule, error, each.current));
    }
  };
  return {
    get noted(): number {
      return findings.length + kept;
    },
    visit(operation: Operation): void {
      for (const each of active) {
        if (!isWanted(each.rule, operation)) continue;
        guard(each, () => {
          each.current = operation;
          each.visitor.operation?.(operation);
          if (each.visitor.call !== undefined) {
            for (const call of operation.calls) each.visitor.call(call, operation);
          }
        });
        each.current = undefined;
      }
    },
    wantsRuns: runRules.length > 0,
    wantsRunOf: (operation) => {
      if (runRules.some((each) => each.rule.meta.on?.runAttribute === undefined)) return true;
      return operation.calls.some((call) => runAttributes.some((key) => carries(call, key)));
    },
    visitRun(run: Run): void {
      for (const each of active) guard(each, () => each.visitor.run?.(run));
    },
    finish(): EngineResult {
      for (const each of active) guard(each, () => each.visitor.end?.());
      const sorted = distinctFindings(findings);
      const {
        kept: said,
        suppressed,
        notes,
      } = suppress(
        sorted,
        options.config.suppress ?? [],
        options.asOfUnixNano,
        new Set(notEvaluated.map((each) => each.rule)),
      );
      return {
        findings: said,
        suppressed,
        notEvaluated: notEvaluated.sort((a, b) => compareText(a.rule, b.rule)),
        notes,
      };
    },
  };
}

function begin(
  rule: Rule<unknown>,
  level: Exclude<Level, 'off'>,
  given: unknown,
  { asOfUnixNano, graceNano }: EngineOptions,
  findings: Finding[],
  keep: () => void,
): ActiveRule | undefined {
  let begun: ActiveRule | undefined;
  const report = (made: Report): void => {
    findings.push(findingOf(rule, level, made, made.operation ?? begun?.current));
  };
  try {
    const visitor = rule.create({ options: given, asOfUnixNano, graceNano, report, keep });
    begun = { rule, visitor, current: undefined, crashed: false };
  } catch (error) {
    findings.push(crashOf(rule, error, undefined));
  }
  return begun;
}

/** Level and options of a rule: configured, else its own. */
export function settingOf(
  rule: Rule<unknown>,
  config: AuditConfig,
): { readonly level: Level; readonly options: unknown } {
  const setting = config.rules?.[rule.meta.id];
  if (setting === undefined) return { level: rule.meta.defaultLevel, options: rule.meta.defaultOptions };
  if (typeof setting === 'string') return { level: setting, options: rule.meta.defaultOptions };
  const [level, options] = setting;
  return { level, options: mergeOptions(rule.meta.defaultOptions, options) };
}

function mergeOptions(defaults: unknown, given: unknown): unknown {
  const isObject = (value: unknown): value is object =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject(defaults) && isObject(given) ? { ...defaults, ...given } : given;
}

function isWanted(rule: Rule<unknown>, operation: Operation): boolean {
  const on = rule.meta.on;
  if (on === undefined) return true;
  if (on.verdicts !== undefined && !on.verdicts.includes(operation.verdict.verdict)) return false;
  if (on.minCalls !== undefined && operation.calls.length < on.minCalls) return false;
  if (on.effectKinds !== undefined && !on.effectKinds.includes(operation.effectKind ?? 'unknown'))
    return false;
  if (on.outcomes === undefined) return true;
  return operation.calls.some((call) =>
    [call.client, call.server].some((side) => {
      const fact = side?.outcome();
      return fact?.state === 'seen' && (on.outcomes?.includes(fact.value.outcome) ?? false);
    }),
  );
}

function carries(call: Call, key: string): boolean {
  return call.client?.attribute(key).state === 'seen' || call.server?.attribute(key).state === 'seen';
}

function findingOf(
  rule: Rule<unknown>,
  level: Exclude<Level, 'off'>,
  made: Report,
  operation: Operation | undefined,
): Finding {
  const template = rule.meta.messages[made.messageId];
  if (template === undefined) {
    throw new Error(`it reports the message '${made.messageId}', which is not among its messages`);
  }
  return makeFinding({
    rule: rule.meta.id,
    level: made.level ?? level,
    certainty: made.certainty ?? 'proven',
    operation,
    call: made.call,
    at: made.at,
    message: formatMessage(template, made.data),
    messageId: made.messageId,
  });
}

interface FindingParts {
  readonly rule: string;
  readonly level: Exclude<Level, 'off'>;
  readonly certainty: 'proven' | 'suspected';
  readonly operation: Operation | undefined;
  readonly call: Call | undefined;
  readonly at: readonly EvidenceRef[];
  readonly message: string;
  readonly messageId: string;
}

function makeFinding(parts: FindingParts): Finding {
  const { operation, call } = parts;
  const ordinal = call === undefined ? -1 : (operation?.calls.indexOf(call) ?? -1);
  return {
    rule: parts.rule,
    level: parts.level,
    certainty: parts.certainty,
    operation: operation?.key ?? null,
    callId: call?.callId ?? null,
    tool: call?.tool ?? operation?.tool ?? null,
    at: [...parts.at].sort(compareEvidence),
    message: parts.message,
    messageId: parts.messageId,
    fingerprint: fingerprintOf(parts.rule, operation?.key ?? parts.message, ordinal, parts.messageId),
  };
}

/** No trace ids in it: the same operation found again in another export has the same fingerprint. */
export function fingerprintOf(rule: string, key: string, ordinal: number, messageId: string): string {
  const text = JSON.stringify([key, ordinal, messageId]);
  return `${rule}:${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
}

function crashOf(rule: Rule<unknown>, error: unknown, operation: Operation | undefined): Finding {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const template = ruleCrashed.meta.messages['crashed'] ?? '{rule}: {error}';
  return makeFinding({
    rule: ruleCrashed.meta.id,
    level: 'error',
    certainty: 'proven',
    operation,
    call: undefined,
    at: [],
    message: formatMessage(template, { rule: rule.meta.id, error: text }),
    messageId: 'crashed',
  });
}

/** Sorted by what it says before where: lines in another order give the same order of findings. Doubles are one. */
function distinctFindings(findings: readonly Finding[]): readonly Finding[] {
  const sorted = [...findings].sort(byContent);
  const seen = new Set<string>();
  return sorted.filter((finding, index) => {
    const before = sorted[index - 1];
    // Doubles stand together.
    if (before === undefined || byContent(before, finding) !== 0) seen.clear();
    const key = JSON.stringify([finding.fingerprint, finding.message, finding.at]);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

function byContent(a: Finding, b: Finding): number {
  return (
    compareText(a.operation ?? '', b.operation ?? '') ||
    compareText(a.rule, b.rule) ||
    compareText(a.callId ?? '', b.callId ?? '') ||
    // What is of no operation is told from its like by its place alone, and is read from top to bottom.
    (a.operation === null ? compareEvidence(a.at[0] ?? { source: '' }, b.at[0] ?? { source: '' }) : 0) ||
    compareText(a.message, b.message) ||
    compareEvidence(a.at[0] ?? { source: '' }, b.at[0] ?? { source: '' })
  );
}
