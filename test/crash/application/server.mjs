// A server with one row to write to. Argument: the job as JSON; over HTTP it prints its port.
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createEffects, fileReceipts, sqliteDatabase } from '@waybill/receipts';
import Database from 'libsql';
import { z } from 'zod';

const job = JSON.parse(process.argv[2]);
const isV1 = job.sdk === 'v1';
writeFileSync(job.pidFile, String(process.pid));
// Only what is used is loaded: a round is over sooner.
const root = isV1 ? '@modelcontextprotocol/sdk/server' : '@modelcontextprotocol/server';
const { McpServer } = await import(isV1 ? `${root}/mcp.js` : root);

const effects = createEffects({
  source: 'todo',
  scope: 'single-tenant',
  sink: fileReceipts(job.receipts),
});
const database = sqliteDatabase(() => {
  const db = new Database(job.database);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000');
  return db;
});
const look = (db) => {
  const { status, version } = db.prepare("SELECT status, version FROM todo WHERE id = 'row-42'").get();
  return { version, observed: status };
};

async function setStatus({ status }) {
  const result = await effects.effect(
    database,
    { target: { system: 'todo', id: 'row-42' }, params: { status }, expected: status, readBack: look },
    ({ connection, applied, refused }) => {
      if (status === 'forbidden') return refused('nobody may set that');
      connection.prepare("UPDATE todo SET status = ?, version = version + 1 WHERE id = 'row-42'").run(status);
      return applied('done', look(connection));
    },
  );
  return { content: [{ type: 'text', text: result.kind }], isError: result.kind !== 'applied' };
}

/** Works until nobody waits any more. */
async function work(signal) {
  await sleep(1500, undefined, { signal }).catch(() => {});
  return { content: [{ type: 'text', text: 'worked' }] };
}

function todoServer() {
  const server = new McpServer({ name: 'todo', version: '1' });
  const shape = { status: z.string() };
  const annotations = { readOnlyHint: false, destructiveHint: false };
  const inputSchema = isV1 ? shape : z.object(shape);
  server.registerTool('set_status', { inputSchema, annotations }, setStatus);
  server.registerTool('work', { inputSchema, annotations }, (_, extra) =>
    work(isV1 ? extra.signal : extra.mcpReq.signal),
  );
  return server;
}

async function end() {
  await globalThis.endTelemetry();
  process.exit();
}
process.once('SIGTERM', () => void end());

if (job.kind === 'stdio') {
  // The client may be dead: a reply to it then fails in the pipe.
  process.stdout.on('error', () => {});
  process.stdin.once('end', () => setTimeout(() => void end(), 100));
  const { StdioServerTransport } = await import(isV1 ? `${root}/stdio.js` : `${root}/stdio`);
  await todoServer().connect(new StdioServerTransport());
} else {
  const HttpTransport = isV1
    ? (await import(`${root}/streamableHttp.js`)).StreamableHTTPServerTransport
    : (await import('@modelcontextprotocol/node')).NodeStreamableHTTPServerTransport;
  const sessions = new Map();
  const answer = async (request, response) => {
    let transport = sessions.get(request.headers['mcp-session-id']);
    if (transport === undefined) {
      const id = randomUUID();
      transport = new HttpTransport({ sessionIdGenerator: () => id });
      sessions.set(id, transport);
      await todoServer().connect(transport);
    }
    await transport.handleRequest(request, response).catch(() => response.destroy());
  };
  const http = createServer((request, response) => void answer(request, response));
  http.listen(0, '127.0.0.1', () => console.log(http.address().port));
}
