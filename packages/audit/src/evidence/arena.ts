/**
 * Rows as bytes. A row object costs a kilobyte and more; in the arena it costs about 120 bytes, so that memory follows
 * the number of operations and a million spans fit where a hundred thousand objects would not. What comes out is equal
 * to what went in.
 *
 * A row is the number of its shape, a byte of marks, and what is its own: call id, operation id, trace, span, parent,
 * times, place, other values. Ids stand first, so that two rows of one call are told by comparing bytes.
 */
import { deserialize, serialize } from 'node:v8';
import { ATTR_CALL_ID, ATTR_JSONRPC_REQUEST_ID, ATTR_OPERATION_ID } from '@waybill/core';
import type { AttributeValue } from '../model.js';
import type { EvidenceRef } from '../rule.js';
import { ByteReader, ByteWriter, roomOf } from './bytes.js';
import { readWords } from './hex.js';
import { IN_ORDER, LINE, OFFSET, PARENT, SPAN, TRACE, WIDE, timeFrom } from './row-brief.js';
import type { RowBrief } from './row-brief.js';
import type { SpanRow, StageRow } from './rows.js';
import { Shapes } from './shapes.js';
import type { Shape } from './shapes.js';
import { ValueCoder } from './values.js';

const MAX_DELTA = 0xffff_ffff;
const SECOND = 1_000_000_000n;

/** What is a row's own; the rest is its shape. */
export interface PackedRow {
  readonly callId: string | undefined;
  readonly operationId: string | undefined;
  readonly rpcId: string | undefined;
  /** Trace (four numbers), span and parent (two each). */
  readonly ids: Uint32Array;
  /** Which of them there are: `TRACE`, `SPAN`, `PARENT`. */
  readonly has: number;
  readonly line: number | undefined;
  readonly offset: number | undefined;
  /** Pairs of seconds and nanoseconds: start, end, then each stage of the shape. Seconds below 2^32. */
  readonly times: readonly number[];
  /** The values of `Shape.varying`. */
  readonly varying: readonly AttributeValue[];
}

/** Undefined for a row with a time beyond the year 2106, or an id that is no hex. */
function packedOf(row: SpanRow, shape: Shape): PackedRow | undefined {
  const { callId, operationId, rpcId, traceId, spanId, parentSpanId, at, attributes } = row;
  const times: number[] = [];
  const push = (time: bigint): void => {
    times.push(Number(time / SECOND), Number(time % SECOND));
  };
  push(row.startTimeUnixNano);
  push(row.endTimeUnixNano);
  for (const stage of row.stages) push(stage.timeUnixNano);
  if (times.some((time) => time > MAX_DELTA)) return undefined;
  const ids = new Uint32Array(8);
  if (traceId !== '' && !readWords(traceId, 4, ids, 0)) return undefined;
  if (spanId !== '' && !readWords(spanId, 2, ids, 4)) return undefined;
  if (parentSpanId !== '' && !readWords(parentSpanId, 2, ids, 6)) return undefined;
  const has = (traceId === '' ? 0 : TRACE) | (spanId === '' ? 0 : SPAN) | (parentSpanId === '' ? 0 : PARENT);
  const varying = shape.varying.map((name) => attributes[name] ?? null);
  const { line, offset } = at;
  return { callId, operationId, rpcId, ids, has, line, offset, times, varying };
}

export class RowArena {
  readonly #bytes = new ByteWriter();
  #places = new Float64Array(1 << 10);
  #length = 0;
  readonly #shapes = new Shapes();
  readonly #values = new ValueCoder();
  readonly #reader = new ByteReader();

  get length(): number {
    return this.#length;
  }

  shapeOf(row: SpanRow): Shape | undefined {
    return this.#shapes.of(row);
  }

  /** Keeps a row; the result is its number. */
  add(row: SpanRow): number {
    const shape = this.#shapes.of(row);
    const packed = shape && packedOf(row, shape);
    const place = shape && packed && this.#write(packed, shape);
    return this.#keep(place ?? this.#writeWhole(row));
  }

  /** Keeps a row that is packed already. */
  addPacked(row: PackedRow, shape: Shape): number {
    return this.#keep(this.#write(row, shape));
  }

  #keep(place: number): number {
    if (this.#length === this.#places.length) {
      const grown = new Float64Array(this.#length * 2);
      grown.set(this.#places);
      this.#places = grown;
    }
    this.#places[this.#length] = place;
    return this.#length++;
  }

  get(index: number): SpanRow {
    const from = this.#bytes.reader(this.#places[index] ?? 0, this.#reader);
    const shape = this.#shapes.get(from.varint() - 1);
    // Written below, and by nobody else.
    return shape === undefined ? (deserialize(from.bytes()) as SpanRow) : this.#read(from, shape);
  }

  /** Moves the brief to a row; false for a row of no common shape. */
  brief(index: number, into: RowBrief): boolean {
    const from = this.#bytes.reader(this.#places[index] ?? 0, into.from);
    return into.move(this.#shapes.get(from.varint() - 1));
  }

  #write(row: PackedRow, shape: Shape): number {
    const out = this.#bytes;
    const { callId, operationId, rpcId, ids, has, times, varying, line, offset } = row;
    let room = 80 + times.length * 4;
    if (callId !== undefined) room += roomOf(callId);
    if (operationId !== undefined) room += roomOf(operationId);
    if (rpcId !== undefined) room += roomOf(rpcId);
    for (const value of varying) room += this.#values.room(value);
    const place = out.begin(room);
    const [start = 0, startNanos = 0] = times;
    let wide = false;
    let inOrder = true;
    let [before, beforeNanos] = [0, 1];
    for (let at = 2; at < times.length; at += 2) {
      const [seconds, nanos] = [times[at] ?? 0, times[at + 1] ?? 0];
      const delta = (seconds - start) * 1e9 + nanos - startNanos;
      wide ||= delta < 0 || delta > MAX_DELTA;
      if (at === 2) continue;
      inOrder &&= seconds > before || (seconds === before && nanos >= beforeNanos);
      [before, beforeNanos] = [seconds, nanos];
    }
    out.varint(shape.number + 1);
    out.byte(
      has |
        (wide ? WIDE : 0) |
        (line === undefined ? 0 : LINE) |
        (offset === undefined ? 0 : OFFSET) |
        (inOrder ? IN_ORDER : 0),
    );
    if (callId !== undefined) out.text(callId);
    if (operationId !== undefined) out.text(operationId);
    if ((has & TRACE) !== 0) out.words(ids, 0, 4);
    if ((has & SPAN) !== 0) out.words(ids, 4, 6);
    if ((has & PARENT) !== 0) out.words(ids, 6, 8);
    out.uint32(start);
    out.uint32(startNanos);
    for (let at = 2; at < times.length; at += 2) {
      const [seconds, nanos] = [times[at] ?? 0, times[at + 1] ?? 0];
      if (wide) {
        out.uint32(seconds);
        out.uint32(nanos);
      } else out.uint32((seconds - start) * 1e9 + nanos - startNanos);
    }
    if (line !== undefined) out.varint(line);
    if (offset !== undefined) out.varint(offset);
    for (const value of varying) this.#values.write(out, value);
    if (rpcId !== undefined) out.text(rpcId);
    return place;
  }

  #writeWhole(row: SpanRow): number {
    const bytes = serialize(row);
    const place = this.#bytes.begin(bytes.length + 16);
    this.#bytes.varint(0);
    this.#bytes.bytes(bytes);
    return place;
  }

  #read(from: ByteReader, shape: Shape): SpanRow {
    const marks = from.byte();
    const wide = (marks & WIDE) !== 0;
    const callId = shape.hasCallId ? from.text() : undefined;
    const operationId = shape.hasOperationId ? from.text() : undefined;
    const traceId = (marks & TRACE) === 0 ? '' : from.hex(16);
    const spanId = (marks & SPAN) === 0 ? '' : from.hex(8);
    const parentSpanId = (marks & PARENT) === 0 ? '' : from.hex(8);
    const start = timeFrom(from);
    const next = (): bigint => (wide ? timeFrom(from) : start + BigInt(from.uint32()));
    const end = next();
    const times = shape.stages.map(next);
    const line = (marks & LINE) === 0 ? undefined : from.varint();
    const offset = (marks & OFFSET) === 0 ? undefined : from.varint();
    const at = placeOf(shape.source, line, offset, traceId, spanId, shape.event);
    const attributes: Record<string, AttributeValue> = { ...shape.attributes };
    for (const name of shape.varying) attributes[name] = this.#values.read(from);
    const rpcId = shape.hasRpcId ? from.text() : undefined;
    const [asCall, asOperation, asRpc] = shape.asAttribute;
    if (asCall === true && callId !== undefined) attributes[ATTR_CALL_ID] = callId;
    if (asOperation === true && operationId !== undefined) attributes[ATTR_OPERATION_ID] = operationId;
    if (asRpc === true && rpcId !== undefined) attributes[ATTR_JSONRPC_REQUEST_ID] = rpcId;
    const stages = shape.stages.map(({ name, seq, event }, index): StageRow => ({
      name,
      seq,
      timeUnixNano: times[index] ?? 0n,
      at: event === shape.event ? at : placeOf(shape.source, line, offset, traceId, spanId, event),
    }));
    const { role, own, fromLogs, scope, service, status, method, tool } = shape.fixed;
    const { timedOut, droppedEvents, unsampled, contested, seqs } = shape.fixed;
    return {
      role,
      own,
      fromLogs,
      scope,
      service,
      traceId,
      spanId,
      parentSpanId,
      startTimeUnixNano: start,
      endTimeUnixNano: end,
      status,
      method,
      tool,
      rpcId,
      callId,
      operationId,
      attributes,
      stages,
      seqs,
      timedOut,
      droppedEvents,
      unsampled,
      at,
      contested,
    };
  }
}

function placeOf(
  source: string,
  line: number | undefined,
  offset: number | undefined,
  traceId: string,
  spanId: string,
  event?: string,
): EvidenceRef {
  // Nearly every place; a literal is made far faster than a chain of spreads.
  if (line !== undefined && offset === undefined) {
    return event === undefined ? { source, line, traceId, spanId } : { source, line, traceId, spanId, event };
  }
  return {
    source,
    ...(line === undefined ? {} : { line }),
    ...(offset === undefined ? {} : { offset }),
    traceId,
    spanId,
    ...(event === undefined ? {} : { event }),
  };
}
