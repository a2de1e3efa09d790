// Argument: `alone` without Sentry, `beside` with Sentry but without its OpenTelemetry set-up, `only` with Sentry's own.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import * as Sentry from '@sentry/node';
import { callOnce } from '../call-once.mjs';

const [, , way] = process.argv;
if (way !== 'alone') {
  Sentry.init({
    dsn: 'http://key@127.0.0.1:9/1',
    tracesSampleRate: 1,
    skipOpenTelemetrySetup: way === 'beside',
    // Nothing leaves: what would be sent is printed.
    transport: () => ({
      send: async ([, items]) => {
        for (const [{ type }, item] of items) {
          if (type !== 'transaction' && type !== 'span') continue;
          const spans =
            type === 'span'
              ? (item.items ?? [item])
              : [{ ...item.contexts.trace, name: item.transaction }, ...item.spans];
          for (const span of spans)
            console.error(
              `SENT ${JSON.stringify({ trace: span.trace_id, name: span.description ?? span.name, op: span.op ?? span.attributes?.['sentry.op']?.value, parent: span.parent_span_id, id: span.span_id })}`,
            );
        }
        return {};
      },
      flush: async () => true,
    }),
  });
}
const wrapServer = way === 'alone' ? undefined : Sentry.wrapMcpServerWithSentry;
await callOnce({ Client, McpServer, InMemoryTransport, wrapServer });
await Sentry.flush(2000);
