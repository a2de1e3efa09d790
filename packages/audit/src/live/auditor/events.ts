/**
 * What is said of an operation when its state changed: one line of `events.jsonl`, from which log records, spans,
 * counts and the page are made.
 */
import { createHash } from 'node:crypto';
import type { JudgedOperation } from '../../evidence/index.js';
import { evidenceName } from '../../places.js';
import { operationOfReport } from '../../report-operation.js';
import type { Finding } from '../../report.js';
import type { OperationState } from './open-groups.js';

/** Named with one finding. */
const MAX_EVIDENCE = 20;

export interface EventFinding {
  readonly rule: string;
  readonly level: Finding['level'];
  readonly certainty: Finding['certainty'];
  readonly message: string;
  readonly fingerprint: string;
  readonly callId: string | null;
  /** Of a finding that speaks of a tool and not of one operation. */
  readonly tool: string | null;
  /** Spans and receipts by their ids, as in reports; what has none by its place in a file (`s1:42`). */
  readonly at: readonly string[];
}

export interface EventVerdict {
  readonly key: string;
  readonly operationId: string | null;
  readonly runId: string | null;
  readonly tool: string | null;
  readonly verdict: string;
  readonly rule: string;
  readonly reason: string;
  readonly action: string;
  readonly flags: readonly string[];
  readonly told: string | null;
  readonly effect: string;
  readonly evidence: string;
  readonly assurance: string;
  readonly calls: number;
}

export interface StateEvent {
  /** Unix time in milliseconds at which it was judged. */
  readonly at: number;
  /** From 1, per operation. */
  readonly revision: number;
  /** Verdict that was said before; null the first time. */
  readonly previous: string | null;
  /** Null when it speaks of no one operation. */
  readonly operation: EventVerdict | null;
  /** Of the first client span, else of the first span of any side; '' where there is none. */
  readonly traceId: string;
  readonly spanId: string;
  readonly service: string;
  /** Findings that were not there before. */
  readonly findings: readonly EventFinding[];
  /** Rules of all findings that hold now. */
  readonly rules: readonly string[];
  /** State after this event, so that a restart says nothing twice. */
  readonly state: OperationState;
}

export function findingOfEvent(finding: Finding): EventFinding {
  return {
    rule: finding.rule,
    level: finding.level,
    certainty: finding.certainty,
    message: finding.message,
    fingerprint: finding.fingerprint,
    callId: finding.callId,
    tool: finding.tool,
    at: [...new Set(finding.at.map(evidenceName))].slice(0, MAX_EVIDENCE),
  };
}

/** The event that an operation is worth; undefined when nothing that matters changed. */
export function eventOf(
  judged: JudgedOperation,
  findings: readonly Finding[],
  before: OperationState | undefined,
  at: number,
): StateEvent | undefined {
  const made = operationOfReport(judged);
  const operation: EventVerdict = {
    key: made.key,
    operationId: made.operationId,
    runId: made.runId,
    tool: made.tool,
    verdict: made.verdict,
    rule: made.rule,
    reason: made.reason,
    action: made.action,
    flags: made.flags,
    told: made.told,
    effect: made.effect,
    evidence: made.evidenceState,
    assurance: made.assurance,
    calls: made.calls.length,
  };
  const fingerprints = [...new Set(findings.map(({ fingerprint }) => fingerprint))].sort();
  const digest = createHash('sha256')
    .update(JSON.stringify([operation, fingerprints]))
    .digest('base64url')
    .slice(0, 22);
  if (before?.digest === digest) return undefined;
  const revision = (before?.revision ?? 0) + 1;
  const first = made.calls.find((call) => call.client !== null)?.client ?? made.calls[0]?.server ?? undefined;
  const earlier = new Set(before?.findings);
  return {
    at,
    revision,
    previous: before?.verdict ?? null,
    operation,
    traceId: first?.traceId ?? '',
    spanId: first?.spanId ?? '',
    service: first?.service ?? '',
    findings: findings.filter(({ fingerprint }) => !earlier.has(fingerprint)).map(findingOfEvent),
    rules: [...new Set(findings.map(({ rule }) => rule))].sort(),
    state: { digest, revision, verdict: made.verdict, findings: fingerprints },
  };
}

/** A finding that is said once, by its key, and not with one operation. */
export function eventOfFinding(finding: Finding, key: string, at: number): StateEvent {
  return {
    at,
    revision: 1,
    previous: null,
    operation: null,
    traceId: '',
    spanId: '',
    service: '',
    findings: [findingOfEvent(finding)],
    rules: [finding.rule],
    state: { digest: key, revision: 1, verdict: '', findings: [finding.fingerprint] },
  };
}

/** What was written by `JSON.stringify` of an event; undefined for a torn or foreign line. */
export function parseEvent(line: string): StateEvent | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null || !('state' in value) || !('findings' in value))
      return undefined;
    return value as StateEvent;
  } catch {
    return undefined;
  }
}
