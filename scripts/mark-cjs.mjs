// Marks the CommonJS half of every dual package before it is compiled, so that Node reads it as CommonJS.
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const packages = fileURLToPath(new URL('../packages', import.meta.url));
for (const name of readdirSync(packages)) {
  if (!existsSync(join(packages, name, 'tsconfig.cjs.json'))) continue;
  const folder = join(packages, name, 'dist', 'cjs');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"type":"commonjs"}\n');
}
