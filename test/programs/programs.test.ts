import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { install, nodeOf } from './install.js';
import { expectOneTrace, observe, serve } from './support.js';

interface Case {
  readonly name: string;
  readonly args: readonly string[];
  readonly tool: string;
  readonly says: string;
}

const folderOf = (name: string): string => join(import.meta.dirname, name);
const server = (name: string): string => `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`;

describe('reference servers 2026.8.31, called by a client of SDK v1', () => {
  const cwd = folderOf('reference-servers');
  let otel: string;
  beforeAll(async () => {
    otel = await install(cwd);
  });

  const stdio: readonly Case[] = [
    call('everything', [], 'echo', { message: 'hi' }, 'Echo: hi'),
    call('filesystem', [cwd], 'read_text_file', { path: join(cwd, 'package.json') }, 'waybill-program'),
    call('memory', [], 'search_nodes', { query: 'nobody' }, 'entities'),
  ];
  it.each(stdio)('server-$name over stdio: both sides, one trace, same output', ({ args, tool, says }) =>
    bothSides({ cwd, args }, otel, tool, says),
  );

  it.each([
    { way: 'streamableHttp', path: '/mcp' },
    { way: 'sse', path: '/sse' },
  ])('server-everything over $way: both sides, one trace', async ({ way, path }) => {
    const everything = await serve({ cwd, args: [server('everything'), way] }, [otel]);
    try {
      const url = `http://127.0.0.1:${everything.port}${path}`;
      const input = JSON.stringify({ url, tool: 'echo', arguments: { message: 'hi' } });
      const { run, spans } = await observe({ cwd, args: ['call.mjs', input] }, [otel]);
      expect(run).toMatchObject({ code: 0, stderr: '' });
      expect(run.stdout).toContain('Echo: hi');
      await everything.stop();
      expectOneTrace([...spans, ...everything.spans], 'echo');
    } finally {
      await everything.stop();
    }
  });

  function call(name: string, args: readonly string[], tool: string, input: object, says: string): Case {
    const env = { MEMORY_FILE_PATH: join(cwd, 'node_modules', 'memory.jsonl') };
    const target = { command: process.execPath, args: [server(name), ...args], env, tool, arguments: input };
    return { name, args: ['call.mjs', JSON.stringify(target)], tool, says };
  }
});

async function bothSides(
  program: Parameters<typeof observe>[0],
  otel: string,
  tool: string,
  says: string,
): Promise<void> {
  const on = await observe(program, [otel]);
  expect(on.run.stderr).not.toContain('WAYBILL_');
  expect(on.run).toMatchObject({ code: 0 });
  expect(on.run.stdout).toContain(says);
  expectOneTrace(on.spans, tool);
  const off = await observe(program, []);
  expect(off.run.stdout).toBe(on.run.stdout);
}
void nodeOf;
