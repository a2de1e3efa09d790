import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CACHE = join(ROOT, '.cache/tarballs');
const MINUTES = 60_000;

/** What a program that wants the plugin installs of ours: the plugin and what it depends on. */
const OURS = ['api', 'core', 'instrumentation-mcp'];

let packed: Promise<{ readonly tarballs: readonly string[]; readonly digest: string }> | undefined;

/**
 * Installs a folder that has its own `package.json` and lockfile: exactly what the lockfile names, and our packages
 * from tarballs as a registry would serve them. A second run with the same lockfile and the same packages is free.
 * `scripts` runs the install scripts of the program's own dependencies.
 *
 * Returns the `--import` URL of the `otel.mjs` that the README shows. It is put beside the installed packages, since
 * it imports them by name.
 */
export async function install(folder: string): Promise<string> {
  const { tarballs, digest } = await (packed ??= pack());
  const lock = createHash('sha256')
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex');
  const stamp = join(folder, 'node_modules', '.waybill-installed');
  const otel = join(folder, 'node_modules', 'otel.mjs');
  const wanted = `${lock} ${digest}`;
  const found = existsSync(stamp) ? readFileSync(stamp, 'utf8') : '';
  if (found !== wanted) {
    rmSync(stamp, { force: true });
    if (!found.startsWith(lock)) await npm(['ci', '--ignore-scripts'], folder);
    await npm(['install', '--no-save', '--ignore-scripts', ...tarballs], folder);
    writeFileSync(stamp, wanted);
  }
  copyFileSync(join(ROOT, 'examples/todo/otel.mjs'), otel);
  return pathToFileURL(otel).href;
}

/** The executable of a Node release line, fetched by npx where this process is another one. */
export async function nodeOf(major: number): Promise<string> {
  if (Number(process.versions.node.split('.')[0]) === major) return process.execPath;
  const args = ['--yes', '--package', `node@${major}`, 'node', '--print', 'process.execPath'];
  const { stdout } = await run('npx', args, { timeout: 5 * MINUTES });
  return stdout.trim();
}

/** Packs what an application installs of ours, as `npm publish` would. */
export async function pack(): Promise<{ readonly tarballs: readonly string[]; readonly digest: string }> {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, 'new-'));
  const hash = createHash('sha256');
  const files: string[] = [];
  for (const name of OURS) {
    const cwd = join(ROOT, 'packages', name);
    const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
    const { stdout } = await run('npm', args, { cwd, timeout: 2 * MINUTES });
    const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
    files.push(filename);
    hash.update(readFileSync(join(folder, filename)));
  }
  const digest = hash.digest('hex');
  // A folder for each build: npm takes a tarball that it knows under the same name for the same.
  const kept = join(CACHE, digest);
  rmSync(kept, { recursive: true, force: true });
  renameSync(folder, kept);
  return { tarballs: files.map((file) => join(kept, file)), digest };
}

/** Runs npm in `cwd`; throws with what it wrote to stderr. */
export async function npm(args: readonly string[], cwd: string): Promise<void> {
  try {
    await run('npm', [...args, '--no-audit', '--no-fund'], {
      cwd,
      timeout: 10 * MINUTES,
      maxBuffer: 1 << 26,
    });
  } catch (error) {
    const stderr = (error as { stderr?: string }).stderr ?? '';
    throw new Error(`npm ${args[0]} failed in ${cwd}: ${stderr}`, { cause: error });
  }
}
