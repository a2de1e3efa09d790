import { randomBytes } from 'node:crypto';

export type Value = string | number | boolean | readonly string[] | { readonly [key: string]: string };
export type Attributes = Readonly<Record<string, Value>>;

interface KeyValue {
  readonly key: string;
  readonly value: object;
}

function anyValue(value: Value): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number') return { intValue: String(value) };
  if (Array.isArray(value)) return { arrayValue: { values: value.map((item: string) => anyValue(item)) } };
  return { kvlistValue: { values: keyValues(value as Attributes) } };
}

function keyValues(attributes: Attributes = {}): readonly KeyValue[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }));
}

export interface SpanInput {
  readonly traceId?: string;
  readonly spanId?: string;
  readonly parentSpanId?: string;
  readonly name?: string;
  readonly kind?: 'internal' | 'server' | 'client';
  readonly attributes?: Attributes;
  readonly events?: readonly { readonly name: string; readonly attributes?: Attributes }[];
  readonly links?: readonly { readonly attributes?: Attributes }[];
  readonly status?: { readonly code?: 0 | 1 | 2; readonly message?: string };
  readonly traceState?: string;
}

const kinds = { internal: 1, server: 2, client: 3 } as const;
export const traceId = (): string => randomBytes(16).toString('hex');
export const spanId = (): string => randomBytes(8).toString('hex');

/** A span of OTLP JSON; times are now, ids are random where none is given. */
export function span(input: SpanInput): object {
  const now = BigInt(Date.now()) * 1_000_000n;
  return {
    traceId: input.traceId ?? traceId(),
    spanId: input.spanId ?? spanId(),
    ...(input.parentSpanId === undefined ? {} : { parentSpanId: input.parentSpanId }),
    ...(input.traceState === undefined ? {} : { traceState: input.traceState }),
    name: input.name ?? 'tools/call set_status',
    kind: kinds[input.kind ?? 'client'],
    startTimeUnixNano: String(now),
    endTimeUnixNano: String(now + 5_000_000n),
    attributes: keyValues(input.attributes),
    events: (input.events ?? []).map((event) => ({
      timeUnixNano: String(now + 1_000_000n),
      name: event.name,
      attributes: keyValues(event.attributes),
    })),
    links: (input.links ?? []).map((link) => ({
      traceId: traceId(),
      spanId: spanId(),
      attributes: keyValues(link.attributes),
    })),
    status: { ...input.status },
  };
}

export interface Source {
  readonly service?: string;
  readonly scope?: string;
  readonly resource?: Attributes;
  readonly scopeAttributes?: Attributes;
}

const resourceOf = (source: Source): object => ({
  attributes: keyValues({ 'service.name': source.service ?? 'agent', ...source.resource }),
});
const scopeOf = (source: Source): object => ({
  name: source.scope ?? '@waybill/instrumentation-mcp',
  attributes: keyValues(source.scopeAttributes),
});

export function traces(source: Source, spans: readonly object[]): object {
  return {
    resourceSpans: [{ resource: resourceOf(source), scopeSpans: [{ scope: scopeOf(source), spans }] }],
  };
}

export interface LogInput {
  readonly eventName?: string;
  readonly body?: Value;
  readonly attributes?: Attributes;
  readonly severityText?: string;
}

export function logs(source: Source, records: readonly LogInput[]): object {
  const now = String(BigInt(Date.now()) * 1_000_000n);
  return {
    resourceLogs: [
      {
        resource: resourceOf(source),
        scopeLogs: [
          {
            scope: scopeOf(source),
            logRecords: records.map((record) => ({
              timeUnixNano: now,
              traceId: traceId(),
              spanId: spanId(),
              eventName: record.eventName ?? '',
              severityText: record.severityText ?? '',
              ...(record.body === undefined ? {} : { body: anyValue(record.body) }),
              attributes: keyValues(record.attributes),
            })),
          },
        ],
      },
    ],
  };
}

/** Posts one OTLP JSON request; the status, or the error of the connection. */
export async function post(
  port: number,
  signal: 'traces' | 'logs',
  body: object,
  timeoutMs = 30_000,
): Promise<number | 'no answer'> {
  try {
    const response = await fetch(`http://127.0.0.1:${String(port)}/v1/${signal}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 'no answer';
  }
}

/** Span ids of an OTLP request in protobuf: ResourceSpans 1, ScopeSpans 2, Span 2, span_id 2. */
export function spanIdsOf(request: Uint8Array): readonly string[] {
  const ids: string[] = [];
  for (const resourceSpans of fields(request, 1)) {
    for (const scopeSpans of fields(resourceSpans, 2)) {
      for (const one of fields(scopeSpans, 2)) {
        for (const id of fields(one, 2)) ids.push(Buffer.from(id).toString('hex'));
      }
    }
  }
  return ids;
}

/** The length-delimited fields of that number in a protobuf message. */
function* fields(message: Uint8Array, wanted: number): Generator<Uint8Array> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    let shift = 1;
    for (;;) {
      const byte = message[at] ?? 0;
      at += 1;
      value += (byte & 0x7f) * shift;
      if (byte < 0x80) return value;
      shift *= 128;
    }
  };
  while (at < message.length) {
    const tag = varint();
    switch (tag % 8) {
      case 0:
        varint();
        break;
      case 1:
        at += 8;
        break;
      case 5:
        at += 4;
        break;
      case 2: {
        const length = varint();
        if (Math.floor(tag / 8) === wanted) yield message.subarray(at, at + length);
        at += length;
        break;
      }
      default:
        throw new Error(`wire type ${String(tag % 8)} at byte ${String(at)}`);
    }
  }
}

/** Spans in the lines of a file that the Collector's file exporter wrote. */
export function* spansOfLines(text: string): Generator<ExportedSpan> {
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const document = JSON.parse(line) as ExportedTraces;
    for (const { scopeSpans } of document.resourceSpans ?? []) {
      for (const { spans } of scopeSpans ?? []) yield* spans ?? [];
    }
  }
}

export interface ExportedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly name: string;
  readonly traceState?: string;
  readonly attributes?: readonly {
    readonly key: string;
    readonly value: Readonly<Record<string, unknown>>;
  }[];
  readonly status?: { readonly message?: string; readonly code?: number };
  readonly events?: readonly { readonly name: string; readonly attributes?: ExportedSpan['attributes'] }[];
}
interface ExportedTraces {
  readonly resourceSpans?: readonly {
    readonly scopeSpans?: readonly { readonly spans?: readonly ExportedSpan[] }[];
  }[];
}

/** An attribute of an exported span in plain form. */
export function attributeOf(of: Pick<ExportedSpan, 'attributes'>, key: string): unknown {
  const value = of.attributes?.find((attribute) => attribute.key === key)?.value;
  return value === undefined ? undefined : Object.values(value)[0];
}
