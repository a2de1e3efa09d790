/** Events as OTLP JSON: log records `waybill.verdict` and `waybill.finding`, and, when asked for, one span each. */
import { createHash } from 'node:crypto';
import {
  ATTR_CALL_ID,
  ATTR_EVENT_ID,
  ATTR_FINDING_CERTAINTY,
  ATTR_FINDING_EVIDENCE,
  ATTR_FINDING_FINGERPRINT,
  ATTR_FINDING_LEVEL,
  ATTR_FINDING_RULE,
  ATTR_GEN_AI_TOOL_NAME,
  ATTR_OPERATION_ID,
  ATTR_OPERATION_KEY,
  ATTR_RUN_ID,
  ATTR_VERDICT,
  ATTR_VERDICT_ACTION,
  ATTR_VERDICT_ASSURANCE,
  ATTR_VERDICT_EFFECT,
  ATTR_VERDICT_EVIDENCE,
  ATTR_VERDICT_FINDINGS,
  ATTR_VERDICT_FLAGS,
  ATTR_VERDICT_PREVIOUS,
  ATTR_VERDICT_REASON,
  ATTR_VERDICT_REVISION,
  ATTR_VERDICT_RULE,
  ATTR_VERDICT_TOLD,
  EVENT_FINDING,
  EVENT_VERDICT,
} from '@waybill/core';
import { VERDICT_SCOPE } from './auditor.js';
import type { EventFinding, StateEvent } from './events.js';

interface Value {
  readonly stringValue?: string;
  readonly intValue?: string;
  readonly arrayValue?: { readonly values: readonly Value[] };
}
interface KeyValue {
  readonly key: string;
  readonly value: Value;
}

const SEVERITY = {
  error: { severityNumber: 17, severityText: 'ERROR' },
  warning: { severityNumber: 13, severityText: 'WARN' },
  info: { severityNumber: 9, severityText: 'INFO' },
} as const;

/** The body of a request to `/v1/logs`. */
export function logsOf(events: readonly StateEvent[], version: string): object {
  return {
    resourceLogs: [
      {
        resource: resource(version),
        scopeLogs: [
          {
            scope: { name: VERDICT_SCOPE, version },
            logRecords: events.flatMap((event) => recordsOf(event)),
          },
        ],
      },
    ],
  };
}

/** The body of a request to `/v1/traces`; undefined when no event belongs to a trace. */
export function spansOf(events: readonly StateEvent[], version: string): object | undefined {
  const spans = events.flatMap((event) => spanOf(event));
  if (spans.length === 0) return undefined;
  return {
    resourceSpans: [
      { resource: resource(version), scopeSpans: [{ scope: { name: VERDICT_SCOPE, version }, spans }] },
    ],
  };
}

function resource(version: string): object {
  return { attributes: attributes({ 'service.name': 'waybill-audit', 'service.version': version }) };
}

function recordsOf(event: StateEvent): readonly object[] {
  const records: object[] = [];
  const { operation } = event;
  if (operation !== null) {
    const level = event.findings.some((finding) => finding.level === 'error') ? 'error' : 'info';
    records.push({
      ...common(event),
      ...SEVERITY[level],
      eventName: EVENT_VERDICT,
      body: { stringValue: `${operation.verdict}: ${operation.key}` },
      attributes: attributes({
        ...verdictAttributes(event),
        [ATTR_VERDICT_PREVIOUS]: event.previous,
        [ATTR_VERDICT_REVISION]: event.revision,
        [ATTR_VERDICT_FLAGS]: operation.flags,
        [ATTR_VERDICT_FINDINGS]: event.rules,
        [ATTR_EVENT_ID]: eventId(event, 'verdict'),
      }),
    });
  }
  for (const finding of event.findings) {
    records.push({
      ...common(event),
      ...SEVERITY[finding.level],
      eventName: EVENT_FINDING,
      body: { stringValue: finding.message },
      attributes: attributes({ ...findingAttributes(event, finding) }),
    });
  }
  return records;
}

function common(event: StateEvent): object {
  const time = `${event.at}000000`;
  return {
    timeUnixNano: time,
    observedTimeUnixNano: time,
    ...(event.traceId === '' ? {} : { traceId: event.traceId, spanId: event.spanId, flags: 1 }),
  };
}

function verdictAttributes(event: StateEvent): Readonly<Record<string, unknown>> {
  const { operation } = event;
  if (operation === null) return {};
  return {
    [ATTR_OPERATION_KEY]: operation.key,
    [ATTR_OPERATION_ID]: operation.operationId,
    [ATTR_RUN_ID]: operation.runId,
    [ATTR_GEN_AI_TOOL_NAME]: operation.tool,
    [ATTR_VERDICT]: operation.verdict,
    [ATTR_VERDICT_RULE]: operation.rule,
    [ATTR_VERDICT_REASON]: operation.reason,
    [ATTR_VERDICT_ACTION]: operation.action,
    [ATTR_VERDICT_TOLD]: operation.told,
    [ATTR_VERDICT_EFFECT]: operation.effect,
    [ATTR_VERDICT_EVIDENCE]: operation.evidence,
    [ATTR_VERDICT_ASSURANCE]: operation.assurance,
  };
}

function findingAttributes(event: StateEvent, finding: EventFinding): Readonly<Record<string, unknown>> {
  return {
    [ATTR_OPERATION_KEY]: event.operation?.key ?? null,
    [ATTR_OPERATION_ID]: event.operation?.operationId ?? null,
    [ATTR_CALL_ID]: finding.callId,
    [ATTR_GEN_AI_TOOL_NAME]: event.operation?.tool ?? finding.tool,
    [ATTR_FINDING_RULE]: finding.rule,
    [ATTR_FINDING_LEVEL]: finding.level,
    [ATTR_FINDING_CERTAINTY]: finding.certainty,
    [ATTR_FINDING_FINGERPRINT]: finding.fingerprint,
    [ATTR_FINDING_EVIDENCE]: finding.at,
    // Two findings of one operation may share a fingerprint: one side has it, and the other side too.
    [ATTR_EVENT_ID]: eventId(event, `${finding.fingerprint} ${finding.message}`),
  };
}

/** One zero-length span in the original trace, below the first client span. Its id is the same when it is sent again. */
function spanOf(event: StateEvent): readonly object[] {
  const { operation } = event;
  if (operation === null || event.traceId === '') return [];
  const time = `${event.at}000000`;
  return [
    {
      traceId: event.traceId,
      spanId: eventId(event, 'verdict').slice(0, 16),
      parentSpanId: event.spanId,
      name: `waybill verdict ${operation.verdict}`,
      kind: 1,
      startTimeUnixNano: time,
      endTimeUnixNano: time,
      attributes: attributes({ ...verdictAttributes(event), [ATTR_VERDICT_FINDINGS]: event.rules }),
      ...(event.findings.some((finding) => finding.level === 'error') ? { status: { code: 2 } } : {}),
    },
  ];
}

/** The same for the same change: a receiver can tell an event that is sent twice. */
function eventId(event: StateEvent, what: string): string {
  const text = JSON.stringify([event.operation?.key ?? null, event.revision, event.state.digest, what]);
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

function attributes(values: Readonly<Record<string, unknown>>): readonly KeyValue[] {
  return Object.entries(values).flatMap(([key, value]): readonly KeyValue[] => {
    const made = valueOf(value);
    return made === undefined ? [] : [{ key, value: made }];
  });
}

function valueOf(value: unknown): Value | undefined {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'number') return { intValue: String(value) };
  if (!Array.isArray(value)) return undefined;
  return { arrayValue: { values: value.map((each) => ({ stringValue: String(each) })) } };
}
