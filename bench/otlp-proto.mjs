// OTLP JSON of traces as OTLP protobuf (opentelemetry-proto 1.11), with the framing of the Collector's file exporter:
// each message behind its length, four bytes, big-endian. Written apart from the auditor's reader, so that one mistake
// is not made twice.
//
//   node bench/otlp-proto.mjs traces.jsonl traces.binpb        streamed: one line in memory
import { closeSync, createReadStream, openSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

/** Bytes written from the end of a buffer to its front, so that a length is known when it is due. */
class Backwards {
  #bytes = Buffer.allocUnsafe(1 << 16);
  #at = this.#bytes.length;

  get length() {
    return this.#bytes.length - this.#at;
  }

  #room(bytes) {
    if (this.#at >= bytes) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.length + bytes));
    this.#bytes.copy(grown, grown.length - this.length, this.#at);
    this.#at = grown.length - this.length;
    this.#bytes = grown;
  }

  varint(value) {
    const bytes = [];
    let left = BigInt.asUintN(64, BigInt(value));
    do {
      const low = Number(left & 0x7fn);
      left >>= 7n;
      bytes.push(left === 0n ? low : low | 0x80);
    } while (left !== 0n);
    this.#room(bytes.length);
    this.#at -= bytes.length;
    this.#bytes.set(bytes, this.#at);
  }

  raw(buffer) {
    this.#room(buffer.length);
    this.#at -= buffer.length;
    buffer.copy(this.#bytes, this.#at);
  }

  fixed64(value) {
    this.#room(8);
    this.#at -= 8;
    this.#bytes.writeBigUInt64LE(BigInt(value), this.#at);
  }

  fixed32(value) {
    this.#room(4);
    this.#at -= 4;
    this.#bytes.writeUInt32LE(value, this.#at);
  }

  double(value) {
    this.#room(8);
    this.#at -= 8;
    this.#bytes.writeDoubleLE(value, this.#at);
  }

  /** The bytes, which are overwritten by what comes next. */
  take() {
    const taken = this.#bytes.subarray(this.#at);
    this.#at = this.#bytes.length;
    return taken;
  }
}

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

const tag = (out, number, type) => out.varint((number << 3) | type);

function text(out, number, value) {
  if (value === undefined || value === '') return;
  const bytes = Buffer.from(value, 'utf8');
  out.raw(bytes);
  out.varint(bytes.length);
  tag(out, number, BYTES);
}

function id(out, number, value) {
  if (value === undefined || value === '') return;
  const bytes = Buffer.from(value, 'hex');
  out.raw(bytes);
  out.varint(bytes.length);
  tag(out, number, BYTES);
}

function integer(out, number, value) {
  if (value === undefined || value === 0) return;
  out.varint(value);
  tag(out, number, VARINT);
}

function time(out, number, value) {
  if (value === undefined) return;
  out.fixed64(value);
  tag(out, number, FIXED64);
}

function message(out, number, value, write) {
  if (value === undefined) return;
  const before = out.length;
  write(out, value);
  out.varint(out.length - before);
  tag(out, number, BYTES);
}

function each(out, number, list, write) {
  for (let index = (list ?? []).length - 1; index >= 0; index -= 1) message(out, number, list[index], write);
}

function anyValue(out, value) {
  if (value.stringValue !== undefined) {
    const bytes = Buffer.from(value.stringValue, 'utf8');
    out.raw(bytes);
    out.varint(bytes.length);
    tag(out, 1, BYTES);
  } else if (value.boolValue !== undefined) {
    out.varint(value.boolValue ? 1 : 0);
    tag(out, 2, VARINT);
  } else if (value.intValue !== undefined) {
    out.varint(value.intValue);
    tag(out, 3, VARINT);
  } else if (value.doubleValue !== undefined) {
    out.double(value.doubleValue);
    tag(out, 4, FIXED64);
  } else if (value.arrayValue !== undefined) {
    message(out, 5, value.arrayValue, (inner, list) => each(inner, 1, list.values, anyValue));
  } else if (value.kvlistValue !== undefined) {
    message(out, 6, value.kvlistValue, (inner, list) => each(inner, 1, list.values, keyValue));
  } else if (Object.keys(value).length > 0) throw new Error(`no value of OTLP: ${JSON.stringify(value)}`);
}

// Fields are written last to first: the buffer grows to its front.
function keyValue(out, { key, value }) {
  message(out, 2, value, anyValue);
  text(out, 1, key);
}

function event(out, { timeUnixNano, name, attributes, droppedAttributesCount }) {
  integer(out, 4, droppedAttributesCount);
  each(out, 3, attributes, keyValue);
  text(out, 2, name);
  time(out, 1, timeUnixNano);
}

function link(out, { traceId, spanId, traceState, attributes, droppedAttributesCount }) {
  integer(out, 5, droppedAttributesCount);
  each(out, 4, attributes, keyValue);
  text(out, 3, traceState);
  id(out, 2, spanId);
  id(out, 1, traceId);
}

function status(out, { code, message: told }) {
  integer(out, 3, code);
  text(out, 2, told);
}

function span(out, one) {
  if (one.flags !== undefined) {
    out.fixed32(one.flags);
    tag(out, 16, FIXED32);
  }
  message(out, 15, one.status, status);
  integer(out, 14, one.droppedLinksCount);
  each(out, 13, one.links, link);
  integer(out, 12, one.droppedEventsCount);
  each(out, 11, one.events, event);
  integer(out, 10, one.droppedAttributesCount);
  each(out, 9, one.attributes, keyValue);
  time(out, 8, one.endTimeUnixNano);
  time(out, 7, one.startTimeUnixNano);
  integer(out, 6, one.kind);
  text(out, 5, one.name);
  id(out, 4, one.parentSpanId);
  text(out, 3, one.traceState);
  id(out, 2, one.spanId);
  id(out, 1, one.traceId);
}

function scope(out, { name, version, attributes }) {
  each(out, 3, attributes, keyValue);
  text(out, 2, version);
  text(out, 1, name);
}

function scopeSpans(out, one) {
  text(out, 3, one.schemaUrl);
  each(out, 2, one.spans, span);
  message(out, 1, one.scope, scope);
}

function resourceSpans(out, one) {
  text(out, 3, one.schemaUrl);
  each(out, 2, one.scopeSpans, scopeSpans);
  message(out, 1, one.resource, (inner, { attributes }) => each(inner, 1, attributes, keyValue));
}

const shared = new Backwards();

/** One export request (`{ resourceSpans: [...] }`) as protobuf behind its length. */
export function framed(request) {
  each(shared, 1, request.resourceSpans, resourceSpans);
  const body = shared.take();
  const bytes = Buffer.allocUnsafe(4 + body.length);
  bytes.writeUInt32BE(body.length, 0);
  body.copy(bytes, 4);
  return bytes;
}

/** Rewrites a file of OTLP JSON Lines. */
export async function convert(from, to) {
  const file = openSync(to, 'w');
  try {
    for await (const line of createInterface({
      input: createReadStream(from, 'utf8'),
      crlfDelay: Infinity,
    })) {
      if (line !== '') writeSync(file, framed(JSON.parse(line)));
    }
  } finally {
    closeSync(file);
  }
}

const [, self, from, to] = process.argv;
if (self !== undefined && import.meta.url === pathToFileURL(self).href) {
  if (from === undefined || to === undefined) throw new Error('usage: node bench/otlp-proto.mjs FROM TO');
  await convert(from, to);
}
