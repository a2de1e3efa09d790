import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { stdioPeer } from '@waybill/lab';
import { afterEach, describe, expect, test } from 'vitest';
import { createBarriers } from './barriers.js';
import { startLegacySseServer, type LegacySseServer } from './legacy-sse-server.js';
import { REPLIES, type LegacyReply, type StdioReply } from './transcript.js';

const CALL = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 't' } };

describe('a stdio peer', () => {
  /** Runs it with one or two calls until it closes stdout; ends its stdin once `wanted` bytes are there. */
  async function run(reply: StdioReply, ids: readonly number[], wanted: number) {
    const { command, args, env } = stdioPeer(reply);
    const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
    let bytes = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes >= wanted) child.stdin.end();
    });
    const exit = once(child, 'exit') as Promise<[number | null, string | null]>;
    for (const id of ids) child.stdin.write(`${JSON.stringify({ ...CALL, id })}\n`);
    const output = await text(child.stdout);
    child.stdin.end();
    const [code, signal] = await exit;
    return { output, code, signal };
  }

  test.each<[string, StdioReply, readonly number[], Awaited<ReturnType<typeof run>>]>([
    ['answers a line and stays', { lines: [[0, '[$ID]']] }, [7], { output: '[7]\n', code: 0, signal: null }],
    [
      'exits with a code before any byte',
      { after: 'exit', exit_code: 3 },
      [7],
      { output: '', code: 3, signal: null },
    ],
    ['kills itself', { after: 'kill' }, [7], { output: '', code: null, signal: 'SIGKILL' }],
    [
      'writes half a line and exits',
      { chunks: [[0, '{"id":$ID']], after: 'exit' },
      [7],
      { output: '{"id":7', code: 0, signal: null },
    ],
    ['closes stdout and lives on', { after: 'close_stdout' }, [7], { output: '', code: 0, signal: null }],
    [
      'waits for two calls and answers the second first',
      {
        calls: 2,
        lines: [
          [0, '$SECOND_ID'],
          [5, '$FIRST_ID'],
        ],
      },
      [7, 8],
      { output: '8\n7\n', code: 0, signal: null },
    ],
  ])('%s', async (_what, reply, ids, seen) => {
    expect(await run(reply, ids, seen.output.length === 0 ? Infinity : seen.output.length)).toEqual(seen);
  });
});

describe('a legacy SSE server', () => {
  let server: LegacySseServer | undefined;
  afterEach(async () => {
    await server?.close();
    server = undefined;
  });
  async function play(reply: LegacyReply) {
    server = await startLegacySseServer({ reply });
    const stream = await fetch(server.url);
    const body = new URL('/messages?sessionId=1', server.url);
    const posted = await fetch(body, { method: 'POST', body: JSON.stringify(CALL) }).then(
      async (response) => `${response.status} ${await response.text()}`,
      () => 'cut',
    );
    return { stream, posted };
  }

  test('names its endpoint, accepts the POST and answers on the stream', async () => {
    const { stream, posted } = await play({
      ...REPLIES.legacy,
      stream: { ...REPLIES.legacy.stream, end: 'fin' },
    });
    expect(posted).toBe('202 Accepted');
    const events = (await stream.text()).split('\n\n');
    expect(events[0]).toBe('event: endpoint\ndata: /messages?sessionId=1');
    expect(events[1]).toContain('"id":7');
  });

  test('cuts the POST and still answers on the stream', async () => {
    const { stream, posted } = await play({
      order: 'stream_first',
      post: { cut: true },
      stream: { ...REPLIES.legacy.stream, end: 'fin' },
    });
    expect(posted).toBe('cut');
    expect(await stream.text()).toContain('"id":7');
  });

  test('cuts the stream', async () => {
    const { stream } = await play({
      ...REPLIES.legacy,
      stream: { chunks: [[0, 'data: {']], end: 'fin', truncate: true, end_delay_ms: 20 },
    });
    await expect(stream.text()).rejects.toThrow('terminated');
  });
});

describe('barriers', () => {
  test('hold one side until the other lets it go on, and keep the order', async () => {
    const points = createBarriers();
    let committed = false;
    const write = points.wait('before_commit').then(() => {
      committed = true;
    });
    await points.reached('before_commit');
    expect(committed).toBe(false);
    points.release('before_commit');
    await write;
    expect(committed).toBe(true);
    expect(points.log).toEqual([
      { point: 'before_commit', what: 'reached' },
      { point: 'before_commit', what: 'released' },
    ]);
  });

  test('let everyone through who comes after the release', async () => {
    const points = createBarriers();
    points.release('a');
    await points.wait('a');
  });
});
