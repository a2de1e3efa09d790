import { afterEach, describe, expect, test } from 'vitest';
import { startFaultServer, type FaultServer, type FaultServerOptions } from './fault-server.js';
import { REPLIES, type HttpReply } from './transcript.js';

let server: FaultServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});
async function start(options: FaultServerOptions = {}): Promise<FaultServer> {
  server = await startFaultServer(options);
  return server;
}
const post = (url: string, message: object): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(message),
  });
const call = (url: string, id: string | number = 7, name = 't'): Promise<Response> =>
  post(url, {
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: { a: 1 }, _meta: { progressToken: 'p' } },
  });

describe('a fault server', () => {
  test('is correct up to the first call', async () => {
    const { url } = await start({ sessionId: 's-1' });
    const initialized = await post(url, {
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18' },
    });
    expect(initialized.headers.get('mcp-session-id')).toBe('s-1');
    expect(await initialized.json()).toMatchObject({ id: 0, result: { protocolVersion: '2025-06-18' } });
    expect((await post(url, { jsonrpc: '2.0', method: 'notifications/initialized' })).status).toBe(202);
    expect(await (await post(url, { jsonrpc: '2.0', id: 'x', method: 'prompts/list' })).json()).toMatchObject(
      {
        id: 'x',
        error: { code: -32601 },
      },
    );
    expect((await fetch(url)).status).toBe(405);
    expect((await fetch(url, { method: 'DELETE' })).status).toBe(405);
  });

  test('fills in the ids of the call, with their JSON type', async () => {
    const { url } = await start({
      reply: { ...REPLIES.json, chunks: [[0, '[$ID,$STR,$TOK]']] },
    });
    expect(await (await call(url, 7)).text()).toBe('[7,"7","p"]');
    expect(await (await call(url, '7')).text()).toBe('["7","7","p"]');
  });

  test('plays bytes that no text can be as they are', async () => {
    const bytes = Uint8Array.of(0x24, 0x49, 0x44, 0xff, 0xc3);
    const { url } = await start({ reply: { ...REPLIES.json, chunks: [[0, bytes]] } });
    expect(new Uint8Array(await (await call(url)).arrayBuffer())).toEqual(bytes);
  });

  test('records requests whole and follows a plan per call', async () => {
    const peer = await start({
      reply: ({ index }) => (index === 0 ? { status: 503, end: 'fin' } : REPLIES.sse),
    });
    expect((await call(peer.url)).status).toBe(503);
    expect((await call(peer.url, 8, 'other')).headers.get('content-type')).toBe('text/event-stream');
    expect(peer.calls).toMatchObject([
      { index: 0, id: 7, tool: 't', arguments: { a: 1 } },
      { index: 1, id: 8, tool: 'other' },
    ]);
    expect(peer.requests.map(({ httpMethod, method }) => `${httpMethod} ${method}`)).toEqual([
      'POST tools/call',
      'POST tools/call',
    ]);
    expect(JSON.parse(String(peer.requests[1]?.body))).toMatchObject({ id: 8 });
    peer.plan({ status: 204, end: 'fin' });
    expect((await call(peer.url)).status).toBe(204);
  });

  test('sends the headers before it waits for the first chunk', async () => {
    const { url } = await start({ reply: { ...REPLIES.sse, chunks: [], end: 'hold' } });
    const response = await call(url);
    expect(response.status).toBe(200);
    await response.body?.cancel();
  });

  test.each<[string, HttpReply, string]>([
    ['closes before headers', { before_headers: true, end: 'fin' }, 'UND_ERR_SOCKET'],
    ['resets before headers', { before_headers: true, end: 'rst' }, 'ECONNRESET'],
    [
      'resets in the body',
      { ...REPLIES.sse, chunks: [[0, 'data: {']], end: 'rst', end_delay_ms: 30 },
      'ECONNRESET',
    ],
    [
      'cuts the body off',
      { ...REPLIES.sse, chunks: [[0, 'data: {']], end: 'fin', truncate: true, end_delay_ms: 30 },
      'UND_ERR_SOCKET',
    ],
    [
      'announces more than it sends',
      {
        ...REPLIES.json,
        content_length_of: '0123456789',
        chunks: [[0, '01']],
        truncate: true,
        end_delay_ms: 30,
      },
      'UND_ERR_SOCKET',
    ],
  ])('%s', async (_what, reply, code) => {
    const { url } = await start({ reply });
    const failure = await call(url)
      .then((response) => response.text())
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ cause: { code } });
  });

  test('answers the request that follows a redirect, and the GET that resumes a stream', async () => {
    const peer = await start({
      reply: ({ index }) =>
        index === 0
          ? { status: 307, headers: { location: '$PATH?hop=1' }, end: 'fin', second: REPLIES.json }
          : { ...REPLIES.sse, chunks: [[0, 'id: e1\ndata: \n\n']], get: REPLIES.sse },
    });
    expect(await (await call(peer.url, 7)).json()).toMatchObject({ id: 7, result: {} });
    expect(peer.calls.map(({ id }) => id)).toEqual([7, 7]);
    await (await call(peer.url, 8)).text();
    const resumed = await fetch(peer.url, { headers: { 'last-event-id': 'e1' } });
    expect(await resumed.text()).toContain('"id":8');
    expect((await fetch(peer.url, { headers: { 'last-event-id': 'e1' } })).status).toBe(405);
  });

  test('closes while replies are held and timers run', async () => {
    const peer = await start({ reply: { ...REPLIES.json, headers_delay_ms: 60_000 } });
    const pending = call(peer.url).catch((error: unknown) => error);
    while (peer.calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await peer.close();
    server = undefined;
    expect(await pending).toBeInstanceOf(TypeError);
  });

  test('says when it could not play a reply', async () => {
    const peer = await start({
      reply: () => {
        throw new Error('no plan');
      },
    });
    expect((await call(peer.url)).status).toBe(500);
    server = undefined;
    await expect(peer.close()).rejects.toThrow('could not play');
  });
});
