// node --require ./otel.cjs app.cjs: what the otel.mjs of the README does, for a CommonJS program.
const { OTLPTraceExporter } = require('@opentelemetry/exporter-trace-otlp-http');
const { NodeSDK } = require('@opentelemetry/sdk-node');
const { McpInstrumentation } = require('@waybill/instrumentation-mcp');

const sdk = new NodeSDK({
  traceExporter: new OTLPTraceExporter(),
  instrumentations: [new McpInstrumentation()],
});
sdk.start();
process.once('beforeExit', () => void sdk.shutdown());
process.once('SIGTERM', () => void sdk.shutdown().finally(() => process.kill(process.pid, 'SIGTERM')));
