import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from './cli.js';
import { exportOf } from './evidence.js';

const asked: { readonly url: string; readonly authorization: string | undefined }[] = [];
let server: Server;
let base: string;

// As much of a Jaeger as these tests ask for, and one plain export.
beforeAll(async () => {
  server = createServer((request, response) => {
    const url = request.url ?? '';
    asked.push({ url, authorization: request.headers.authorization });
    if (url.startsWith('/export')) response.end(exportOf());
    else if (url.startsWith('/api/services')) response.end('{"data":["agent"]}');
    else if (url.startsWith('/api/traces')) response.end('{"data":[]}');
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

test('an address is fetched, with the headers of the environment', async () => {
  const ended = await run(['audit', `${base}/export`, '--format', 'json', '--fail-on', 'never'], {
    env: { WAYBILL_HTTP_HEADERS: 'authorization=Bearer%20x' },
  });
  expect(ended.code).toBe(0);
  expect(JSON.parse(ended.stdout).operations).toHaveLength(1);
  expect(asked.at(-1)?.authorization).toBe('Bearer x');
});

test('a backend is asked for the time range and the service', async () => {
  const range = ['--from', '2026-09-21T14:00:00Z', '--to', '2026-09-21T15:00:00Z', '--service', 'agent'];
  const ended = await run(['audit', `jaeger+${base}`, ...range]);
  expect(ended.code).toBe(3);
  const urls = asked.map((request) => request.url).join('\n');
  expect(urls).toContain('service=agent');
  expect(urls).toMatch(/1790(?:0|1)\d+|2026-09-21T14/);
});

test('a backend that is not there is named with its remedy', async () => {
  const ended = await run(['audit', 'http://127.0.0.1:9/export', '--format', 'json']);
  expect(ended.code).toBe(3);
  expect(ended.stderr).toMatch(/127\.0\.0\.1:9.*Remedy: /);
});
