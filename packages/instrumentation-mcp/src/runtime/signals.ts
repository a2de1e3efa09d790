import type { Context, Span } from '@opentelemetry/api';
import { SeverityNumber } from '@opentelemetry/api-logs';
import {
  ATTR_BOUNDARY_ID,
  ATTR_CALL_ATTEMPT,
  ATTR_CALL_CONTINUES,
  ATTR_CALL_ID,
  ATTR_EFFECT_KIND,
  ATTR_GEN_AI_TOOL_NAME,
  ATTR_JSONRPC_REQUEST_ID,
  ATTR_MCP_METHOD_NAME,
  ATTR_OPERATION_ID,
  ATTR_OPERATION_SOURCE,
  ATTR_RUN_ID,
  ATTR_RUN_SOURCE,
  type JsonRpcId,
  eventNameOf,
} from '@waybill/core';
import type { ToolCallInfo } from '../types.js';
import type { RuntimeCore } from './core.js';
import type { CallIds } from './ids.js';
import { openJournal } from './journal.js';
import { capped } from './limits.js';
import { type StageAttributes, type StageRecorder, type StageSink, createStageRecorder } from './stages.js';

const SIGNALS = ['span_events', 'logs', 'both'] as const;
type StageSignal = (typeof SIGNALS)[number];

interface SignalTarget extends CallTarget {
  readonly info: ToolCallInfo;
  /** JSON-RPC id of the request; undefined while it has none. */
  readonly requestId: () => JsonRpcId | undefined;
}

/** The recorder of a call: span events, log records and the journal, as configured. */
export function recorderFor(core: RuntimeCore, target: SignalTarget): StageRecorder {
  const signal = stageSignal(core);
  const lasting: StageSink[] = [];
  if (signal !== 'span_events') lasting.push(logSink(core, target));
  const journal = core.config().stageJournal ?? core.environment.stageJournal;
  if (journal !== undefined && journal !== '' && target.ids.effectKind !== 'read') {
    lasting.push(journalSink(core, journal, target));
  }
  return createStageRecorder(signal === 'logs' ? undefined : target.span, lasting, core.stageFailed);
}

function stageSignal(core: RuntimeCore): StageSignal {
  const configured = core.config().stageSignal;
  if (configured !== undefined) return configured;
  const named = core.environment.stageSignal;
  return SIGNALS.find((signal) => signal === named) ?? 'span_events';
}

interface CallTarget {
  readonly side: 'client' | 'server';
  readonly span: Span;
  readonly context: Context;
  readonly ids: CallIds;
}

/** Ids that every record of a stage carries, since it may arrive without its span. */
export function stageIdentity(core: RuntimeCore, target: CallTarget): Record<string, string> {
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

/** And what the call was, which the span says where there is one. */
function callIdentity(core: RuntimeCore, target: SignalTarget): StageAttributes {
  const { ids, info } = target;
  return {
    ...stageIdentity(core, target),
    [ATTR_MCP_METHOD_NAME]: capped(info.method),
    ...(info.tool === undefined ? {} : { [ATTR_GEN_AI_TOOL_NAME]: capped(info.tool) }),
    [ATTR_CALL_ATTEMPT]: ids.attempt,
    ...(ids.continues === undefined ? {} : { [ATTR_CALL_CONTINUES]: ids.continues }),
  };
}

/**
 * A record on its own is joined by its call id: a stage that names another call, such as a reply that was crossed on the
 * way, must not carry itself over to that one. The event of the span says whose the reply was.
 */
function stageAttributes(
  identity: StageAttributes,
  requestId: SignalTarget['requestId'],
  attributes: StageAttributes,
): StageAttributes {
  const id = requestId();
  return {
    ...attributes,
    ...identity,
    ...(id === undefined ? {} : { [ATTR_JSONRPC_REQUEST_ID]: capped(String(id)) }),
  };
}

function logSink(core: RuntimeCore, target: SignalTarget): StageSink {
  const identity = callIdentity(core, target);
  const { context, requestId } = target;
  return (stage, attributes) => {
    core.guard('stage.log', () => {
      core.deps.logger()?.emit({
        eventName: eventNameOf(stage),
        severityNumber: SeverityNumber.INFO,
        timestamp: Date.now(),
        context,
        attributes: { ...stageAttributes(identity, requestId, attributes) },
      });
    });
  };
}

/** One OTLP JSON line a stage, written before the call goes on. */
function journalSink(core: RuntimeCore, path: string, target: SignalTarget): StageSink {
  const identity = callIdentity(core, target);
  const { traceId, spanId } = target.span.spanContext();
  const { requestId } = target;
  return (stage, attributes) => {
    core.guard('stage.journal', () => {
      let journal = core.journals.get(path);
      if (journal === undefined) {
        journal = openJournal(path);
        core.journals.set(path, journal);
      }
      journal.append({
        eventName: eventNameOf(stage),
        traceId,
        spanId,
        attributes: stageAttributes(identity, requestId, attributes),
      });
    });
  };
}
