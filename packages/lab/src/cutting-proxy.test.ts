import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startCuttingProxy } from './cutting-proxy.js';
import type { CuttingProxy } from './cutting-proxy.js';

let requests = 0;
const upstream = createServer((_request, response) => {
  requests += 1;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write('data: one\n\n');
  setTimeout(() => response.end('data: two\n\n'), 20);
});
let proxy: CuttingProxy;

beforeEach(async () => {
  requests = 0;
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  proxy = await startCuttingProxy({ target: { port: (upstream.address() as AddressInfo).port } });
});
afterEach(async () => {
  await proxy.close();
  upstream.closeAllConnections();
  await new Promise((resolve) => upstream.close(resolve));
});

const read = async (): Promise<string> => (await fetch(proxy.url)).text();

describe('a cutting proxy', () => {
  test('passes everything on when nothing is asked of it', async () => {
    expect(await read()).toBe('data: one\n\ndata: two\n\n');
  });

  test('ends a chunked body in due form after the wanted event', async () => {
    proxy.plan({ form: 'end_body', afterEvents: 1 });
    expect(await read()).toBe('data: one\n\n');
  });

  test('resets before the first reply byte', async () => {
    proxy.plan({ form: 'rst', afterBytes: 0 });
    await expect(read()).rejects.toThrow('fetch failed');
    expect(requests).toBe(1);
  });

  test('closes in the middle of a body, which the client sees as terminated', async () => {
    const response = await fetch(proxy.url);
    proxy.cutNow('fin');
    await expect(response.text()).rejects.toThrow('terminated');
  });

  test('holds a request, drops it, and the server never hears of it', async () => {
    proxy.hold('to_server');
    const call = read();
    call.catch(() => undefined);
    await proxy.held('to_server');
    proxy.drop('to_server');
    await expect(call).rejects.toThrow('fetch failed');
    expect(requests).toBe(0);
    expect(await read()).toContain('two');
  });

  test('holds a request, releases it, and the reply comes late but whole', async () => {
    proxy.hold('to_server');
    const call = read();
    await proxy.held('to_server');
    expect(requests).toBe(0);
    proxy.release('to_server');
    expect(await call).toBe('data: one\n\ndata: two\n\n');
  });
});

describe('a cut of requests', () => {
  test('leaves the server with the first bytes and the client without a reply', async () => {
    proxy.plan({ form: 'rst', direction: 'to_server', afterBytes: 10 });
    await expect(read()).rejects.toThrow('fetch failed');
    expect(requests).toBe(0);
  });

  test('draining, takes the whole reply from a server that believes it was delivered', async () => {
    const delivered = new Promise<boolean>((resolve) => {
      upstream.once('request', (_request, response: ServerResponse) => {
        response.once('close', () => resolve(response.writableFinished));
      });
    });
    const response = await fetch(proxy.url);
    proxy.cutNow('end_body', 'drain');
    expect(await response.text()).toBe('data: one\n\n');
    expect(await delivered).toBe(true);
  });
});
