// Loaded before the program: node --import ./otel.mjs app.mjs
import '@waybill/instrumentation-mcp/register'; // first: its hook must stand before an MCP SDK is loaded
import { DiagLogLevel, diag } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { McpInstrumentation } from '@waybill/instrumentation-mcp';

// NodeSDK logs to stdout when it finds OTEL_LOG_LEVEL, and stdout belongs to the protocol of a stdio server.
const level = DiagLogLevel[process.env.OTEL_LOG_LEVEL?.toUpperCase()];
delete process.env.OTEL_LOG_LEVEL;
const log = console.error;
if (level) diag.setLogger({ error: log, warn: log, info: log, debug: log, verbose: log }, level);

const sdk = new NodeSDK({
  traceExporter: new OTLPTraceExporter(),
  instrumentations: [new McpInstrumentation()],
});
sdk.start();
process.once('beforeExit', () => void sdk.shutdown().catch(log));
for (const signal of ['SIGTERM', 'SIGINT']) {
  // Flush, then die of the signal, unless the program handles it itself.
  const die = () => process.listenerCount(signal) === 0 && process.kill(process.pid, signal);
  process.once(signal, () => void sdk.shutdown().catch(log).finally(die));
}
