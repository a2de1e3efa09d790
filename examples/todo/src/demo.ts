/**
 * `npm run demo`: real MCP client and server in two processes, a proxy between them, one fault a round, the database
 * read by a third process, spans exported by OTLP to `waybill serve`, and the audit of what was exported.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { audit } from '@waybill/audit';
import { startCuttingProxy, startFaultServer } from '@waybill/lab';
import type { CallOrder, ServerNews, ServerOrder, Told } from './messages.js';
import { nextMessage, runTarget, startInstrumented, startServe, stop } from './processes.js';
import { rounds, todoIds } from './rounds.js';
import type { Round } from './rounds.js';
import { renderTable } from './table.js';
import type { Seen } from './table.js';

const out = join(process.cwd(), 'demo-out');
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const file = (name: string): string => join(out, name);
const database = file('todo.db');
const receipts = file('receipts.jsonl');
const targets = file('targets.jsonl');

const serve = await startServe(out);
const otlp = { OTEL_EXPORTER_OTLP_ENDPOINT: serve.url };
const server = startInstrumented('server', {
  ...otlp,
  TODO_DATABASE: database,
  TODO_RECEIPTS: receipts,
});
server.stderr?.resume();
const listening = await nextMessage<ServerNews, Extract<ServerNews, { kind: 'listening' }>>(
  server,
  (news) => news.kind === 'listening',
);
const client = startInstrumented('client', otlp);
client.stderr?.pipe(process.stderr);
