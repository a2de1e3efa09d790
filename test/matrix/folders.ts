import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { npm, pack } from '../programs/install.js';
import { BUN, DENO } from './setups.js';
import type { McpSdk, OtelLine, Packages } from './setups.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CACHE = join(ROOT, '.cache/matrix');
const PROGRAMS = fileURLToPath(new URL('./app/', import.meta.url));
/** The bootstrap file that the README shows, for ES modules. */
const OTEL_MJS = join(ROOT, 'examples/todo/otel.mjs');

const installed = new Map<string, Promise<string>>();

/**
 * An application of its own with these versions, our packages from tarballs, and the programs of this folder. What npm
 * put there stays under `.cache/matrix` for the next run with the same versions and the same packages of ours.
 */
export function folderOf(mcp: McpSdk, otel: OtelLine): Promise<string> {
  const name = `mcp-${mcp.version}-otel-${otel.name}`;
  const known = installed.get(name) ?? install(name, { ...mcp.packages, ...otel.packages });
  installed.set(name, known);
  return known;
}

async function install(name: string, packages: Packages): Promise<string> {
  const { tarballs } = await packOnce();
  const folder = join(CACHE, name);
  const ours = tarballs.map((file) => [ourName(file), `file:${file}`] as const);
  const manifest = {
    name: 'matrix',
    version: '1.0.0',
    private: true,
    dependencies: { ...packages, ...Object.fromEntries(ours) },
  };
  const wanted = JSON.stringify(manifest, undefined, 2);
  const stamp = join(folder, 'node_modules', '.waybill-installed');
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
    mkdirSync(folder, { recursive: true });
    rmSync(stamp, { force: true });
    writeFileSync(join(folder, 'package.json'), wanted);
    await npm(['install', '--ignore-scripts', '--prefer-offline'], folder);
    writeFileSync(stamp, wanted);
  }
  copyPrograms(folder);
  return folder;
}

function copyPrograms(folder: string): void {
  for (const file of readdirSync(PROGRAMS)) cpSync(join(PROGRAMS, file), join(folder, file));
  cpSync(OTEL_MJS, join(folder, 'otel.mjs'));
}

/** A package of its own inside `folder` that declares nothing and finds everything in the `node_modules` around it. */
export function apartIn(folder: string): string {
  const apart = join(folder, 'apart');
  mkdirSync(apart, { recursive: true });
  writeFileSync(join(apart, 'package.json'), JSON.stringify({ name: 'apart', private: true }));
  copyPrograms(apart);
  return apart;
}

/** Executables of Bun and Deno, out of their npm packages for this platform. */
export async function otherRuntimes(): Promise<{ readonly bun: string; readonly deno: string }> {
  const folder = join(CACHE, `bun-${BUN}-deno-${DENO}`);
  const modules = join(folder, 'node_modules');
  if (!existsSync(join(modules, '.waybill-installed'))) {
    mkdirSync(folder, { recursive: true });
    const manifest = { name: 'runtimes', private: true, dependencies: { bun: BUN, deno: DENO } };
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
    await npm(['install', '--ignore-scripts', '--prefer-offline'], folder);
    writeFileSync(join(modules, '.waybill-installed'), '');
  }
  return {
    bun: executable(modules, 'bun', '@oven', 'bin/bun'),
    deno: executable(modules, 'deno', '@deno', 'deno'),
  };
}

/** The packages of the platforms lie beside the package that names them, or inside it: npm has both ways. */
function executable(modules: string, name: string, scope: string, file: string): string {
  const scopes = [join(modules, scope), join(modules, name, 'node_modules', scope)].filter((path) =>
    existsSync(path),
  );
  const found = scopes
    .flatMap((path) =>
      readdirSync(path)
        .toSorted()
        .map((platform) => join(path, platform, file)),
    )
    .find((path) => existsSync(path));
  if (found === undefined)
    throw new Error(`${scope} has no package with ${file} for this platform in ${modules}`);
  return found;
}

let packed: ReturnType<typeof pack> | undefined;

function packOnce(): ReturnType<typeof pack> {
  return (packed ??= pack());
}

/** `waybill-core-0.1.0.tgz` holds `@waybill/core`. */
function ourName(tarball: string): string {
  const match = /^waybill-(.+)-\d+\.\d+\.\d+\.tgz$/.exec(basename(tarball));
  if (match === null) throw new Error(`${tarball} is not a tarball of a package of ours`);
  return `@waybill/${match[1]}`;
}
