import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';

const PAGE = 'docs/versions.md';
const FILE = fileURLToPath(new URL(`../../${PAGE}`, import.meta.url));

/**
 * Prints a table and compares it with the one that the docs show between `<!-- name -->` and `<!-- /name -->`. With
 * `--update` it is written there instead.
 */
export function expectInDocs(
  name: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  const table = render(head, rows);
  console.log(table);
  const page = readFileSync(FILE, 'utf8');
  const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [before, ...behind] = page.split(begin);
  const [shown, after] = behind.join(begin).split(end);
  if (before === undefined || shown === undefined || after === undefined) {
    throw new Error(`${PAGE} has no lines ${begin} and ${end} to put the table between`);
  }
  if (process.env['MATRIX_UPDATE'] === 'true') {
    writeFileSync(FILE, `${before}${begin}\n\n${table}\n\n${end}${after}`);
    return;
  }
  expect(shown.trim(), `${PAGE} shows another table: npm run test:matrix -- --update`).toBe(table);
}

/** Columns as wide as their widest cell, as the formatter of this project writes them. */
function render(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(3, title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, column) => (cells[column] ?? '').padEnd(width)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
