// Argument: `alone` without dd-trace, `beside` with it as a tracer beside OpenTelemetry's SDK, `only` with dd-trace as
// the provider of OpenTelemetry's API.
import tracer from 'dd-trace';

const [, , way] = process.argv;
if (way !== 'alone') {
  tracer.init({
    url: process.env.TEST_AGENT ?? 'http://127.0.0.1:9',
    startupLogs: false,
    runtimeMetrics: false,
  });
  if (way === 'only') new tracer.TracerProvider().register();
}
const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
const { InMemoryTransport } = await import('@modelcontextprotocol/sdk/inMemory.js');
const { McpServer } = await import('@modelcontextprotocol/sdk/server/mcp.js');
const { callOnce } = await import('../call-once.mjs');
await callOnce({ Client, McpServer, InMemoryTransport });
