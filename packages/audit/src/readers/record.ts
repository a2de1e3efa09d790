/** Says what a parsed record is, by its members, and hands it to the reader of that format. */
import { isObject, type Json, type JsonObject } from './exact-json.js';
import { readJaegerAnswer, readJaegerBatch, readJaegerTrace } from './jaeger.js';
import { BARE, readResourceLogs, readResourceSpans, readSpan } from './otlp.js';
import type { Reading } from './reading.js';
import { isSdkLog, isSdkSpan, readSdkLog, readSdkSpan } from './sdk-objects.js';
import { isZipkinSpan, readZipkinSpan } from './zipkin.js';

/** Wrappers in wrappers (`{result: {trace: …}}`) end here. */
const MAX_WRAPPERS = 4;

/** Reads one record; answers false, having said nothing, when it is of no known format. */
export function readRecord(root: Json, reading: Reading, wrappers = 0): boolean {
  if (!isObject(root)) return false;
  const spans = root['resourceSpans'] ?? root['resource_spans'] ?? root['batches'] ?? root['ResourceSpans'];
  const logs = root['resourceLogs'] ?? root['resource_logs'];
  const metrics = root['resourceMetrics'] ?? root['resource_metrics'];
  if (Array.isArray(spans) || Array.isArray(logs) || Array.isArray(metrics)) {
    named(reading, 'otlp');
    if (spans !== undefined) readResourceSpans(spans, reading);
    if (logs !== undefined) readResourceLogs(logs, reading);
    return true;
  }
  if (Array.isArray(root['data'])) return readJaegerData(root, root['data'], reading);
  if (Array.isArray(root['spans'])) return readSpanList(root, root['spans'], reading);
  if (wrappers < MAX_WRAPPERS) {
    const inner = root['trace'] ?? root['result'];
    if (isObject(inner) && readRecord(inner, reading, wrappers + 1)) {
      readStatusOfAnswer(root, reading);
      return true;
    }
    if (root['trace'] !== undefined && isAnswer(root)) {
      named(reading, 'otlp');
      readStatusOfAnswer(root, reading);
      return true;
    }
  }
  if (isScopeSpans(root)) {
    named(reading, 'otlp');
    readResourceSpans([root], reading);
    return true;
  }
  if (isSdkSpan(root)) {
    named(reading, 'sdk');
    readSdkSpan(root, reading);
    return true;
  }
  if (isSdkLog(root)) {
    named(reading, 'sdk');
    readSdkLog(root, reading);
    return true;
  }
  // Metrics of the same file.
  if (Array.isArray(root['scopeMetrics'])) return true;
  if (isZipkinSpan(root)) {
    named(reading, 'zipkin');
    readZipkinSpan(root, reading);
    return true;
  }
  if (isBareSpan(root)) {
    named(reading, 'otlp');
    readSpan(root, BARE.resource, BARE.scope, reading, false);
    return true;
  }
  return false;
}

function named(reading: Reading, format: string): void {
  if (reading.format === '') reading.format = format;
}

function readJaegerData(root: JsonObject, data: readonly unknown[], reading: Reading): boolean {
  const foreign = data.some((trace) => isObject(trace) && !Array.isArray(trace['spans']));
  if (foreign && !data.some((trace) => isObject(trace) && Array.isArray(trace['spans']))) return false;
  if (data.length === 0 && !('errors' in root) && !('total' in root)) return false;
  named(reading, 'jaeger');
  readJaegerAnswer(root, reading);
  return true;
}

function readSpanList(root: JsonObject, spans: readonly unknown[], reading: Reading): boolean {
  const first = spans.find(isObject);
  if (isObject(root['process']) || first?.['operation_name'] !== undefined) {
    named(reading, 'jaeger');
    readJaegerBatch(root, reading);
    return true;
  }
  if (isObject(root['processes']) || first?.['operationName'] !== undefined) {
    named(reading, 'jaeger');
    readJaegerTrace(root, reading);
    return true;
  }
  if (first === undefined && root['scope'] === undefined) return false;
  named(reading, 'otlp');
  readResourceSpans([{ scopeSpans: [root] }], reading);
  return true;
}

/** One entry of `resourceSpans` on its own. */
function isScopeSpans(root: JsonObject): boolean {
  return (
    Array.isArray(root['scopeSpans']) ||
    Array.isArray(root['scope_spans']) ||
    Array.isArray(root['instrumentationLibrarySpans'])
  );
}

/** A span needs a name, and something that only spans have. */
function isBareSpan(root: JsonObject): boolean {
  if (typeof root['name'] !== 'string') return false;
  const hasId = (root['spanId'] ?? root['span_id']) !== undefined;
  const hasTime = (root['startTimeUnixNano'] ?? root['start_time_unix_nano']) !== undefined;
  return hasId || hasTime || (root['kind'] !== undefined && root['attributes'] !== undefined);
}

function isAnswer(root: JsonObject): boolean {
  return root['status'] !== undefined && (root['trace'] === null || isEmptyObject(root['trace']));
}

function isEmptyObject(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length === 0;
}

/** Tempo (API v2) says in the answer itself that it left spans out; the enum is written by name or number. */
function readStatusOfAnswer(root: JsonObject, reading: Reading): void {
  const { status } = root;
  if (status !== 'PARTIAL' && status !== 1) return;
  const message = typeof root['message'] === 'string' && root['message'] !== '' ? `: ${root['message']}` : '';
  reading.gap('partial_answer', `the backend answered with a part of the trace only${message}`);
}

/** What is wrong with a record of no known format, and what to do. */
export function explainForeign(root: Json): { readonly reason: string; readonly remedy: string } {
  if (!isObject(root)) {
    return {
      reason: 'a JSON value that is no object',
      remedy: 'give OTLP JSON, JSON Lines, OTLP protobuf, or an export of Jaeger, Tempo or Zipkin',
    };
  }
  if (Array.isArray(root['observations'])) {
    return {
      reason: 'an export of Langfuse, which holds no MCP spans',
      remedy:
        'send the application\'s spans by OTLP to "waybill serve" or a Collector file as well, and audit that',
    };
  }
  if (root['operation_id'] !== undefined || root['operationId'] !== undefined) {
    return {
      reason: 'a receipt or target record, not a trace',
      remedy: 'give this file with --receipts, --targets or --outbox',
    };
  }
  const keys = Object.keys(root);
  const shown = keys.slice(0, 5).map((key) => (key.length > 30 ? `${key.slice(0, 30)}…` : key));
  return {
    reason: `JSON of no trace format known here (members: ${shown.join(', ')}${keys.length > 5 ? ', …' : ''})`,
    remedy: 'export the trace as OTLP JSON or from Jaeger, Tempo or Zipkin',
  };
}
