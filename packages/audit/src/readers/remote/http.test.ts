import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { get } from './http.js';

const servers: Server[] = [];

async function listen(handler: RequestListener): Promise<string> {
  const server = createServer(handler);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

test('headers are not carried to where a redirect leads', async () => {
  const seen: unknown[] = [];
  const elsewhere = await listen((request, response) => {
    seen.push(request.headers['x-api-key']);
    response.end('{}');
  });
  const backend = await listen((_request, response) => {
    response.writeHead(302, { location: `${elsewhere}/stolen?token=1` }).end();
  });
  const fetched = await get(new URL(`${backend}/api`), '*/*', { headers: { 'x-api-key': 'secret' } });
  expect(seen).toEqual([]);
  expect(fetched).toEqual({
    kind: 'failed',
    reason: `${backend}/api points to ${elsewhere}/stolen; ask that address itself`,
  });
});

test('a redirect without a place is told too', async () => {
  const backend = await listen((_request, response) => response.writeHead(301).end());
  expect(await get(new URL(backend), '*/*', {})).toMatchObject({
    kind: 'failed',
    reason: `${backend}/ points elsewhere; ask that address itself`,
  });
});
