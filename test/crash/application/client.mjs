// An application that makes one tool call and writes down what it was told. Argument: the job as JSON.
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const job = JSON.parse(process.argv[2]);
const isV1 = job.sdk === 'v1';
// Only what is used is loaded: a round is over sooner.
const root = isV1 ? '@modelcontextprotocol/sdk/client' : '@modelcontextprotocol/client';
const { Client } = await import(isV1 ? `${root}/index.js` : root);
const client = new Client({ name: 'caller', version: '1' });
let transport;
if (job.transport.kind === 'http') {
  const { StreamableHTTPClientTransport } = await import(isV1 ? `${root}/streamableHttp.js` : root);
  transport = new StreamableHTTPClientTransport(new URL(job.transport.url));
} else {
  const { StdioClientTransport } = await import(isV1 ? `${root}/stdio.js` : `${root}/stdio`);
  transport = new StdioClientTransport({ ...job.transport, stderr: 'inherit' });
}
await client.connect(transport);

const { params, timeout, abortAfterMs, lingerMs } = job.call;
const controller = new AbortController();
if (abortAfterMs !== undefined) setTimeout(() => controller.abort('the user left'), abortAfterMs);
const options = { timeout, signal: controller.signal };
const calling = isV1 ? client.callTool(params, undefined, options) : client.callTool(params, options);
const told = await calling.then(
  (result) => (result.isError === true ? 'tool_error' : 'success'),
  (error) => `error: ${error.message}`,
);
writeFileSync(job.toldFile, told);
await sleep(lingerMs ?? 0);
await client.close().catch(() => {});
await globalThis.endTelemetry();
process.exit();
