-- The tool calls of the table that clickhouse.yaml fills, as OTLP JSON Lines for the auditor:
--
--   clickhouse-client --database otel --param_from '2026-12-01 00:00:00' --param_to '2026-12-02 00:00:00' \
--     --queries-file otel-traces.sql | npx waybill audit -
--
-- The table holds every attribute as text; the auditor knows which of them are numbers and lists. A row that was
-- delivered twice is the same text and comes once.
SELECT DISTINCT concat(
  '{"resourceSpans":[{"resource":{"attributes":[',
  arrayStringConcat(arrayMap((k, v) -> concat('{"key":', toJSONString(k), ',"value":{"stringValue":', toJSONString(v), '}}'), mapKeys(ResourceAttributes), mapValues(ResourceAttributes)), ','),
  ']},"scopeSpans":[{"scope":{"name":', toJSONString(ScopeName), '},"spans":[{"traceId":"', TraceId,
  '","spanId":"', SpanId, '","parentSpanId":"', ParentSpanId, '","traceState":', toJSONString(TraceState),
  ',"name":', toJSONString(toString(SpanName)),
  ',"kind":', toString(transform(toString(SpanKind), ['Internal', 'Server', 'Client', 'Producer', 'Consumer'], [1, 2, 3, 4, 5], 0)),
  ',"startTimeUnixNano":"', toString(toUnixTimestamp64Nano(Timestamp)),
  '","endTimeUnixNano":"', toString(toUnixTimestamp64Nano(Timestamp) + toInt64(Duration)),
  '","attributes":[',
  arrayStringConcat(arrayMap((k, v) -> concat('{"key":', toJSONString(k), ',"value":{"stringValue":', toJSONString(v), '}}'), mapKeys(SpanAttributes), mapValues(SpanAttributes)), ','),
  '],"events":[',
  arrayStringConcat(arrayMap((t, n, a) -> concat(
    '{"timeUnixNano":"', toString(toUnixTimestamp64Nano(t)), '","name":', toJSONString(toString(n)), ',"attributes":[',
    arrayStringConcat(arrayMap((k, v) -> concat('{"key":', toJSONString(k), ',"value":{"stringValue":', toJSONString(v), '}}'), mapKeys(a), mapValues(a)), ','),
    ']}'), `Events.Timestamp`, `Events.Name`, `Events.Attributes`), ','),
  '],"links":[',
  arrayStringConcat(arrayMap((t, s) -> concat('{"traceId":"', t, '","spanId":"', s, '"}'), `Links.TraceId`, `Links.SpanId`), ','),
  '],"status":{"code":', toString(transform(toString(StatusCode), ['Ok', 'Error'], [1, 2], 0)), '}}]}]}]}'
)
FROM otel_traces
WHERE Timestamp >= {from:DateTime64(9)} AND Timestamp < {to:DateTime64(9)}
  AND (mapContains(SpanAttributes, 'mcp.method.name') OR mapContains(SpanAttributes, 'waybill.call.id'))
FORMAT TSVRaw
