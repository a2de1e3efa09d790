import { expect, test } from 'vitest';
import { readLoss } from './loss.js';

const read = (text: string): ReturnType<typeof readLoss> => readLoss({ path: 'loss', text }, 'loss');
const sums = (service: string, name: string, ...values: readonly number[]): string =>
  JSON.stringify({
    resourceMetrics: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: service } }] },
        scopeMetrics: [
          { metrics: [{ name, sum: { dataPoints: values.map((value) => ({ asInt: String(value) })) } }] },
        ],
      },
    ],
  });

test.each([
  [
    'a member for each counter',
    '{"otelcol_exporter_enqueue_failed_spans":12}',
    'otelcol_exporter_enqueue_failed_spans',
    12,
  ],
  [
    'one counter by name',
    '{"metric":"otelcol_exporter_send_failed_spans","value":3}',
    'otelcol_exporter_send_failed_spans',
    3,
  ],
  [
    'Prometheus text',
    'otelcol_processor_refused_spans_total{processor="memory_limiter"} 7',
    'otelcol_processor_refused_spans_total',
    7,
  ],
  [
    'OTLP of a Collector',
    sums('otelcol-contrib', 'otelcol_exporter_send_failed_spans', 4, 5),
    'otelcol_exporter_send_failed_spans',
    9,
  ],
])('%s', (_, text, metric, count) => {
  const { rows, damaged } = read(text);
  expect(rows).toEqual([expect.objectContaining({ metric, count, service: undefined })]);
  expect(damaged).toEqual([]);
});

test('an SDK loses its own spans, and of exports that come again the last one stands', () => {
  const name = 'otel.sdk.processor.span.dropped_spans';
  const { rows } = read([2, 2, 6].map((value) => sums('agent', name, value)).join('\n'));
  expect(rows).toEqual([expect.objectContaining({ metric: name, count: 6, service: 'agent' })]);
});

test.each([
  ['nothing lost', '{"otelcol_exporter_send_failed_spans":0}', 0],
  ['what was sent', sums('otelcol', 'otelcol_exporter_sent_spans', 10), 0],
  ['no counter', '{"operation_id":"a"}', 1],
  ['no JSON', '{"a":', 1],
  ['damaged OTLP', '{"resourceMetrics":[null,{"scopeMetrics":[{"metrics":[7]}]}]}', 0],
])('%s is no loss', (_, text, damages) => {
  const { rows, damaged } = read(text);
  expect(rows).toEqual([]);
  expect(damaged).toHaveLength(damages);
});
