/**
 * Other ways to run the same programs: worker threads, modules that are loaded twice, Bun and Deno. Two copies of the SDK
 * or of the plugin in one process, and bundles, are tests of test/loading.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ATTR_INSTRUMENTATION_DEGRADED } from '@waybill/core';
import { describe, expect, it } from 'vitest';
import { nodeOf } from '../programs/install.js';
import { expectInDocs } from './docs.js';
import { apartIn, folderOf, otherRuntimes } from './folders.js';
import { judge } from './judge.js';
import { CALLS, nodeOptions, play } from './play.js';
import type { Launch } from './play.js';
import { BUN, DENO, FORMATS, NEWEST, OTEL_2, V1 } from './setups.js';
import type { Format, McpSdk } from './setups.js';

interface Place {
  readonly folder: string;
  readonly line: McpSdk['line'];
  readonly format: Format;
  /** The program that every way runs in the end. */
  readonly program: string;
}

interface Way {
  readonly runtime: string;
  readonly how: string;
  readonly formats: readonly Format[];
  readonly seen: 'everything' | 'nothing';
  readonly withoutSockets?: true;
  readonly start: (place: Place) => Launch | Promise<Launch>;
  /** The same without the plugin. */
  readonly plain: (place: Place) => Launch | Promise<Launch>;
}

const NODE = 20;
const ESM: readonly Format[] = ['esm'];

async function node(cwd: string, program: string, env: Launch['env'] = {}): Promise<Launch> {
  return { cwd, command: [await nodeOf(NODE)], program, env };
}

const plainNode: Way['plain'] = ({ folder, program }) => node(folder, program);

/** A worker thread of a program that brings the plugin on its command line. */
async function worker({ folder, program }: Place, env: Launch['env']): Promise<Launch> {
  const imports = ['otel.mjs', 'report.mjs'].flatMap((name) => [
    '--import',
    pathToFileURL(join(folder, name)).href,
  ]);
  return {
    cwd: folder,
    command: [await nodeOf(NODE), ...imports],
    program: 'worker.mjs',
    env: { MATRIX_PROGRAM: `./${program}`, MATRIX_SERVER_ARGS: JSON.stringify(imports), ...env },
  };
}

/** Bun or Deno with the bootstrap files loaded first, by the client and by the server that it starts. */
async function other(name: 'bun' | 'deno', cwd: string, program: string, format?: Format): Promise<Launch> {
  const binary = (await otherRuntimes())[name];
  const files = format === 'esm' ? ['otel.mjs', 'report.mjs'] : ['otel.cjs', 'report.cjs'];
  const args = [
    ...(name === 'deno' ? ['run', '--allow-all'] : []),
    ...(format === undefined ? [] : files.flatMap((file) => ['--preload', `./${file}`])),
  ];
  const env = { MATRIX_SERVER_ARGS: JSON.stringify(args), DENO_NO_UPDATE_CHECK: '1' };
  return { cwd, command: [binary, ...args], program, env };
}

function waysOf(name: 'bun' | 'deno', runtime: string, withoutSockets: boolean): readonly Way[] {
  const sockets = withoutSockets ? { withoutSockets: true as const } : {};
  return [
    {
      runtime,
      how: '`--preload`',
      formats: FORMATS,
      seen: 'everything',
      ...sockets,
      start: ({ folder, program, format }) => other(name, folder, program, format),
      plain: ({ folder, program }) => other(name, folder, program),
    },
    {
      runtime,
      how: '`--preload`, an SDK that no `package.json` of the program names',
      formats: ESM,
      seen: 'nothing',
      start: ({ folder, program, format }) => other(name, apartIn(folder), program, format),
      plain: ({ folder, program }) => other(name, apartIn(folder), program),
    },
    {
      runtime,
      how: 'the same, handed over by `instrumentModules()`',
      formats: ESM,
      seen: 'everything',
      ...sockets,
      start: ({ folder, line, format }) => other(name, apartIn(folder), `given-${line}.mjs`, format),
      plain: ({ folder, program }) => other(name, apartIn(folder), program),
    },
  ];
}

const WAYS: readonly Way[] = [
  {
    runtime: `Node ${NODE}`,
    how: 'worker thread, `--import` on the command line',
    formats: ESM,
    seen: 'everything',
    start: (place) => worker(place, {}),
    plain: plainNode,
  },
  {
    runtime: `Node ${NODE}`,
    how: 'worker thread with `execArgv: []`, `--import` on the command line',
    formats: ESM,
    seen: 'nothing',
    start: (place) => worker(place, { MATRIX_EXEC_ARGV: '[]', MATRIX_SERVER_ARGS: '[]' }),
    plain: plainNode,
  },
  {
    runtime: `Node ${NODE}`,
    how: 'worker thread with `execArgv: []`, `--import` or `--require` in `NODE_OPTIONS`',
    formats: FORMATS,
    seen: 'everything',
    start: ({ folder, program, format }) =>
      node(folder, 'worker.mjs', {
        MATRIX_PROGRAM: `./${program}`,
        MATRIX_EXEC_ARGV: '[]',
        NODE_OPTIONS: nodeOptions(folder, format),
      }),
    plain: plainNode,
  },
  {
    runtime: `Node ${NODE}`,
    how: 'worker thread with `execArgv: []` that imports the bootstrap file first',
    formats: ESM,
    seen: 'everything',
    start: ({ folder, line }) =>
      node(folder, 'worker.mjs', { MATRIX_PROGRAM: `./self-${line}.mjs`, MATRIX_EXEC_ARGV: '[]' }),
    plain: plainNode,
  },
  {
    runtime: `Node ${NODE}`,
    how: 'modules of the SDK imported again with `?query`',
    formats: ESM,
    seen: 'everything',
    start: ({ folder, line, format }) =>
      node(folder, `reload-${line}.mjs`, { NODE_OPTIONS: nodeOptions(folder, format) }),
    plain: plainNode,
  },
  {
    runtime: `Node ${NODE}`,
    how: 'the plugin imported again with `?query`, a second instrumentation made',
    formats: ESM,
    seen: 'everything',
    start: ({ folder, line, format }) =>
      node(folder, `reload-${line}.mjs`, {
        NODE_OPTIONS: nodeOptions(folder, format),
        MATRIX_RELOAD_PLUGIN: 'true',
      }),
    plain: plainNode,
  },
  ...waysOf('bun', `Bun ${BUN}`, true),
  ...waysOf('deno', `Deno ${DENO}`, false),
];

const CASES = WAYS.flatMap((way) =>
  NEWEST.flatMap((mcp) => way.formats.map((format) => ({ way, mcp, format }))),
);
const cells = new Map<string, string>();

describe.concurrent('other ways to run', () => {
  for (const { way, mcp, format } of CASES) {
    it(`${nameOf(way, mcp, format)}: ${way.seen} is seen`, async () => {
      const folder = await folderOf(mcp, OTEL_2);
      const program = `${mcp.line}.${format === 'esm' ? 'mjs' : 'cjs'}`;
      const place = { folder, line: mcp.line, format, program };
      const [launch, without] = await Promise.all([way.start(place), way.plain(place)]);
      const [seen, plain] = await Promise.all([play(launch), play(without)]);
      const { good, made, faults } = judge(
        seen,
        way.withoutSockets === undefined ? {} : { withoutSockets: true },
      );
      cells.set(nameOf(way, mcp, format), `${good}/${made}`);
      if (way.seen === 'everything') expect(faults).toEqual([]);
      else expect(seen.spans).toEqual([]);
      expect(seen.answers).toEqual(plain.answers);
    });
  }
});

it.each(['bun', 'deno'] as const)(
  '%s with an SDK whose fetch is hidden says what could not be seen',
  async (name) => {
    const old = V1.find(({ version }) => version === '1.12.3');
    if (old === undefined) throw new Error('no set-up with SDK 1.12.3');
    const { spans, trouble } = await play(await other(name, await folderOf(old, OTEL_2), 'v1.mjs', 'esm'));
    expect(trouble).toBe('');
    const clients = spans.filter(
      (span) => span.kind === 'client' && span.name.startsWith('tools/call json_'),
    );
    const missing = ['StreamableHTTPClientTransport._fetch'];
    expect(clients.map(({ attributes }) => attributes[ATTR_INSTRUMENTATION_DEGRADED])).toEqual(
      CALLS.map(() => missing),
    );
  },
);

it('docs/versions.md shows what was seen', () => {
  const head = [
    'runtime',
    'how',
    ...NEWEST.flatMap(({ version }) => [`${version}, ES modules`, `${version}, CommonJS`]),
  ];
  const rows = WAYS.map((way) => [
    way.runtime,
    way.how,
    ...NEWEST.flatMap((mcp) =>
      FORMATS.map((format) =>
        way.formats.includes(format) ? (cells.get(nameOf(way, mcp, format)) ?? 'not run') : '',
      ),
    ),
  ]);
  expectInDocs('runtimes', head, rows);
});

function nameOf({ runtime, how }: Way, { version }: McpSdk, format: Format): string {
  return `${runtime}, ${how}, MCP SDK ${version}, ${format === 'esm' ? 'ES modules' : 'CommonJS'}`;
}
