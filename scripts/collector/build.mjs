// Builds what the tests of the pipeline run: a Collector with the components of collector-config/build, and Jaeger 2.
//
//   node scripts/collector/build.mjs [collector] [jaeger]     prints one path per line, timings on stderr
//
// The versions are pinned in one place each: collector-config/build/go.mod and scripts/collector/jaeger/go.mod. A
// binary is cached under the hash of those files, in $XDG_CACHE_HOME/waybill-collector or .cache/ of the checkout.
// OTELCOL_BIN and JAEGER_BIN name binaries of your own, which are then taken as they are.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const cache = process.env.XDG_CACHE_HOME
  ? join(process.env.XDG_CACHE_HOME, 'waybill-collector')
  : join(root, '.cache', 'collector');

const programs = {
  collector: {
    folder: join(root, 'collector-config', 'build'),
    target: '.',
    override: 'OTELCOL_BIN',
    name: 'otelcol-waybill',
  },
  jaeger: {
    folder: join(root, 'scripts', 'collector', 'jaeger'),
    target: 'github.com/jaegertracing/jaeger/cmd/jaeger',
    override: 'JAEGER_BIN',
    name: 'jaeger',
  },
};

/** The Go toolchain's version, or undefined where there is none. */
export function goVersion() {
  const run = spawnSync('go', ['env', 'GOVERSION', 'GOOS', 'GOARCH'], { encoding: 'utf8' });
  return run.status === 0 ? run.stdout.trim().replaceAll('\n', ' ') : undefined;
}

/**
 * The path of a program, built if it has to be.
 *
 * @param {'collector' | 'jaeger'} which
 * @returns {string | undefined} undefined where Go is missing and nothing is named or cached
 */
export function binary(which) {
  const { folder, target, override, name } = programs[which];
  const named = process.env[override];
  if (named) {
    if (!existsSync(named)) throw new Error(`${override}=${named}: no such file`);
    return named;
  }
  const go = goVersion();
  if (!go) return undefined;
  const hash = createHash('sha256').update(go);
  for (const file of readdirSync(folder).sort())
    hash.update(`\n${file}\n`).update(readFileSync(join(folder, file)));
  const path = join(cache, `${name}-${hash.digest('hex').slice(0, 16)}`);
  if (existsSync(path)) return path;

  mkdirSync(cache, { recursive: true });
  const started = Date.now();
  process.stderr.write(`building ${name} (${go}); a first build takes several minutes\n`);
  // One package at a time and at the lowest priority: whoever builds this is usually doing something else as well.
  const command = ['go', 'build', '-p', process.env.WAYBILL_GO_JOBS ?? '1', '-trimpath', '-buildvcs=false'];
  const [program, ...args] = [...(process.platform === 'win32' ? [] : ['nice', '-n', '19']), ...command];
  const temporary = `${path}.${process.pid}`;
  execFileSync(program, [...args, '-ldflags=-s -w', '-o', temporary, target], {
    cwd: folder,
    stdio: ['ignore', 2, 2],
    env: { ...process.env, GOFLAGS: '', GOWORK: 'off', CGO_ENABLED: '0' },
  });
  renameSync(temporary, path);
  const megabytes = Math.round(statSync(path).size / 1e6);
  process.stderr.write(
    `built ${name} in ${((Date.now() - started) / 1000).toFixed(1)} s, ${megabytes} MB: ${path}\n`,
  );
  return path;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const wanted = process.argv.slice(2);
  for (const which of wanted.length > 0 ? wanted : Object.keys(programs)) {
    if (!(which in programs)) {
      process.stderr.write(`unknown program ${which}: one of ${Object.keys(programs).join(', ')}\n`);
      process.exitCode = 2;
      continue;
    }
    const path = binary(which);
    if (path) process.stdout.write(`${path}\n`);
    else {
      process.stderr.write(`${which}: Go is not installed; install it or set ${programs[which].override}\n`);
      process.exitCode = 1;
    }
  }
}
