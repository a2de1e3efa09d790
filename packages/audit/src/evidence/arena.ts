/**
 * Rows as bytes. A row object costs a kilobyte and more; in the arena it costs about 150 bytes, so that memory follows
 * the number of operations and a million spans fit where a hundred thousand objects would not. What comes out is equal
 * to what went in.
 */
import { ATTR_CALL_ID, ATTR_JSONRPC_REQUEST_ID, ATTR_OPERATION_ID, STAGES } from '@waybill/core';
import type { Stage } from '@waybill/core';
import type { AttributeValue } from '../model.js';
import type { EvidenceRef } from '../rule.js';
import { ByteWriter } from './bytes.js';
import type { ByteReader } from './bytes.js';
import type { Role, SpanRow, StageRow } from './rows.js';

const ROLES: readonly Role[] = ['client', 'server', 'tool'];
const STATUSES = ['unset', 'ok', 'error', undefined] as const;
const STAGE_NAMES: readonly Stage[] = STAGES.map((stage) => stage.name as Stage);
const STAGE_NUMBERS: ReadonlyMap<string, number> = new Map(STAGE_NAMES.map((name, index) => [name, index]));

/** Attributes that a row also has as a field; they are written once. */
const AS_FIELD = [
  [ATTR_CALL_ID, 'callId'],
  [ATTR_OPERATION_ID, 'operationId'],
  [ATTR_JSONRPC_REQUEST_ID, 'rpcId'],
] as const;

/** Texts that many rows share. Beyond the limit they are written out, so that hostile inputs cannot grow the table. */
const MAX_SHARED = 1 << 14;
const MAX_SHARED_LENGTH = 64;

/** Kinds of attribute values. */
const SHARED = 0;
const TEXT = 1;
const INTEGER = 2;
const FLOAT = 3;
const FALSE = 4;
const TRUE = 5;
const NULL = 6;
const LIST = 7;
const OTHER = 8;

export class RowArena {
  readonly #bytes = new ByteWriter();
  #offsets = new Float64Array(1 << 10);
  #length = 0;
  readonly #texts: string[] = [];
  readonly #numbers = new Map<string, number>();

  get length(): number {
    return this.#length;
  }

  /** Keeps a row; the result is its number. */
  add(row: SpanRow): number {
    if (this.#length === this.#offsets.length) {
      const grown = new Float64Array(this.#length * 2);
      grown.set(this.#offsets);
      this.#offsets = grown;
    }
    this.#offsets[this.#length] = this.#bytes.length;
    this.#write(row);
    return this.#length++;
  }

  get(index: number): SpanRow {
    return this.#read(this.#bytes.reader(this.#offsets[index] ?? 0));
  }

  #write(row: SpanRow): void {
    const out = this.#bytes;
    out.byte(
      ROLES.indexOf(row.role) |
        (STATUSES.indexOf(row.status) << 2) |
        (row.own ? 16 : 0) |
        (row.fromLogs ? 32 : 0) |
        (row.timedOut ? 64 : 0) |
        (row.unsampled ? 128 : 0),
    );
    const { callId, operationId, rpcId, tool } = row;
    // Ids are written as fields only where the attribute says the same, which is nearly always.
    const same = AS_FIELD.map(
      ([key, field]) => row.attributes[key] === row[field] && row[field] !== undefined,
    );
    out.byte(
      (callId === undefined ? 0 : 1) |
        (operationId === undefined ? 0 : 2) |
        (rpcId === undefined ? 0 : 4) |
        (tool === undefined ? 0 : 8) |
        (same[0] === true ? 16 : 0) |
        (same[1] === true ? 32 : 0) |
        (same[2] === true ? 64 : 0) |
        (row.contested ? 128 : 0),
    );
    this.#shared(row.scope);
    this.#shared(row.service);
    this.#shared(row.method);
    if (tool !== undefined) this.#shared(tool);
    out.hex(row.traceId, 16);
    out.hex(row.spanId, 8);
    out.hex(row.parentSpanId, 8);
    out.bigint(row.startTimeUnixNano);
    out.bigint(row.endTimeUnixNano);
    if (callId !== undefined) out.text(callId);
    if (operationId !== undefined) out.text(operationId);
    if (rpcId !== undefined) out.text(rpcId);
    this.#place(row.at);
    out.varint(row.droppedEvents);
    this.#stages(row);
    this.#attributes(row, same);
  }

  #read(from: ByteReader): SpanRow {
    const bits = from.byte();
    const has = from.byte();
    const scope = this.#sharedFrom(from);
    const service = this.#sharedFrom(from);
    const method = this.#sharedFrom(from);
    const tool = (has & 8) === 0 ? undefined : this.#sharedFrom(from);
    const traceId = from.hex(16);
    const spanId = from.hex(8);
    const parentSpanId = from.hex(8);
    const startTimeUnixNano = from.bigint();
    const endTimeUnixNano = from.bigint();
    const callId = (has & 1) === 0 ? undefined : from.text();
    const operationId = (has & 2) === 0 ? undefined : from.text();
    const rpcId = (has & 4) === 0 ? undefined : from.text();
    const at = this.#placeFrom(from);
    const droppedEvents = from.varint();
    const { stages, seqs } = this.#stagesFrom(from, at);
    const attributes: Record<string, AttributeValue> = {};
    if ((has & 16) !== 0 && callId !== undefined) attributes[ATTR_CALL_ID] = callId;
    if ((has & 32) !== 0 && operationId !== undefined) attributes[ATTR_OPERATION_ID] = operationId;
    if ((has & 64) !== 0 && rpcId !== undefined) attributes[ATTR_JSONRPC_REQUEST_ID] = rpcId;
    const count = from.varint();
    for (let i = 0; i < count; i++) {
      const key = this.#sharedFrom(from);
      attributes[key] = this.#valueFrom(from);
    }
    return {
      role: ROLES[bits & 3] ?? 'tool',
      own: (bits & 16) !== 0,
      fromLogs: (bits & 32) !== 0,
      scope,
      service,
      traceId,
      spanId,
      parentSpanId,
      startTimeUnixNano,
      endTimeUnixNano,
      status: STATUSES[(bits >> 2) & 3],
      method,
      tool,
      rpcId,
      callId,
      operationId,
      attributes,
      stages,
      seqs,
      timedOut: (bits & 64) !== 0,
      droppedEvents,
      unsampled: (bits & 128) !== 0,
      at,
      contested: (has & 128) !== 0,
    };
  }

  #stages(row: SpanRow): void {
    const out = this.#bytes;
    out.varint(row.stages.length);
    for (const stage of row.stages) {
      const event = stage.at.event;
      const form = event === undefined ? 0 : event === stage.name ? 1 : 2;
      out.byte((STAGE_NUMBERS.get(stage.name) ?? 0) | (form << 5));
      out.varint(stage.seq ?? 0);
      out.bigint(stage.timeUnixNano);
      // Stages of logs lie where their record lies, those of spans where the span does.
      const moved = !samePlace(stage.at, row.at);
      out.byte(moved ? 1 : 0);
      if (moved) this.#place(stage.at);
    }
    const own = row.stages.map((stage) => stage.seq).filter((seq) => seq !== undefined);
    const derived = own.length === row.seqs.length && own.every((seq, index) => seq === row.seqs[index]);
    out.varint(derived ? 0 : row.seqs.length + 1);
    if (!derived) for (const seq of row.seqs) out.varint(seq);
  }

  #stagesFrom(
    from: ByteReader,
    at: EvidenceRef,
  ): { readonly stages: readonly StageRow[]; readonly seqs: readonly number[] } {
    const stages: StageRow[] = [];
    const count = from.varint();
    for (let i = 0; i < count; i++) {
      const packed = from.byte();
      const name = STAGE_NAMES[packed & 31] ?? 'client.sent';
      const form = packed >> 5;
      const seq = from.varint();
      const timeUnixNano = from.bigint();
      const place = from.byte() === 1 ? this.#placeFrom(from) : at;
      const event = form === 0 ? undefined : form === 1 ? name : `waybill.${name}`;
      stages.push({
        name,
        timeUnixNano,
        seq: seq === 0 ? undefined : seq,
        at: event === undefined ? place : atEvent(place, event),
      });
    }
    const listed = from.varint();
    if (listed === 0) {
      return { stages, seqs: stages.map((stage) => stage.seq).filter((seq) => seq !== undefined) };
    }
    return { stages, seqs: Array.from({ length: listed - 1 }, () => from.varint()) };
  }

  #attributes(row: SpanRow, same: readonly boolean[]): void {
    const out = this.#bytes;
    const entries = Object.entries(row.attributes).filter(
      ([key]) => !AS_FIELD.some(([name], index) => name === key && same[index] === true),
    );
    out.varint(entries.length);
    for (const [key, value] of entries) {
      this.#shared(key);
      this.#value(value);
    }
  }

  #value(value: AttributeValue): void {
    const out = this.#bytes;
    if (typeof value === 'string') {
      const number = this.#numberOf(value);
      out.byte(number === undefined ? TEXT : SHARED);
      if (number === undefined) out.text(value);
      else out.varint(number);
    } else if (typeof value === 'number') {
      const isInteger = Number.isSafeInteger(value) && value >= 0 && !Object.is(value, -0);
      out.byte(isInteger ? INTEGER : FLOAT);
      if (isInteger) out.varint(value);
      else out.float(value);
    } else if (typeof value === 'boolean') out.byte(value ? TRUE : FALSE);
    else if (value === null) out.byte(NULL);
    else if (Array.isArray(value) && value.every((item) => typeof item === 'string')) {
      out.byte(LIST);
      out.varint(value.length);
      for (const item of value) out.text(item);
    } else {
      out.byte(OTHER);
      out.text(encodeOther(value));
    }
  }

  #valueFrom(from: ByteReader): AttributeValue {
    const kind = from.byte();
    if (kind === SHARED) return this.#texts[from.varint()] ?? '';
    if (kind === TEXT) return from.text();
    if (kind === INTEGER) return from.varint();
    if (kind === FLOAT) return from.float();
    if (kind === FALSE) return false;
    if (kind === TRUE) return true;
    if (kind === NULL) return null;
    if (kind === LIST) return Array.from({ length: from.varint() }, () => from.text());
    return decodeOther(from.text());
  }

  #place(at: EvidenceRef): void {
    const out = this.#bytes;
    this.#shared(at.source);
    out.varint(at.line ?? 0);
    out.varint(at.offset === undefined ? 0 : at.offset + 1);
    const ids = (at.traceId === undefined ? 0 : 1) | (at.spanId === undefined ? 0 : 2);
    out.byte(ids);
    if (at.traceId !== undefined) out.hex(at.traceId, 16);
    if (at.spanId !== undefined) out.hex(at.spanId, 8);
  }

  #placeFrom(from: ByteReader): EvidenceRef {
    const source = this.#sharedFrom(from);
    const line = from.varint();
    const offset = from.varint();
    const ids = from.byte();
    const traceId = (ids & 1) === 0 ? undefined : from.hex(16);
    const spanId = (ids & 2) === 0 ? undefined : from.hex(8);
    // Nearly every place; a literal is made far faster than a chain of spreads.
    if (line !== 0 && offset === 0 && traceId !== undefined && spanId !== undefined) {
      return { source, line, traceId, spanId };
    }
    return {
      source,
      ...(line === 0 ? {} : { line }),
      ...(offset === 0 ? {} : { offset: offset - 1 }),
      ...(traceId === undefined ? {} : { traceId }),
      ...(spanId === undefined ? {} : { spanId }),
    };
  }

  /** A text that is expected to repeat: its number, or, once the table is full, 0 and the text. */
  #shared(text: string): void {
    const number = this.#numberOf(text);
    this.#bytes.varint(number === undefined ? 0 : number + 1);
    if (number === undefined) this.#bytes.text(text);
  }

  #sharedFrom(from: ByteReader): string {
    const number = from.varint();
    return number === 0 ? from.text() : (this.#texts[number - 1] ?? '');
  }

  #numberOf(text: string): number | undefined {
    const known = this.#numbers.get(text);
    if (known !== undefined || this.#texts.length >= MAX_SHARED || text.length > MAX_SHARED_LENGTH)
      return known;
    const number = this.#texts.length;
    this.#texts.push(text);
    this.#numbers.set(text, number);
    return number;
  }
}

function atEvent(place: EvidenceRef, event: string): EvidenceRef {
  const { source, line, offset, traceId, spanId } = place;
  if (line !== undefined && offset === undefined && traceId !== undefined && spanId !== undefined) {
    return { source, line, traceId, spanId, event };
  }
  return { ...place, event };
}

function samePlace(a: EvidenceRef, b: EvidenceRef): boolean {
  return (
    a.line === b.line &&
    a.offset === b.offset &&
    a.source === b.source &&
    a.traceId === b.traceId &&
    a.spanId === b.spanId
  );
}

/** Lists of other things and maps, rare among the kept attributes: JSON with marks for what JSON has no form for. */
function encodeOther(value: AttributeValue): string {
  return JSON.stringify(value, (_, member: unknown) => {
    if (typeof member === 'bigint') return { $bigint: String(member) };
    if (member instanceof Uint8Array) return { $bytes: Buffer.from(member).toString('base64') };
    return member;
  });
}

function decodeOther(text: string): AttributeValue {
  return JSON.parse(text, (_, member: unknown) => {
    if (typeof member !== 'object' || member === null) return member;
    if ('$bigint' in member && typeof member.$bigint === 'string') return BigInt(member.$bigint);
    if ('$bytes' in member && typeof member.$bytes === 'string') {
      return new Uint8Array(Buffer.from(member.$bytes, 'base64'));
    }
    return member;
  }) as AttributeValue;
}
