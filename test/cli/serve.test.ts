import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, expect, test } from 'vitest';
import { folder, run, start } from './cli.js';
import { exportOf } from './evidence.js';

const place = folder({});
afterAll(place.remove);

async function served(dir: string) {
  const child = start(['serve', '--port', '0', '--dir', join(place.path, dir)]);
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const closed = new Promise<number | null>((resolve) => child.on('close', resolve));
  const line = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).once('line', resolve);
    child.once('close', () => reject(new Error(`serve ended: ${stderr}`)));
  });
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0] ?? '';
  return { child, url, closed, stderr: () => stderr };
}

test('what serve acknowledged, audit reads', async () => {
  const { child, url, closed, stderr } = await served('a');
  try {
    const response = await fetch(`${url}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: exportOf(),
    });
    expect(response.status).toBe(200);
    expect(readFileSync(join(place.path, 'a', 'traces.jsonl'), 'utf8')).toContain('row-42:done:v1');
  } finally {
    child.kill('SIGTERM');
  }
  expect(await closed).toBe(0);
  expect(stderr()).toContain('traces 1');
  const ended = await run(['audit', join(place.path, 'a'), '--format', 'json', '--fail-on', 'never']);
  expect(JSON.parse(ended.stdout).operations).toHaveLength(1);
});

test('a port that is taken is named, with the remedy', async () => {
  const { child, url, closed } = await served('b');
  try {
    const port = new URL(url).port;
    const ended = await run(['serve', '--port', port, '--dir', join(place.path, 'c')]);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toMatch(new RegExp(`port ${port}.*\n.*Remedy: .*--port`));
  } finally {
    child.kill('SIGINT');
  }
  expect(await closed).toBe(0);
});

test.each(['70000', 'http', '-1'])('--port %s is wrong usage', async (port) => {
  expect((await run(['serve', '--port', port])).code).toBe(2);
});
