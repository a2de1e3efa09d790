/**
 * A todo MCP server over Streamable HTTP as an application would write it. Writes go through `effect()`, which leaves a
 * receipt; spans come from `--import otel.mjs`.
 *
 * Two of its four tools are written carelessly, as real ones are: `finish_todo` answers before it has looked at what
 * became of the write, and `archive_todo` hands its work to a queue that nobody drains.
 */
import { createServer } from 'node:http';
import {
  NodeStreamableHTTPServerTransport,
  localhostHostValidation,
  localhostOriginValidation,
} from '@modelcontextprotocol/node';
import { McpServer } from '@modelcontextprotocol/server';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { recordStage } from '@waybill/api';
import { createEffects, fileReceipts } from '@waybill/receipts';
import { z } from 'zod';
import { faultyStorage, tell } from './faulty-storage.js';
import { listTodos, openDatabase, readTodo, setStatus } from './store.js';

const databasePath = process.env['TODO_DATABASE'] ?? 'todo.db';
const receiptsPath = process.env['TODO_RECEIPTS'] ?? 'receipts.jsonl';

const open = () => openDatabase(databasePath);
const storage = faultyStorage(open);
const effects = createEffects({
  source: 'todo-server',
  scope: 'single-tenant',
  sink: fileReceipts(receiptsPath),
});

/** Sets the status of one todo, with its receipt. */
async function change(id: string, status: string) {
  return effects.effect(
    storage,
    {
      target: { system: 'todo', type: 'todo', id },
      params: { id, status },
      expected: status,
      readBack: (db) => {
        const todo = readTodo(db, id);
        return todo === undefined ? undefined : { version: todo.version, observed: todo.status };
      },
    },
    ({ connection, applied, refused }) => {
      const todo = setStatus(connection, id, status);
      if (todo === undefined) return refused(`there is no todo ${id}`);
      return applied(todo, { version: todo.version, observed: todo.status });
    },
  );
}

const text = (value: string): CallToolResult => ({ content: [{ type: 'text', text: value }] });
const failure = (value: string): CallToolResult => ({ ...text(value), isError: true });

function todoServer(): McpServer {
  const server = new McpServer({ name: 'todo', version: '1.0.0' });
  server.registerTool(
    'list_todos',
    { description: 'Lists all todos', inputSchema: z.object({}), annotations: { readOnlyHint: true } },
    () => {
      const db = open();
      try {
        return text(JSON.stringify(listTodos(db)));
      } finally {
        db.close();
      }
    },
  );
  const write = { readOnlyHint: false, destructiveHint: false };
  server.registerTool(
    'set_status',
    {
      description: 'Sets the status of a todo',
      inputSchema: z.object({ id: z.string(), status: z.string() }),
      annotations: write,
    },
    async ({ id, status }) => {
      const result = await change(id, status);
      return result.kind === 'applied' ? text(`${id} is ${status}`) : failure(result.reason);
    },
  );
  server.registerTool(
    'finish_todo',
    {
      description: 'Sets a todo to done',
      inputSchema: z.object({ id: z.string() }),
      annotations: write,
    },
    async ({ id }) => {
      // The mistake: whatever becomes of the write, the caller is told that it was made.
      await change(id, 'done').catch(() => undefined);
      return text(`${id} is done`);
    },
  );
  server.registerTool(
    'archive_todo',
    {
      description: 'Archives a todo',
      inputSchema: z.object({ id: z.string() }),
      annotations: write,
    },
    ({ id }) => {
      // The mistake: accepted is not done, and nobody ever takes work from this queue.
      recordStage('server.effect_requested', { target: id });
      archive.push(id);
      return text(`${id} is archived`);
    },
  );
  return server;
}

const archive: string[] = [];
const hostIsOurs = localhostHostValidation();
const originIsOurs = localhostOriginValidation();

const http = createServer((request, response) => {
  if (!hostIsOurs(request, response) || !originIsOurs(request, response)) return;
  // One server and one transport a request: the stateless form. `/json` answers without a stream.
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: undefined,
    enableJsonResponse: request.url === '/json',
  });
  const server = todoServer();
  response.once('close', () => void server.close());
  server
    .connect(transport)
    .then(() => transport.handleRequest(request, response))
    .catch((error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      response.destroy();
    });
});

http.listen(Number(process.env['PORT'] ?? 0), '127.0.0.1', () => {
  const address = http.address();
  if (address === null || typeof address === 'string') return;
  const url = `http://127.0.0.1:${address.port}`;
  process.stderr.write(`todo server on ${url}/mcp\n`);
  tell({ kind: 'listening', url });
});
process.once('disconnect', () => {
  http.close();
  http.closeAllConnections();
});
