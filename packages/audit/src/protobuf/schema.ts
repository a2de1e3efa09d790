/**
 * The messages of opentelemetry-proto 1.11 as data: field number -> JSON name and type. One table serves the readers
 * and the receiver. Names are those of the OTLP JSON encoding (lowerCamelCase).
 */
export type ScalarType =
  | 'string'
  | 'bytes'
  /** Bytes that OTLP JSON writes as hex: trace and span ids. */
  | 'id'
  | 'bool'
  | 'double'
  | 'uint32'
  | 'sint32'
  | 'enum'
  | 'fixed32'
  | 'int64'
  | 'uint64'
  | 'fixed64'
  | 'sfixed64';

export interface Field {
  readonly name: string;
  readonly type: ScalarType | (() => Message);
  readonly repeated: boolean;
}

/** Fields by their number. */
export type Message = readonly (Field | undefined)[];

type Row = readonly [number: number, name: string, type: ScalarType | (() => Message), repeated?: 'repeated'];

function message(...rows: readonly Row[]): Message {
  const fields: (Field | undefined)[] = [];
  for (const [number, name, type, repeated] of rows) {
    while (fields.length <= number) fields.push(undefined);
    fields[number] = { name, type, repeated: repeated !== undefined };
  }
  return fields;
}

const anyValue: Message = message(
  [1, 'stringValue', 'string'],
  [2, 'boolValue', 'bool'],
  [3, 'intValue', 'int64'],
  [4, 'doubleValue', 'double'],
  [5, 'arrayValue', () => values],
  [6, 'kvlistValue', () => pairs],
  [7, 'bytesValue', 'bytes'],
);
const values: Message = message([1, 'values', () => anyValue, 'repeated']);
const keyValue: Message = message([1, 'key', 'string'], [2, 'value', () => anyValue]);
const pairs: Message = message([1, 'values', () => keyValue, 'repeated']);

const entityRef: Message = message(
  [1, 'schemaUrl', 'string'],
  [2, 'type', 'string'],
  [3, 'idKeys', 'string', 'repeated'],
  [4, 'descriptionKeys', 'string', 'repeated'],
);
const resource: Message = message(
  [1, 'attributes', () => keyValue, 'repeated'],
  [2, 'droppedAttributesCount', 'uint32'],
  [3, 'entityRefs', () => entityRef, 'repeated'],
);
const scope: Message = message(
  [1, 'name', 'string'],
  [2, 'version', 'string'],
  [3, 'attributes', () => keyValue, 'repeated'],
  [4, 'droppedAttributesCount', 'uint32'],
);

const event: Message = message(
  [1, 'timeUnixNano', 'fixed64'],
  [2, 'name', 'string'],
  [3, 'attributes', () => keyValue, 'repeated'],
  [4, 'droppedAttributesCount', 'uint32'],
);
const link: Message = message(
  [1, 'traceId', 'id'],
  [2, 'spanId', 'id'],
  [3, 'traceState', 'string'],
  [4, 'attributes', () => keyValue, 'repeated'],
  [5, 'droppedAttributesCount', 'uint32'],
  [6, 'flags', 'fixed32'],
);
const status: Message = message([2, 'message', 'string'], [3, 'code', 'enum']);
const span: Message = message(
  [1, 'traceId', 'id'],
  [2, 'spanId', 'id'],
  [3, 'traceState', 'string'],
  [4, 'parentSpanId', 'id'],
  [5, 'name', 'string'],
  [6, 'kind', 'enum'],
  [7, 'startTimeUnixNano', 'fixed64'],
  [8, 'endTimeUnixNano', 'fixed64'],
  [9, 'attributes', () => keyValue, 'repeated'],
  [10, 'droppedAttributesCount', 'uint32'],
  [11, 'events', () => event, 'repeated'],
  [12, 'droppedEventsCount', 'uint32'],
  [13, 'links', () => link, 'repeated'],
  [14, 'droppedLinksCount', 'uint32'],
  [15, 'status', () => status],
  [16, 'flags', 'fixed32'],
);
const scopeSpans: Message = message(
  [1, 'scope', () => scope],
  [2, 'spans', () => span, 'repeated'],
  [3, 'schemaUrl', 'string'],
);
const resourceSpans: Message = message(
  [1, 'resource', () => resource],
  [2, 'scopeSpans', () => scopeSpans, 'repeated'],
  [3, 'schemaUrl', 'string'],
);

const logRecord: Message = message(
  [1, 'timeUnixNano', 'fixed64'],
  [2, 'severityNumber', 'enum'],
  [3, 'severityText', 'string'],
  [5, 'body', () => anyValue],
  [6, 'attributes', () => keyValue, 'repeated'],
  [7, 'droppedAttributesCount', 'uint32'],
  [8, 'flags', 'fixed32'],
  [9, 'traceId', 'id'],
  [10, 'spanId', 'id'],
  [11, 'observedTimeUnixNano', 'fixed64'],
  [12, 'eventName', 'string'],
);
const scopeLogs: Message = message(
  [1, 'scope', () => scope],
  [2, 'logRecords', () => logRecord, 'repeated'],
  [3, 'schemaUrl', 'string'],
);
const resourceLogs: Message = message(
  [1, 'resource', () => resource],
  [2, 'scopeLogs', () => scopeLogs, 'repeated'],
  [3, 'schemaUrl', 'string'],
);

const exemplar: Message = message(
  [2, 'timeUnixNano', 'fixed64'],
  [3, 'asDouble', 'double'],
  [4, 'spanId', 'id'],
  [5, 'traceId', 'id'],
  [6, 'asInt', 'sfixed64'],
  [7, 'filteredAttributes', () => keyValue, 'repeated'],
);
const numberPoint: Message = message(
  [2, 'startTimeUnixNano', 'fixed64'],
  [3, 'timeUnixNano', 'fixed64'],
  [4, 'asDouble', 'double'],
  [5, 'exemplars', () => exemplar, 'repeated'],
  [6, 'asInt', 'sfixed64'],
  [7, 'attributes', () => keyValue, 'repeated'],
  [8, 'flags', 'uint32'],
);
const histogramPoint: Message = message(
  [2, 'startTimeUnixNano', 'fixed64'],
  [3, 'timeUnixNano', 'fixed64'],
  [4, 'count', 'fixed64'],
  [5, 'sum', 'double'],
  [6, 'bucketCounts', 'fixed64', 'repeated'],
  [7, 'explicitBounds', 'double', 'repeated'],
  [8, 'exemplars', () => exemplar, 'repeated'],
  [9, 'attributes', () => keyValue, 'repeated'],
  [10, 'flags', 'uint32'],
  [11, 'min', 'double'],
  [12, 'max', 'double'],
);
const buckets: Message = message([1, 'offset', 'sint32'], [2, 'bucketCounts', 'uint64', 'repeated']);
const exponentialPoint: Message = message(
  [1, 'attributes', () => keyValue, 'repeated'],
  [2, 'startTimeUnixNano', 'fixed64'],
  [3, 'timeUnixNano', 'fixed64'],
  [4, 'count', 'fixed64'],
  [5, 'sum', 'double'],
  [6, 'scale', 'sint32'],
  [7, 'zeroCount', 'fixed64'],
  [8, 'positive', () => buckets],
  [9, 'negative', () => buckets],
  [10, 'flags', 'uint32'],
  [11, 'exemplars', () => exemplar, 'repeated'],
  [12, 'min', 'double'],
  [13, 'max', 'double'],
  [14, 'zeroThreshold', 'double'],
);
const quantile: Message = message([1, 'quantile', 'double'], [2, 'value', 'double']);
const summaryPoint: Message = message(
  [2, 'startTimeUnixNano', 'fixed64'],
  [3, 'timeUnixNano', 'fixed64'],
  [4, 'count', 'fixed64'],
  [5, 'sum', 'double'],
  [6, 'quantileValues', () => quantile, 'repeated'],
  [7, 'attributes', () => keyValue, 'repeated'],
  [8, 'flags', 'uint32'],
);
const gauge: Message = message([1, 'dataPoints', () => numberPoint, 'repeated']);
const sum: Message = message(
  [1, 'dataPoints', () => numberPoint, 'repeated'],
  [2, 'aggregationTemporality', 'enum'],
  [3, 'isMonotonic', 'bool'],
);
const histogram: Message = message(
  [1, 'dataPoints', () => histogramPoint, 'repeated'],
  [2, 'aggregationTemporality', 'enum'],
);
const exponentialHistogram: Message = message(
  [1, 'dataPoints', () => exponentialPoint, 'repeated'],
  [2, 'aggregationTemporality', 'enum'],
);
const summary: Message = message([1, 'dataPoints', () => summaryPoint, 'repeated']);
const metric: Message = message(
  [1, 'name', 'string'],
  [2, 'description', 'string'],
  [3, 'unit', 'string'],
  [5, 'gauge', () => gauge],
  [7, 'sum', () => sum],
  [9, 'histogram', () => histogram],
  [10, 'exponentialHistogram', () => exponentialHistogram],
  [11, 'summary', () => summary],
  [12, 'metadata', () => keyValue, 'repeated'],
);
const scopeMetrics: Message = message(
  [1, 'scope', () => scope],
  [2, 'metrics', () => metric, 'repeated'],
  [3, 'schemaUrl', 'string'],
);
const resourceMetrics: Message = message(
  [1, 'resource', () => resource],
  [2, 'scopeMetrics', () => scopeMetrics, 'repeated'],
  [3, 'schemaUrl', 'string'],
);

/** `ExportTraceServiceRequest`, the same as `TracesData`; and so for logs and metrics. */
export const TRACES: Message = message([1, 'resourceSpans', () => resourceSpans, 'repeated']);
export const LOGS: Message = message([1, 'resourceLogs', () => resourceLogs, 'repeated']);
export const METRICS: Message = message([1, 'resourceMetrics', () => resourceMetrics, 'repeated']);

/** Answer of Tempo's `GET /api/v2/traces/{id}` (tempopb.TraceByIDResponse); its field 2 is statistics. */
export const TEMPO_TRACE_BY_ID: Message = message(
  [1, 'trace', () => TRACES],
  [3, 'status', 'enum'],
  [4, 'message', 'string'],
);
