/** The rounds of the demo: one intention each, and the fault that meets it. */
import type { StorageFault } from './messages.js';

/** What stands between client and server in a round, beside the storage. */
export type PathFault =
  /** The request is held before it reaches the server, and dropped once the client has given up. */
  | 'held_then_dropped'
  /** The reply's first byte resets the client's connection; the server never learns of it. */
  | 'reset_by_reply'
  /** At the server's pause the client's reply stream is ended; the server goes on and never learns of it. */
  | 'end_stream_at_pause'
  /** A gateway answers 503 and never asks the server. */
  | 'gateway_503';

export interface Round {
  readonly operationId: string;
  readonly title: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, string>>;
  /** The todo that the third process reads afterwards, and what it must show if the intention was carried out. */
  readonly target: { readonly id: string; readonly expected: string } | undefined;
  /** `/mcp` answers by an SSE stream, `/json` by one JSON body. */
  readonly endpoint: '/mcp' | '/json';
  readonly timeoutMs: number;
  readonly storage?: StorageFault;
  readonly path?: PathFault;
  /** What the reader sees here, in one sentence. */
  readonly lesson: string;
}

const write = (id: string, status: string): Pick<Round, 'arguments' | 'target'> => ({
  arguments: { id, status },
  target: { id, expected: status },
});

export const rounds: readonly Round[] = [
  {
    operationId: 'page-1:done:v1',
    title: 'clean call',
    tool: 'set_status',
    ...write('page-1', 'done'),
    endpoint: '/mcp',
    timeoutMs: 5000,
    lesson: 'Reply, receipt and target agree: the write happened, once.',
  },
  {
    operationId: 'list:v1',
    title: 'read',
    tool: 'list_todos',
    arguments: {},
    target: undefined,
    endpoint: '/mcp',
    timeoutMs: 5000,
    lesson: 'A read ended; it owes no receipt.',
  },
  {
    operationId: 'page-3:done:v1',
    title: 'request held, then dropped',
    tool: 'set_status',
    ...write('page-3', 'done'),
    endpoint: '/mcp',
    timeoutMs: 700,
    path: 'held_then_dropped',
    lesson: 'It never arrived, but a timeout cannot know that: fence the target before anybody sends again.',
  },
  {
    operationId: 'page-4:done:v1',
    title: 'written, reply lost',
    tool: 'set_status',
    ...write('page-4', 'done'),
    endpoint: '/json',
    timeoutMs: 5000,
    path: 'reset_by_reply',
    lesson:
      'The client saw a failure; the receipt shows that the write was made. Sending again would be a mistake.',
  },
  {
    operationId: 'page-5:done:v1',
    title: 'success told, write lost',
    tool: 'finish_todo',
    arguments: { id: 'page-5' },
    target: { id: 'page-5', expected: 'done' },
    endpoint: '/mcp',
    timeoutMs: 5000,
    storage: { kind: 'lose_commit' },
    lesson: 'isError: false, HTTP 200, and nothing was written: the read back says so.',
  },
  {
    operationId: 'page-6:done:v1',
    title: 'stream cut before its result',
    tool: 'set_status',
    ...write('page-6', 'done'),
    endpoint: '/mcp',
    timeoutMs: 1200,
    storage: { kind: 'pause_before_commit' },
    path: 'end_stream_at_pause',
    lesson: 'The SDK reports a timeout; the wire shows a stream that ended early, and the receipt a write.',
  },
  {
    operationId: 'page-7:done:v1',
    title: 'HTTP 503',
    tool: 'set_status',
    ...write('page-7', 'done'),
    endpoint: '/mcp',
    timeoutMs: 5000,
    path: 'gateway_503',
    lesson: '503 does not say whether the server behind the gateway ran the call.',
  },
  {
    operationId: 'page-8:done:v1',
    title: 'JSON-RPC error',
    tool: 'set_state',
    ...write('page-8', 'done'),
    endpoint: '/mcp',
    timeoutMs: 5000,
    lesson: 'There is no tool of this name; the protocol layer said so.',
  },
  {
    operationId: 'page-99:done:v1',
    title: 'isError',
    tool: 'set_status',
    ...write('page-99', 'done'),
    endpoint: '/mcp',
    timeoutMs: 5000,
    lesson: 'The tool declined and left a receipt of that: proven not done.',
  },
  {
    operationId: 'page-10:archived:v1',
    title: 'effect never confirmed',
    tool: 'archive_todo',
    arguments: { id: 'page-10' },
    target: { id: 'page-10', expected: 'archived' },
    endpoint: '/mcp',
    timeoutMs: 5000,
    lesson: 'The handler asked for an effect, never confirmed it, and answered success all the same.',
  },
];

/** The todos that every round starts from. */
export const todoIds: readonly string[] = Array.from({ length: 10 }, (_, index) => `page-${index + 1}`);
