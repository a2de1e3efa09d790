// Packs every published package and holds it against publint and "are the types wrong".
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'waybill-pack-'));
const bin = (name) => join(root, 'node_modules', '.bin', name);
let failed = 0;

try {
  for (const name of readdirSync(join(root, 'packages')).sort()) {
    const path = join(root, 'packages', name);
    const manifest = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
    if (manifest.private) continue;
    const [{ filename }] = JSON.parse(
      execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
        cwd: path,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }),
    );
    const tarball = join(folder, filename);
    const dual = existsSync(join(path, 'tsconfig.cjs.json'));
    const checks = [
      [bin('publint'), ['run', tarball, '--strict']],
      [
        bin('attw'),
        [tarball, '--profile', dual ? 'node16' : 'esm-only', '--exclude-entrypoints', './register'],
      ],
    ];
    for (const [command, args] of checks) {
      try {
        execFileSync(command, args, { encoding: 'utf8', stdio: 'pipe' });
      } catch (error) {
        failed += 1;
        process.stderr.write(
          `${manifest.name}: ${command.split('/').at(-1)}\n${error.stdout}${error.stderr}\n`,
        );
      }
    }
    if (!existsSync(join(path, 'README.md'))) {
      failed += 1;
      process.stderr.write(`${manifest.name}: no README.md\n`);
    }
    process.stdout.write(`${manifest.name} checked\n`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = failed === 0 ? 0 : 1;
