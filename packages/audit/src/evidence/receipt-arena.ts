/** Receipts as bytes, as rows are kept: what many of them share once, and of each its ids, its time and its values. */
import type { ParsedReceipt } from '@waybill/core';
import { ByteReader, ByteWriter, roomOf } from './bytes.js';
import type { ReceiptRow } from './records.js';

type Fixed = Omit<
  ParsedReceipt,
  | 'receiptId'
  | 'effectId'
  | 'operationId'
  | 'callId'
  | 'runId'
  | 'traceId'
  | 'spanId'
  | 'target'
  | 'expected'
  | 'observed'
  | 'paramsHash'
  | 'atUnixNano'
>;

/** What a receipt has a text of its own for, in the order of the bytes; the ids that a row has too stand first. */
type Text = (receipt: ParsedReceipt) => string | undefined;
const TEXTS: readonly Text[] = [
  (receipt) => receipt.callId,
  (receipt) => receipt.operationId,
  (receipt) => receipt.receiptId,
  (receipt) => receipt.effectId,
  (receipt) => receipt.runId,
  (receipt) => receipt.traceId,
  (receipt) => receipt.spanId,
  (receipt) => receipt.target.id,
  (receipt) => receipt.target.version,
  (receipt) => receipt.target.preconditionVersion,
  (receipt) => receipt.paramsHash,
  (receipt) => receipt.expected,
  (receipt) => receipt.observed,
];
const OBSERVED = TEXTS.length - 1;
const IDS = 2;

export interface ReceiptShape {
  readonly number: number;
  readonly fixed: Fixed;
  readonly system: string | undefined;
  readonly type: string | undefined;
  readonly source: string;
  /** Which of the texts there are, a bit each. */
  readonly has: number;
  /** It observed what was expected. */
  readonly asExpected: boolean;
  readonly hasTime: boolean;
}

/** Distinct shapes that are kept: a writer's receipts are of one kind. More are read again from their own text. */
const MAX_SHAPES = 1 << 13;

export class ReceiptArena {
  readonly #bytes = new ByteWriter();
  readonly #reader = new ByteReader();
  readonly #byKey = new Map<string, ReceiptShape>();
  readonly #shapes: ReceiptShape[] = [];
  readonly #texts: (string | undefined)[] = [];
  readonly #whole = new Map<number, ReceiptRow>();
  #places = new Float64Array(1 << 8);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(row: ReceiptRow): void {
    if (this.#length === this.#places.length) {
      const grown = new Float64Array(this.#length * 2);
      grown.set(this.#places);
      this.#places = grown;
    }
    const shape = this.#shapeOf(row);
    if (shape === undefined) this.#whole.set(this.#length, row);
    else this.#places[this.#length] = this.#write(row, shape);
    this.#length += 1;
  }

  get(index: number): ReceiptRow {
    const whole = this.#whole.get(index);
    if (whole !== undefined) return whole;
    const from = this.#bytes.reader(this.#places[index] ?? 0, this.#reader);
    const shape = this.#shapes[from.varint()];
    if (shape === undefined) throw new RangeError(`there is no receipt ${index}`);
    const line = from.varint();
    const texts = TEXTS.map((_, bit) => ((shape.has & (1 << bit)) === 0 ? undefined : from.text()));
    const [callId, operationId, receiptId = '', effectId, runId, traceId, spanId, id, version] = texts;
    const [preconditionVersion, paramsHash, expected, observed] = texts.slice(9);
    return {
      receipt: {
        ...shape.fixed,
        receiptId,
        effectId,
        operationId,
        callId,
        runId,
        traceId,
        spanId,
        target: { system: shape.system, type: shape.type, id, version, preconditionVersion },
        expected,
        observed: shape.asExpected ? expected : observed,
        paramsHash,
        atUnixNano: shape.hasTime ? from.bigint() : undefined,
      },
      at: { source: shape.source, ...(line === 0 ? {} : { line }), receiptId },
    };
  }

  /** The shape of a receipt, and `into` at its call id; undefined for a receipt of no common shape. */
  brief(index: number, into: ByteReader): ReceiptShape | undefined {
    if (this.#whole.size > 0 && this.#whole.has(index)) return undefined;
    this.#bytes.reader(this.#places[index] ?? 0, into);
    const shape = this.#shapes[into.varint()];
    into.varint();
    return shape;
  }

  #write({ receipt, at }: ReceiptRow, shape: ReceiptShape): number {
    const texts = this.#texts;
    let room = 32;
    for (let bit = 0; bit < TEXTS.length; bit++) {
      const text = (shape.has & (1 << bit)) === 0 ? undefined : TEXTS[bit]?.(receipt);
      texts[bit] = text;
      if (text !== undefined) room += roomOf(text);
    }
    const out = this.#bytes;
    const place = out.begin(room);
    out.varint(shape.number);
    out.varint(at.line ?? 0);
    for (const text of texts) if (text !== undefined) out.text(text);
    if (receipt.atUnixNano !== undefined) out.bigint(receipt.atUnixNano);
    return place;
  }

  #shapeOf({ receipt, at }: ReceiptRow): ReceiptShape | undefined {
    // Only readers of other kinds than lines give places of other kinds; such a receipt is kept as it is.
    if (at.receiptId !== receipt.receiptId || at.line === 0 || isMore(at)) return undefined;
    const { kind, form, attempt, outcome, stage, binding, source, keyId, verification, target } = receipt;
    const asExpected = receipt.expected !== undefined && receipt.expected === receipt.observed;
    let has = 0;
    for (let bit = 0; bit < TEXTS.length; bit++) {
      if (TEXTS[bit]?.(receipt) !== undefined && !(bit === OBSERVED && asExpected)) has |= 1 << bit;
    }
    const hasTime = receipt.atUnixNano !== undefined;
    const { system, type } = target;
    const bits = (asExpected ? 1 : 0) + (hasTime ? 2 : 0) + has * 4;
    const key = `${bits} ${attempt ?? ''} ${form} ${outcome} ${stage} ${binding} ${verification}${part(at.source)}${part(source)}${part(keyId)}${part(system)}${part(type)}`;
    const known = this.#byKey.get(key);
    if (known !== undefined || this.#shapes.length >= MAX_SHAPES) return known;
    const fixed = { kind, form, attempt, outcome, stage, binding, source, keyId, verification };
    const number = this.#shapes.length;
    const made = { number, fixed, system, type, source: at.source, has, asExpected, hasTime };
    this.#byKey.set(key, made);
    this.#shapes.push(made);
    return made;
  }
}

/** Unambiguous: a text stands with its length. */
function part(text: string | undefined): string {
  return text === undefined ? '-' : ` ${text.length} ${text}`;
}

function isMore({ offset, traceId, spanId, event }: ReceiptRow['at']): boolean {
  return offset !== undefined || traceId !== undefined || spanId !== undefined || event !== undefined;
}

/** Whether the receipt names both the call and the operation. */
export function namesBoth(shape: ReceiptShape): boolean {
  return (shape.has & ((1 << IDS) - 1)) === (1 << IDS) - 1;
}
