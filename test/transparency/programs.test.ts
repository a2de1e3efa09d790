import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cleanEnvironment } from '../loading/harness.js';
import {
  CLIENTS,
  INSTRUMENTED,
  runApplication,
  type CallSpec,
  type Job,
  type ProgramRun,
} from '../wire/support/application.js';
import { told } from '../wire/support/comparable.js';

const require = createRequire(import.meta.url);
/** The file behind a package's only command: the servers export nothing. */
function mainOf(name: string): string {
  const found = (require.resolve.paths(name) ?? [])
    .map((base) => join(base, name, 'dist/index.js'))
    .find((file) => existsSync(file));
  if (found === undefined) throw new Error(`${name} is not installed`);
  return found;
}
const FILESYSTEM = mainOf('@modelcontextprotocol/server-filesystem');
const EVERYTHING = mainOf('@modelcontextprotocol/server-everything');
const PIN_LOOPBACK = new URL('../programs-light/fixtures/pin-loopback.mjs', import.meta.url).href;

const call = (name: string, args: object): CallSpec => ({
  params: { name, arguments: args },
  options: { timeout: 20_000 },
});

const everything: readonly CallSpec[] = [
  call('echo', { message: 'hi' }),
  call('echo', { message: 1 }),
  call('get-sum', { a: 2, b: 40 }),
  call('get-tiny-image', {}),
  call('get-structured-content', { location: 'Chicago' }),
  call('get-annotated-message', { messageType: 'error', includeImage: true }),
  // Without progress: its last notification and its result leave together, and whether a client still knows the token
  // when both come in one chunk is a race in the SDK itself.
  call('trigger-long-running-operation', { duration: 0.4, steps: 4 }),
  call('no-such-tool', {}),
];
const files = (folder: string): readonly CallSpec[] => {
  const file = join(folder, 'note.txt');
  return [
    call('write_file', { path: file, content: 'one\ntwo\n' }),
    call('read_text_file', { path: file, head: 1 }),
    call('edit_file', { path: file, edits: [{ oldText: 'two', newText: 'three' }] }),
    call('read_multiple_files', { paths: [file, join(folder, 'absent.txt')] }),
    call('list_directory', { path: folder }),
    call('read_text_file', { path: '/etc/hostname' }),
    call('read_text_file', {}),
    call('move_file', { source: file, destination: join(folder, 'moved.txt') }),
  ];
};

let folder: string;
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'waybill-programs-')));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Plain programs of each client, with the servers of the MCP project, all in the state in which they were shipped. */
async function run(plugin: boolean): Promise<ProgramRun> {
  const roots = CLIENTS.map((client) => join(folder, client));
  for (const root of roots) {
    rmSync(root, { recursive: true, force: true });
    mkdirSync(root);
  }
  const http = await startEverything(plugin);
  try {
    return await runApplication(
      (env) =>
        CLIENTS.slice(0, 2).flatMap((client): Job[] => [
          {
            key: `server-everything over stdio, ${client}`,
            client,
            transport: { kind: 'stdio', command: process.execPath, args: [EVERYTHING], env },
            calls: everything,
            sequence: true,
            listTools: true,
          },
          {
            key: `server-everything over Streamable HTTP, ${client}`,
            client,
            transport: { kind: 'http', url: http.url },
            calls: everything,
            sequence: true,
            listTools: true,
          },
          {
            key: `server-filesystem over stdio, ${client}`,
            client,
            transport: {
              kind: 'stdio',
              command: process.execPath,
              args: [FILESYSTEM, join(folder, client)],
              env,
            },
            calls: files(join(folder, client)),
            sequence: true,
            listTools: true,
          },
        ]),
      { plugin, concurrency: 3 },
    );
  } finally {
    await http.stop();
  }
}

async function startEverything(plugin: boolean): Promise<{ url: string; stop(): Promise<void> }> {
  const portFile = join(folder, 'port');
  rmSync(portFile, { force: true });
  const preloads = [...(plugin ? INSTRUMENTED : []), '--import', PIN_LOOPBACK].join(' ');
  const server = spawn(process.execPath, [EVERYTHING, 'streamableHttp'], {
    env: {
      ...cleanEnvironment(),
      NODE_OPTIONS: preloads,
      TEST_PORT_FILE: portFile,
      // Nothing listens there: that an export fails is no concern of the program.
      ...(plugin ? { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_METRICS_EXPORTER: 'none' } : {}),
    },
    stdio: 'ignore',
  });
  const deadline = Date.now() + 20_000;
  while (!existsSync(portFile) || readFileSync(portFile, 'utf8') === '') {
    if (Date.now() > deadline || server.exitCode !== null)
      throw new Error('server-everything did not listen');
    await sleep(20);
  }
  return {
    url: `http://127.0.0.1:${readFileSync(portFile, 'utf8')}/mcp`,
    async stop() {
      const gone = once(server, 'exit');
      server.kill('SIGKILL');
      await gone;
    },
  };
}

describe('unmodified programs', () => {
  it('give their callers the same with the plugin in client and server as with it in neither', async () => {
    const off = await run(false);
    const on = await run(true);
    expect(off.observed.size).toBe(6);
    for (const [key, observed] of off.observed) {
      expect(observed.broken, key).toBeUndefined();
      expect(told(on.observed.get(key)), key).toEqual(told(observed));
    }
    expect([...on.unhandled, ...on.uncaught, ...on.warnings]).toEqual([]);
    // The comparison was made with the plugin at work.
    expect(on.spans.filter(({ name }) => name === 'tools/call echo').length).toBeGreaterThanOrEqual(6);
  }, 120_000);
});
