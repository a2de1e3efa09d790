// npm run bench:plugin [-- CALLS ROUNDS]
//
// What the plugin costs a call: client and server of SDK v1 in memory in one process, spans recorded and dropped.
// Three forms in child processes, by turns: without anything, with two hand-written spans of about the same content,
// and with the plugin on both sides. CPU time per call, garbage collection included; medians.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { SpanKind, context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import { patchReport } from '@waybill/instrumentation-mcp';

const forms = ['bare', 'two hand-written spans', 'plugin'];
const [calls = '4000', rounds = '5', form] = process.argv.slice(2);
if (form === undefined) compare();
else await measure(form, Number(calls));

function compare() {
  const figures = new Map(forms.map((name) => [name, []]));
  for (let round = 0; round < Number(rounds); round += 1) {
    for (const name of round % 2 === 0 ? forms : forms.toReversed()) {
      const child = spawnSync(process.execPath, [fileURLToPath(import.meta.url), calls, rounds, name], {
        encoding: 'utf8',
      });
      if (child.status !== 0) throw new Error(child.stderr);
      figures.get(name).push(Number(child.stdout));
    }
  }
  const median = (name) => figures.get(name).toSorted((a, b) => a - b)[Math.floor(Number(rounds) / 2)];
  process.stdout.write(`${calls} calls, ${rounds} rounds, Node ${process.version}, SDK v1 in memory\n`);
  for (const name of forms) process.stdout.write(`${name.padEnd(24)}${median(name).toFixed(0)} us a call\n`);
  const added = median('plugin') - median('bare');
  const written = median('two hand-written spans') - median('bare');
  process.stdout.write(
    `the plugin adds ${added.toFixed(0)} us, ${(added / written).toFixed(1)}x the two spans\n`,
  );
}

async function measure(name, count) {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  const drop = { onStart() {}, onEnd() {}, forceFlush: async () => {}, shutdown: async () => {} };
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [drop] }));
  if (name === 'plugin') await import('@waybill/instrumentation-mcp/register');
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const { InMemoryTransport } = await import('@modelcontextprotocol/sdk/inMemory.js');
  const { McpServer } = await import('@modelcontextprotocol/sdk/server/mcp.js');
  const tracer = trace.getTracer('bench');
  const byHand = name === 'two hand-written spans';
  const attributes = (side) => ({
    'mcp.method.name': 'tools/call',
    'gen_ai.tool.name': 'echo',
    'gen_ai.operation.name': 'execute_tool',
    'jsonrpc.request.id': '7',
    'network.transport': 'pipe',
    'mcp.protocol.version': '2025-11-25',
    'bench.run.id': 'run-1',
    'bench.call.id': `call-${side}`,
    'bench.operation.id': 'operation-1',
    'bench.outcome': 'TOOL_SUCCESS',
    'bench.outcome_layer': 'application',
  });
  const spanned = async (kind, work) => {
    if (!byHand) return work();
    const span = tracer.startSpan('tools/call echo', { kind });
    span.setAttributes(attributes(kind));
    for (const event of ['sent', 'received', 'done']) span.addEvent(event, { seq: 1 });
    try {
      return await context.with(trace.setSpan(context.active(), span), work);
    } finally {
      span.end();
    }
  };
  const server = new McpServer({ name: 'bench', version: '1.0.0' });
  server.registerTool('echo', { description: 'echo' }, () =>
    spanned(SpanKind.SERVER, async () => ({ content: [{ type: 'text', text: 'ok' }] })),
  );
  const client = new Client({ name: 'bench', version: '1.0.0' });
  const [near, far] = InMemoryTransport.createLinkedPair();
  await server.connect(far);
  await client.connect(near);
  const call = () => spanned(SpanKind.CLIENT, () => client.callTool({ name: 'echo', arguments: {} }));
  for (let index = 0; index < count / 4; index += 1) await call();
  const began = process.cpuUsage();
  for (let index = 0; index < count; index += 1) await call();
  const used = process.cpuUsage(began);
  if (name === 'plugin' && patchReport().patched.length === 0) throw new Error('nothing was patched');
  process.stdout.write(String((used.user + used.system) / count));
}
