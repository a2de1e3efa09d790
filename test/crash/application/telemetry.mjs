// Preload: an OpenTelemetry SDK that sends every span and every stage log twice, by a simple and by a batch processor
// in their default settings, each to a path of its own, so that the receiver can tell what each would have saved.
import { context, trace } from '@opentelemetry/api';
import { logs } from '@opentelemetry/api-logs';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs';
import { BasicTracerProvider, BatchSpanProcessor, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';

const receiver = process.env.CRASH_RECEIVER;
const resource = resourceFromAttributes({ 'service.name': process.env.CRASH_SIDE });
const url = (channel) => ({ url: `${receiver}/${channel}` });

const tracerProvider = new BasicTracerProvider({
  resource,
  spanProcessors: [
    new SimpleSpanProcessor(new OTLPTraceExporter(url('spans_simple'))),
    new BatchSpanProcessor(new OTLPTraceExporter(url('spans_batch'))),
  ],
});
const loggerProvider = new LoggerProvider({
  resource,
  processors: [
    new SimpleLogRecordProcessor({ exporter: new OTLPLogExporter(url('logs_simple')) }),
    new BatchLogRecordProcessor({ exporter: new OTLPLogExporter(url('logs_batch')) }),
  ],
});
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
trace.setGlobalTracerProvider(tracerProvider);
logs.setGlobalLoggerProvider(loggerProvider);
globalThis.endTelemetry = async () => {
  await Promise.allSettled([tracerProvider.shutdown(), loggerProvider.shutdown()]);
};
