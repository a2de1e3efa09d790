/** Calls as an exporter of the SDK sends them: one OTLP protobuf request. */
import { ROOT_CONTEXT, SpanKind, trace, type Attributes } from '@opentelemetry/api';
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';

export interface CallInput {
  readonly operation: string;
  readonly call: string;
  readonly tool?: string;
  /** Of the client; the server always says success. */
  readonly outcome?: string;
}

/** Both sides of a call, with their stages and a confirmed effect. */
export function spansOfCall(input: CallInput): readonly ReadableSpan[] {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const tracer = provider.getTracer('@waybill/instrumentation-mcp');
  const { operation, call, tool = 'set_status', outcome = 'TOOL_SUCCESS' } = input;
  const attributes: Attributes = {
    'mcp.method.name': 'tools/call',
    'gen_ai.tool.name': tool,
    'waybill.call.id': call,
    'waybill.operation.id': operation,
    'waybill.operation.source': 'caller',
    'waybill.effect.kind': 'write',
  };
  const client = tracer.startSpan(
    `tools/call ${tool}`,
    { kind: SpanKind.CLIENT, attributes: { ...attributes, 'waybill.outcome': outcome } },
    ROOT_CONTEXT,
  );
  client.addEvent('waybill.client.sent', { 'waybill.stage.seq': 1 });
  const server = tracer.startSpan(
    `tools/call ${tool}`,
    { kind: SpanKind.SERVER, attributes: { ...attributes, 'waybill.outcome': 'TOOL_SUCCESS' } },
    trace.setSpan(ROOT_CONTEXT, client),
  );
  const stages = ['received', 'effect_requested', 'effect_confirmed', 'result_sent'];
  for (const [index, stage] of stages.entries()) {
    server.addEvent(`waybill.server.${stage}`, { 'waybill.stage.seq': index + 1 });
  }
  server.end();
  const end = outcome === 'TIMEOUT' ? 'timeout' : outcome === 'TOOL_SUCCESS' ? 'result_received' : 'failed';
  client.addEvent(`waybill.client.${end}`, { 'waybill.stage.seq': 2 });
  client.end();
  return exporter.getFinishedSpans();
}

export function protobufOf(input: CallInput): Buffer {
  return Buffer.from(ProtobufTraceSerializer.serializeRequest([...spansOfCall(input)]) ?? []);
}
