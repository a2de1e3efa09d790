/**
 * Rows of spans that are alike: from the first span of a likeness it is learned how its rows are packed, and those that
 * follow are packed from their own values without a span object in between. What cannot be learned is read every time.
 */
import {
  ATTR_CALL_ID,
  ATTR_JSONRPC_REQUEST_ID,
  ATTR_OPERATION_ID,
  ATTR_RESULT_DIGEST,
  ATTR_STAGE_SEQ,
  stageOfEvent,
} from '@waybill/core';
import type { Alike, AlikeSink, AlikeSpan, AttributeUse, Span } from '../model.js';
import type { PackedRow } from './arena.js';
import { isKept, isMcpSpan, namesTool, seqOf } from './recognise.js';
import { PARENT, SPAN, TRACE } from './row-brief.js';
import type { SpanRow } from './rows.js';
import { SHAPING } from './shapes.js';
import type { Shape } from './shapes.js';

/** Read of events, or of spans that are no tool calls, to tell what they are. */
const TELLING: ReadonlySet<string> = new Set([ATTR_STAGE_SEQ, 'exception.type']);

/** How spans of a likeness become rows. */
interface Plan {
  /** Counted as `mcpSpans`. */
  readonly isMcp: boolean;
  /** Undefined: no span of this likeness speaks of a tool call. */
  readonly row: RowPlan | undefined;
}

export interface RowPlan {
  readonly shape: Shape;
  /** Places among the own values; -1 for what rows of this shape do not have. */
  readonly callId: number;
  readonly operationId: number;
  readonly rpcId: number;
  readonly varying: readonly number[];
  /** Place of the event of each stage; -1 for a stage that has none. */
  readonly events: readonly number[];
}

/** Spans of this likeness are read one by one. */
const ORDINARY = Symbol('ordinary');

export interface AlikeTarget {
  /** A span passes that is kept or not. */
  span(span: AlikeSpan, source: string, isMcp: boolean): void;
  row(plan: RowPlan, row: PackedRow): void;
  shapeOf(row: SpanRow): Shape | undefined;
}

export class AlikeRows implements AlikeSink {
  readonly #target: AlikeTarget;
  #pending: { readonly alike: Alike; readonly traceId: string; readonly spanId: string } | undefined;
  readonly #times: number[] = [];
  readonly #varying: PackedRow['varying'][number][] = [];

  constructor(target: AlikeTarget) {
    this.#target = target;
  }

  useOf(name: string): AttributeUse {
    if (name === ATTR_RESULT_DIGEST) return 'converted';
    if (SHAPING.has(name) || TELLING.has(name) || namesTool(name)) return 'same';
    return isKept(name) ? 'own' : 'unused';
  }

  take(alike: Alike, span: AlikeSpan, source: string): boolean {
    const { plan } = alike;
    if (plan === undefined) {
      this.#pending = { alike, traceId: span.traceId, spanId: span.spanId };
      return false;
    }
    if (plan === ORDINARY) return false;
    // Made below, and by nobody else.
    const { isMcp, row } = plan as Plan;
    if (row !== undefined) {
      const packed = this.#packed(row, span);
      if (packed === undefined) return false;
      this.#target.row(row, packed);
    }
    this.#target.span(span, source, isMcp);
    return true;
  }

  /** A span that was read in the ordinary way, and the row that was made of it. */
  learn(span: Span, row: SpanRow | undefined): void {
    const pending = this.#pending;
    if (pending === undefined) return;
    this.#pending = undefined;
    if (pending.traceId !== span.traceId || pending.spanId !== span.spanId) return;
    const isMcp = row !== undefined || isMcpSpan(span);
    const plan = row === undefined ? undefined : this.#planOf(pending.alike.names, span, row);
    pending.alike.plan = row !== undefined && plan === undefined ? ORDINARY : { isMcp, row: plan };
  }

  #planOf(names: readonly string[], span: Span, row: SpanRow): RowPlan | undefined {
    const { traceId, spanId, parentSpanId, startTimeUnixNano, endTimeUnixNano } = row;
    if (traceId !== span.traceId || spanId !== span.spanId || parentSpanId !== span.parentSpanId)
      return undefined;
    if (startTimeUnixNano !== span.startTimeUnixNano || endTimeUnixNano !== span.endTimeUnixNano)
      return undefined;
    const shape = this.#target.shapeOf(row);
    if (shape === undefined) return undefined;
    const placeOf = (has: boolean, name: string): number | undefined => {
      if (!has) return -1;
      const place = names.indexOf(name);
      return place === -1 || names.indexOf(name, place + 1) !== -1 ? undefined : place;
    };
    const callId = placeOf(shape.hasCallId, ATTR_CALL_ID);
    const operationId = placeOf(shape.hasOperationId, ATTR_OPERATION_ID);
    const rpcId = placeOf(shape.hasRpcId, ATTR_JSONRPC_REQUEST_ID);
    const varying = shape.varying.map((name) => placeOf(true, name));
    const events = eventsOf(span, row);
    if (callId === undefined || operationId === undefined || rpcId === undefined || events === undefined) {
      return undefined;
    }
    const places = varying.filter((place) => place !== undefined);
    return places.length < varying.length
      ? undefined
      : { shape, callId, operationId, rpcId, varying: places, events };
  }

  /** Undefined where an id is not the text that it was in the first span. */
  #packed(plan: RowPlan, span: AlikeSpan): PackedRow | undefined {
    const { values, times } = span;
    const callId = textAt(values, plan.callId);
    const operationId = textAt(values, plan.operationId);
    const rpcId = textAt(values, plan.rpcId);
    if (callId === null || operationId === null || rpcId === null) return undefined;
    const own = this.#times;
    own.length = 0;
    own.push(times[0] ?? 0, times[1] ?? 0, times[2] ?? 0, times[3] ?? 0);
    for (const event of plan.events) {
      if (event === -1) own.push(0, 0);
      else own.push(times[4 + event * 2] ?? 0, times[5 + event * 2] ?? 0);
    }
    const varying = this.#varying;
    varying.length = 0;
    for (const place of plan.varying) varying.push(values[place] ?? null);
    const { ids, hasParent, line, offset } = span;
    const has = hasParent ? TRACE | SPAN | PARENT : TRACE | SPAN;
    return { callId, operationId, rpcId, ids, has, line, offset, times: own, varying };
  }
}

/** Undefined for a place that there is none of, null for a value that is no text or an empty one. */
function textAt(values: AlikeSpan['values'], place: number): string | undefined | null {
  if (place === -1) return undefined;
  const value = values[place];
  return typeof value === 'string' && value !== '' ? value : null;
}

/** The event of each stage; undefined where their order may be another in the next span. */
function eventsOf(span: Span, row: SpanRow): readonly number[] | undefined {
  const events: number[] = [];
  for (const stage of row.stages) {
    const found = span.events.flatMap((event, index) =>
      stageOfEvent(event.name) === stage.name && seqOf(event.attributes) === stage.seq ? [index] : [],
    );
    const [event, another] = found;
    if (event === undefined) {
      if (stage.timeUnixNano !== 0n || stage.seq !== undefined) return undefined;
      events.push(-1);
    } else if (another !== undefined || (stage.seq === undefined && row.stages.length > 1)) return undefined;
    else events.push(event);
  }
  return events;
}
