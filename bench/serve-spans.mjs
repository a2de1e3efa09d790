// OTLP protobuf bodies for bench/serve.mjs, encoded as an exporter does.
import { ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';

const PER_BODY = 512;

/**
 * Calls with both sides (40 % of the spans) among spans of other work.
 *
 * @param {number} count spans, rounded to whole bodies
 * @param {string} name prefix of operation ids, so that no two sets share one
 */
export function bodies(count, name) {
  const list = [];
  let spans = [];
  let calls = 0;
  let number = 0;
  const provider = new BasicTracerProvider({
    spanProcessors: [
      {
        onStart() {},
        onEnd: (span) => spans.push(span),
        forceFlush: async () => {},
        shutdown: async () => {},
      },
    ],
  });
  const tracer = provider.getTracer('bench');
  const bodyCount = Math.round(count / PER_BODY);
  for (let body = 0; body < bodyCount; body += 1) {
    spans = [];
    while (spans.length < PER_BODY) {
      if (spans.length % 5 < 2 && spans.length + 2 <= PER_BODY) {
        number += 1;
        calls += 2;
        call(tracer, `${name}-${number}`);
      } else {
        const noise = tracer.startSpan('GET /items', { kind: SpanKind.CLIENT }, ROOT_CONTEXT);
        noise.setAttributes({
          'http.request.method': 'GET',
          'url.full': 'https://shop.example/items',
          'http.response.status_code': 200,
        });
        noise.end();
      }
    }
    list.push(Buffer.from(ProtobufTraceSerializer.serializeRequest(spans)));
  }
  return { list, spans: bodyCount * PER_BODY, calls };
}

function call(tracer, id) {
  const attributes = {
    'mcp.method.name': 'tools/call',
    'gen_ai.tool.name': 'charge',
    'waybill.call.id': `call-${id}`,
    'waybill.operation.id': `operation-${id}`,
    'waybill.operation.source': 'caller',
    'waybill.outcome': 'TOOL_SUCCESS',
  };
  const client = tracer.startSpan('tools/call charge', { kind: SpanKind.CLIENT, attributes }, ROOT_CONTEXT);
  client.addEvent('waybill.client.sent', { 'waybill.stage.seq': 1 });
  const parent = trace.setSpan(ROOT_CONTEXT, client);
  const server = tracer.startSpan('tools/call charge', { kind: SpanKind.SERVER, attributes }, parent);
  for (const [index, stage] of [
    'received',
    'effect_requested',
    'effect_confirmed',
    'result_sent',
  ].entries()) {
    server.addEvent(`waybill.server.${stage}`, { 'waybill.stage.seq': index + 1 });
  }
  server.end();
  client.addEvent('waybill.client.result_received', { 'waybill.stage.seq': 2 });
  client.end();
}
