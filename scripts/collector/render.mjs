// Writes the configuration files of collector-config/ from collector-config/src/: each is complete and stands alone,
// and what they share is written once. `--check` writes nothing and fails if a file is not what the sources give.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { patterns } from './patterns.mjs';

const folder = fileURLToPath(new URL('../../collector-config/', import.meta.url));
const parts = join(folder, 'src', 'parts');

/** A pattern inside a double-quoted OTTL string inside a single-quoted YAML scalar. */
const ottl = (pattern) => pattern.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll("'", "''");

const anyPattern = patterns.map(({ pattern }) => `(?:${pattern})`).join('|');

const blockedValues = patterns
  .map(({ class: name, pattern }) => `      # ${name}\n      - '${pattern.replaceAll("'", "''")}'`)
  .join('\n');

function expand(text, from) {
  return text
    .split('\n')
    .map((line) => {
      const include = /^\s*#@include (\S+)$/.exec(line);
      if (include) return expand(readFileSync(join(parts, include[1]), 'utf8').trimEnd(), include[1]);
      if (/^\s*#@/.test(line)) throw new Error(`${from}: unknown directive: ${line.trim()}`);
      return line;
    })
    .join('\n')
    .replaceAll('@IDS@', () => ottl(anyPattern))
    .replaceAll('      @BLOCKED@', () => blockedValues);
}

/** Every file name with the text that the sources give. */
export function render() {
  return readdirSync(join(folder, 'src'))
    .filter((name) => name.endsWith('.yaml'))
    .sort()
    .map((name) => {
      const source = readFileSync(join(folder, 'src', name), 'utf8');
      const origin = `# Written by scripts/collector/render.mjs from src/${name}: change that one.\n`;
      return { name, text: origin + expand(source, name) };
    });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const check = process.argv.includes('--check');
  for (const { name, text } of render()) {
    const path = join(folder, name);
    if (!check) {
      writeFileSync(path, text);
      continue;
    }
    let present = '';
    try {
      present = readFileSync(path, 'utf8');
    } catch {
      // Reported below like a difference.
    }
    if (present !== text) {
      process.stderr.write(
        `collector-config/${name} is not what its sources give: run node scripts/collector/render.mjs\n`,
      );
      process.exitCode = 1;
    }
  }
}
