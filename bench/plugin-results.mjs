// node bench/plugin-results.mjs [ROUNDS]
//
// What the plugin costs a large result: client of SDK v1 and a bare HTTP server in one process, 10 MB as JSON and as an
// event stream, with the plugin and without in child processes by turns. Medians of CPU and wall time of a call.
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';

const CALLS = 12;
const TEXT = 'text of a tool, with "quotes" and é. '.repeat(270_000);
const [rounds = '3', kind, plugin] = process.argv.slice(2);
if (kind === undefined) compare();
else await measure(kind, plugin === 'with');

function compare() {
  for (const name of ['json', 'sse']) {
    const found = { with: [], without: [] };
    for (let round = 0; round < Number(rounds); round += 1) {
      for (const form of ['without', 'with']) {
        const child = spawnSync(process.execPath, [fileURLToPath(import.meta.url), rounds, name, form], {
          encoding: 'utf8',
        });
        if (child.status !== 0) throw new Error(child.stderr);
        found[form].push(JSON.parse(child.stdout));
      }
    }
    const median = (form, key) =>
      found[form].map((each) => each[key]).toSorted((a, b) => a - b)[Math.floor(Number(rounds) / 2)];
    for (const key of ['cpu', 'wall']) {
      const [bare, on] = [median('without', key), median('with', key)];
      process.stdout.write(
        `${name} ${key}: ${bare.toFixed(0)} ms, with the plugin ${on.toFixed(0)} ms, ${(on / bare).toFixed(2)}x\n`,
      );
    }
  }
}

async function measure(name, isOn) {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  const drop = { onStart() {}, onEnd() {}, forceFlush: async () => {}, shutdown: async () => {} };
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [drop] }));
  if (isOn) await import('@waybill/instrumentation-mcp/register');
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const { StreamableHTTPClientTransport } =
    await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => answer(name, request, response, body));
  });
  // A busy machine must not lose a connection between two calls.
  server.keepAliveTimeout = 60_000;
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = new Client({ name: 'bench', version: '1.0.0' });
  const url = new URL(`http://127.0.0.1:${server.address().port}/mcp`);
  await client.connect(new StreamableHTTPClientTransport(url));
  for (let index = 0; index < 3; index += 1) await client.callTool({ name: 'big' });
  const cpu = process.cpuUsage();
  const began = performance.now();
  for (let index = 0; index < CALLS; index += 1) await client.callTool({ name: 'big' });
  const { user, system } = process.cpuUsage(cpu);
  const wall = (performance.now() - began) / CALLS;
  process.stdout.write(JSON.stringify({ cpu: (user + system) / 1000 / CALLS, wall }));
  await client.close();
  server.close();
}

function answer(name, request, response, body) {
  if (request.method !== 'POST') return response.writeHead(405).end();
  const { id, method } = JSON.parse(body);
  if (id === undefined) return response.writeHead(202).end();
  const serverInfo = { name: 'bench', version: '1.0.0' };
  const result =
    method === 'initialize'
      ? { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo }
      : { content: [{ type: 'text', text: TEXT }] };
  const text = JSON.stringify({ jsonrpc: '2.0', id, result });
  if (name === 'json') return response.writeHead(200, { 'content-type': 'application/json' }).end(text);
  return response
    .writeHead(200, { 'content-type': 'text/event-stream' })
    .end(`event: message\ndata: ${text}\n\n`);
}
