/** `waybill serve` and those who reach its address: pages of a browser, paths, headers, bodies that unfold. */
import { request } from 'node:http';
import { connect } from 'node:net';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { startBackend, type AuditBackend } from '@waybill/audit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

const MEBIBYTE = 1 << 20;

describe('a receiver on the loopback address', () => {
  let backend: AuditBackend;
  const directory = mkdtempSync(join(tmpdir(), 'waybill-hostile-'));

  beforeAll(async () => {
    backend = await startBackend({
      directory,
      port: 0,
      graceMs: 50,
      everyMs: 50,
      maxUnpackedBytes: 4 * MEBIBYTE,
      maxBodyBytes: MEBIBYTE,
    });
  });
  afterAll(async () => {
    await backend.close();
    rmSync(directory, { recursive: true, force: true });
  });

  function ask(
    path: string,
    options: { method?: string; headers?: Record<string, string>; body?: Uint8Array | string } = {},
  ): Promise<Answer> {
    const { method = 'GET', headers = {}, body } = options;
    return new Promise((resolve, reject) => {
      const sent = request({ host: backend.host, port: backend.port, path, method, headers }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
        );
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  test.each(['/', '/live.json', '/metrics'])('%s is not read under the name of a web site', async (path) => {
    const rebound = await ask(path, { headers: { host: `evil.example:${backend.port}` } });
    expect(rebound.status).toBe(421);
    expect(rebound.body).not.toContain('counts');
    expect((await ask(path)).status).toBe(200);
    expect((await ask(path, { headers: { host: `localhost:${backend.port}` } })).status).toBe(200);
  });

  test('its health may be asked under every name', async () => {
    expect((await ask('/healthz', { headers: { host: 'waybill.internal' } })).status).toBe(200);
  });

  test.each(['https://evil.example', 'null', 'http://localhost:3000'])(
    'a page of %s writes no evidence',
    async (origin) => {
      const answer = await ask('/v1/traces', {
        method: 'POST',
        headers: { origin, 'content-type': 'text/plain' },
        body: '{"resourceSpans":[]}',
      });
      expect(answer.status).toBe(403);
      expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    },
  );

  test.each(['/../../../etc/passwd', '/%2e%2e/traces.jsonl', '/traces.jsonl', '/.live/events.jsonl'])(
    'no path reaches a file: %s',
    async (path) => {
      expect((await ask(path)).status).toBe(404);
    },
  );

  test('its page allows itself nothing but its own figures', async () => {
    const { headers } = await ask('/');
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(headers['x-content-type-options']).toBe('nosniff');
  });

  test('headers without end are refused', async () => {
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(backend.port, backend.host);
      let text = '';
      socket.on('data', (chunk) => (text += chunk.toString('latin1')));
      socket.on('error', () => resolve(text));
      socket.on('close', () => resolve(text));
      socket.write(`GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ${'a'.repeat(100_000)}\r\n\r\n`);
    });
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
  });

  test('bodies that unfold beyond the limit are set aside, all of them acknowledged', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * MEBIBYTE));
    const answers = await Promise.all(
      Array.from({ length: 12 }, () =>
        ask('/v1/traces', {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
          body: bomb,
        }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 12 }, () => 200));
    expect(answers.every(({ body }) => body.includes('quarantine'))).toBe(true);
    expect(backend.stats()).toMatchObject({ quarantined: 12, pendingBytes: 0 });
  });

  test('its files are for its user alone', () => {
    const modes = readdirSync(directory, { recursive: true, encoding: 'utf8' })
      .map((name) => statSync(join(directory, name)))
      .filter((stats) => stats.isFile())
      .map((stats) => stats.mode & 0o077);
    expect(modes.length).toBeGreaterThan(0);
    expect(modes.every((mode) => mode === 0)).toBe(true);
  });
});
