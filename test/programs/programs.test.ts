import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ATTR_RUN_ID, ATTR_RUN_SOURCE } from '@waybill/core';
import { beforeAll, describe, expect, it } from 'vitest';
import { pairOf } from '../loading/harness.js';
import { install, nodeOf } from './install.js';
import { expectOneTrace, observe, ours, serve } from './support.js';
import type { Program } from './support.js';

interface Case {
  readonly name: string;
  readonly args: readonly string[];
  readonly tool: string;
  readonly says: string;
}

const folderOf = (name: string): string => join(import.meta.dirname, name);
const serverFile = (name: string): string =>
  `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`;

/** Both sides in one trace, and the program prints the same without the plugin. */
async function expectSeen(
  program: Program,
  imports: string | readonly string[],
  tool: string,
  says: string,
): Promise<void> {
  const on = await observe(program, [imports].flat());
  expect(on.run).toMatchObject({ code: 0 });
  expect(on.run.stdout).toContain(says);
  expectOneTrace(on.spans, tool);
  const off = await observe(program, []);
  expect(off.run).toMatchObject({ code: 0, stdout: on.run.stdout });
}

/** Runs `use` beside a server over HTTP and hands back the server's spans. */
async function besides<T>(
  server: Program,
  imports: readonly string[],
  use: (port: number) => Promise<T>,
): Promise<{ readonly result: T; readonly spans: Awaited<ReturnType<typeof observe>>['spans'] }> {
  const running = await serve(server, imports);
  try {
    const result = await use(running.port);
    await running.stop();
    return { result, spans: running.spans };
  } finally {
    await running.stop();
  }
}

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
    expectSeen({ cwd, args }, otel, tool, says),
  );

  it.each([
    { way: 'streamableHttp', path: '/mcp' },
    { way: 'sse', path: '/sse' },
  ])('server-everything over $way: both sides, one trace', async ({ way, path }) => {
    const { result, spans } = await besides(
      { cwd, args: [serverFile('everything'), way] },
      [otel],
      (port) => {
        const url = `http://127.0.0.1:${port}${path}`;
        const input = JSON.stringify({ url, tool: 'echo', arguments: { message: 'hi' } });
        return observe({ cwd, args: ['call.mjs', input] }, [otel]);
      },
    );
    expect(result.run).toMatchObject({ code: 0, stderr: '' });
    expect(result.run.stdout).toContain('Echo: hi');
    expectOneTrace([...result.spans, ...spans], 'echo');
  });

  function call(name: string, args: readonly string[], tool: string, input: object, says: string): Case {
    const env = { MEMORY_FILE_PATH: join(cwd, 'node_modules', 'memory.jsonl') };
    const target = {
      command: process.execPath,
      args: [serverFile(name), ...args],
      env,
      tool,
      arguments: input,
    };
    return { name, args: ['call.mjs', JSON.stringify(target)], tool, says };
  }
});

describe('MCP Inspector, command line', () => {
  const echo = (node: string): string[] => [
    node,
    serverFile('everything'),
    '--method=tools/call',
    '--tool-name=echo',
    '--tool-arg=message=hi',
  ];

  it('0.15.0 over stdio: both sides, one trace, same output', async () => {
    const cwd = folderOf('inspector');
    const otel = await install(cwd);
    const cli = 'node_modules/@modelcontextprotocol/inspector/cli/build/cli.js';
    const args = [cli, '--cli', '-e', `NODE_OPTIONS=--import ${otel}`];
    await expectSeen({ cwd, args: [...args, ...echo(process.execPath)] }, otel, 'echo', 'Echo: hi');
  });

  it('2.12.0 on Node 24 over stdio: both sides, one trace, same output', async () => {
    const cwd = folderOf('inspector-2');
    const otel = await install(cwd);
    const node = await nodeOf(24);
    const cli = 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js';
    const variables = [`NODE_OPTIONS=--import ${otel}`, 'OTEL_EXPORTER_OTLP_ENDPOINT={endpoint}'];
    const args = [cli, '--cli', ...variables.flatMap((variable) => ['-e', variable])];
    await expectSeen({ cwd, node, args: [...args, ...echo(node)] }, otel, 'echo', 'Echo: hi');
  });
});

describe('frameworks, each without a model', () => {
  it.each([
    { name: 'LangChain MCP adapters 1.1.4', folder: 'langchain' },
    { name: 'OpenAI agents core 0.20.0', folder: 'openai-agents' },
    { name: 'mcp-use 1.34.6', folder: 'mcp-use' },
  ])('$name over stdio: both sides, one trace, same output', async ({ folder }) => {
    const cwd = folderOf(folder);
    const otel = await install(cwd);
    await expectSeen({ cwd, args: ['call.mjs'] }, otel, 'echo', 'Echo: hi');
  });

  it('Mastra 2.0.0 on Node 24 over stdio, flushed by its own exit hook: both sides, one trace, same output', async () => {
    const cwd = folderOf('mastra');
    const otel = await install(cwd);
    const imports = [otel, pathToFileURL(join(cwd, 'flush.mjs')).href];
    await expectSeen({ cwd, node: await nodeOf(24), args: ['call.mjs'] }, imports, 'echo', 'Echo: hi');
  });
});

describe('the run of a framework is the run of its calls, by the resolver for it', () => {
  it.each([
    {
      name: 'OpenAI agents: the trace',
      folder: 'openai-agents',
      args: ['run.mjs'],
      run: (stdout: string) => /^trace_\w+$/m.exec(stdout)?.[0],
    },
    { name: 'LangGraph: the thread', folder: 'langchain', args: ['graph.mjs'], run: () => 'thread-7' },
  ])('$name', async ({ folder, args, run: runOf }) => {
    const cwd = folderOf(folder);
    const otel = await install(cwd);
    const { run, spans } = await observe({ cwd, args }, [otel]);
    expect(run).toMatchObject({ code: 0 });
    expectOneTrace(spans, 'echo');
    const runId = runOf(run.stdout);
    expect(runId).toBeDefined();
    const { client, server } = pairOf(ours(spans), 'echo');
    for (const { attributes } of [client, server]) expect(attributes).toMatchObject({ [ATTR_RUN_ID]: runId });
    expect(client.attributes[ATTR_RUN_SOURCE]).toBe('framework');
  });
});

describe('FastMCP 4.20.16 as the server, called by a client of SDK v1', () => {
  const cwd = folderOf('fastmcp');
  const greet = { tool: 'greet', arguments: { name: 'Ann' } };
  let otel: string;
  beforeAll(async () => {
    otel = await install(cwd);
  });

  it('over stdio: both sides, one trace, same output', async () => {
    const input = JSON.stringify({ command: process.execPath, args: ['server.mjs'], ...greet });
    await expectSeen({ cwd, args: ['call.mjs', input] }, otel, 'greet', 'Hello, Ann');
  });

  it('over HTTP: both sides, one trace', async () => {
    const { result, spans } = await besides({ cwd, args: ['server.mjs', 'http'] }, [otel], (port) => {
      const input = JSON.stringify({ url: `http://127.0.0.1:${port}/mcp`, ...greet });
      return observe({ cwd, args: ['call.mjs', input] }, [otel]);
    });
    expect(result.run).toMatchObject({ code: 0 });
    expectOneTrace([...result.spans, ...spans], 'greet');
  });
});

describe('Vercel AI SDK 1.0.102, whose client is its own', () => {
  const cwd = folderOf('ai-sdk');
  let otel: string;
  beforeAll(async () => {
    otel = await install(cwd);
  });

  it('its client is not seen by itself: the span of the server is a root', async () => {
    const { run, spans } = await observe({ cwd, args: ['call.mjs', 'plain'] }, [otel]);
    expect(run).toMatchObject({ code: 0 });
    const calls = ours(spans).filter(({ name }) => name === 'tools/call echo');
    expect(calls).toMatchObject([{ kind: 'server' }]);
    expect(calls[0]?.parentSpanId ?? '').toBe('');
  });

  it('with instrumentTransport over stdio: both sides, one trace, same output', () =>
    expectSeen({ cwd, args: ['call.mjs', 'instrumented'] }, otel, 'echo', 'Echo: hi'));

  it("with instrumentTransport on the MCP SDK's HTTP transport: both sides, one trace", async () => {
    const everything = { cwd, args: [serverFile('everything'), 'streamableHttp'] };
    const { result, spans } = await besides(everything, [otel], (port) =>
      observe({ cwd, args: ['call.mjs', 'instrumented', `http://127.0.0.1:${port}/mcp`] }, [otel]),
    );
    expect(result.run).toMatchObject({ code: 0 });
    expect(result.run.stdout).toContain('Echo: hi');
    expectOneTrace([...result.spans, ...spans], 'echo');
  });
});
