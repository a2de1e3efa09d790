/** A look into a span that stays bytes: enough to know whether it is worth decoding. */

/** A span as bytes, with what was decoded before it. Valid only during the call. */
export interface RawSpan {
  /**
   * The `resource` and `scope` objects of OTLP JSON; undefined where the message has none, or only later, as the Collector
   * 0.161 writes it.
   */
  readonly resource: unknown;
  readonly scope: unknown;
  name(): string;
  hasKey(test: (key: string) => boolean): boolean;
}

const NAME = 5;
const ATTRIBUTES = 9;
const KEY = 1;
const WIDTHS: Readonly<Record<number, number>> = { 1: 8, 5: 4 };

/** @param start first byte of the fields of the span, `stop` the byte behind them */
export function rawSpan(
  bytes: Buffer,
  start: number,
  stop: number,
  resource: unknown,
  scope: unknown,
): RawSpan {
  return {
    resource,
    scope,
    name() {
      let name = '';
      eachField(bytes, start, stop, (number, from, to) => {
        if (number === NAME) name = bytes.toString('utf8', from, to);
        return number === NAME;
      });
      return name;
    },
    hasKey(test) {
      return eachField(bytes, start, stop, (number, from, to) => {
        if (number !== ATTRIBUTES) return false;
        // Fields come in any order: the Collector 0.161 writes the highest number first.
        return eachField(
          bytes,
          from,
          to,
          (member, start, stop) => member === KEY && test(bytes.toString('utf8', start, stop)),
        );
      });
    },
  };
}

/**
 * Visits the length-delimited fields until `visit` answers true. Damaged bytes end the visit with true as well: what
 * cannot be passed over must be decoded, to be named.
 */
function eachField(
  bytes: Buffer,
  start: number,
  stop: number,
  visit: (number: number, from: number, to: number) => boolean,
): boolean {
  let at = start;
  while (at < stop) {
    const tag = varint(bytes, at, stop);
    if (tag === undefined) return true;
    at = tag.next;
    const wireType = tag.value & 7;
    const width = WIDTHS[wireType];
    if (width !== undefined) at += width;
    else {
      const value = varint(bytes, at, stop);
      if (value === undefined || (wireType !== 0 && wireType !== 2)) return true;
      at = value.next;
      if (wireType === 2) {
        const to = at + value.value;
        if (to > stop) return true;
        if (visit(tag.value >>> 3, at, to)) return true;
        at = to;
      }
    }
    if (at > stop) return true;
  }
  return false;
}

function varint(bytes: Buffer, at: number, stop: number): { value: number; next: number } | undefined {
  let value = 0;
  for (let index = 0; index < 10; index += 1) {
    const byte = at + index < stop ? bytes[at + index] : undefined;
    if (byte === undefined) return undefined;
    if (index < 5) value += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return { value, next: at + index + 1 };
  }
  return undefined;
}
