import { openSync, writeSync } from 'node:fs';
import type { Context, Span } from '@opentelemetry/api';
import { SeverityNumber } from '@opentelemetry/api-logs';
import {
  ATTR_BOUNDARY_ID,
  ATTR_CALL_ID,
  ATTR_EFFECT_KIND,
  ATTR_OPERATION_ID,
  ATTR_OPERATION_SOURCE,
  ATTR_RUN_ID,
  ATTR_RUN_SOURCE,
  eventNameOf,
} from '@waybill/core';
import type { RuntimeCore } from './core.js';
import type { CallIds } from './ids.js';
import { type StageRecorder, type StageSink, createStageRecorder, spanEventSink } from './stages.js';

const SIGNALS = ['span_events', 'logs', 'both'] as const;
type StageSignal = (typeof SIGNALS)[number];

interface SignalTarget {
  readonly side: 'client' | 'server';
  readonly span: Span;
  readonly context: Context;
  readonly ids: CallIds;
}

/** The recorder of a call: span events, log records and the journal, as configured. */
export function recorderFor(core: RuntimeCore, target: SignalTarget): StageRecorder {
  const signal = stageSignal(core);
  const sinks: StageSink[] = [];
  if (signal !== 'logs') sinks.push(spanEventSink(target.span));
  if (signal !== 'span_events') sinks.push(logSink(core, target));
  const journal = core.config().stageJournal ?? core.environment.stageJournal;
  if (journal !== undefined && journal !== '' && target.ids.effectKind !== 'read') {
    sinks.push(journalSink(core, journal, target));
  }
  return createStageRecorder(sinks);
}

function stageSignal(core: RuntimeCore): StageSignal {
  const configured = core.config().stageSignal;
  if (configured !== undefined) return configured;
  const named = core.environment.stageSignal;
  return SIGNALS.find((signal) => signal === named) ?? 'span_events';
}

/** Ids that every record of a stage carries, since it may arrive without its span. */
export function stageIdentity(core: RuntimeCore, target: SignalTarget): Record<string, string> {
  const { ids } = target;
  return {
    [ATTR_BOUNDARY_ID]: core.boundaryId(target.side),
    [ATTR_CALL_ID]: ids.callId,
    [ATTR_OPERATION_ID]: ids.operationId,
    [ATTR_OPERATION_SOURCE]: ids.operationSource,
    [ATTR_EFFECT_KIND]: ids.effectKind,
    ...(ids.runId === undefined ? {} : { [ATTR_RUN_ID]: ids.runId, [ATTR_RUN_SOURCE]: ids.runSource }),
  };
}

function logSink(core: RuntimeCore, target: SignalTarget): StageSink {
  const identity = stageIdentity(core, target);
  return (stage, attributes) => {
    core.guard('stage.log', () => {
      core.deps.logger()?.emit({
        eventName: eventNameOf(stage),
        severityNumber: SeverityNumber.INFO,
        timestamp: Date.now(),
        context: target.context,
        attributes: { ...identity, ...attributes },
      });
    });
  };
}

/**
 * One OTLP JSON line a stage, written before the call goes on: the only form of a stage that survives SIGKILL. Nothing
 * is buffered in this process; the kernel has the line when `writeSync` returns.
 */
function journalSink(core: RuntimeCore, path: string, target: SignalTarget): StageSink {
  const identity = stageIdentity(core, target);
  const spanContext = target.span.spanContext();
  return (stage, attributes) => {
    core.guard('stage.journal', () => {
      let descriptor = core.journals.get(path);
      if (descriptor === undefined) {
        descriptor = openSync(path, 'a', 0o600);
        core.journals.set(path, descriptor);
      }
      const now = unixNano();
      const record = {
        timeUnixNano: now,
        observedTimeUnixNano: now,
        severityNumber: SeverityNumber.INFO,
        eventName: eventNameOf(stage),
        traceId: spanContext.traceId,
        spanId: spanContext.spanId,
        attributes: Object.entries({ ...identity, ...attributes }).map(([key, value]) => ({
          key,
          value: otlpValue(value),
        })),
      };
      writeSync(
        descriptor,
        `${JSON.stringify({
          resourceLogs: [
            { resource: {}, scopeLogs: [{ scope: { name: JOURNAL_SCOPE }, logRecords: [record] }] },
          ],
        })}\n`,
      );
    });
  };
}

const JOURNAL_SCOPE = '@waybill/instrumentation-mcp';

function unixNano(): string {
  const micros = Math.round((performance.timeOrigin + performance.now()) * 1000);
  return `${micros}000`;
}

function otlpValue(value: string | number | boolean): Record<string, unknown> {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
