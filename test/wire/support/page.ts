import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';

const PAGE = new URL('../../../docs/wire-cases.md', import.meta.url);
const HOW = '`WAYBILL_UPDATE_DOCS=1 npm run test:wire` writes it';

/**
 * A part of docs/wire-cases.md that is measured: written where `WAYBILL_UPDATE_DOCS=1` asks for it, and otherwise
 * compared with what stands there.
 */
export function measuredPart(name: string, lines: readonly string[]): void {
  const begin = `<!-- ${name}: begin -->`;
  const end = `<!-- ${name}: end -->`;
  const page = readFileSync(PAGE, 'utf8');
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`docs/wire-cases.md has no part ${begin} … ${end}`);
  const part = ['', '<!-- prettier-ignore-start -->', ...lines, '<!-- prettier-ignore-end -->', ''].join(
    '\n',
  );
  const start = from + begin.length;
  if (process.env['WAYBILL_UPDATE_DOCS'] === '1')
    writeFileSync(PAGE, `${page.slice(0, start)}${part}${page.slice(to)}`);
  else expect(page.slice(start, to), `docs/wire-cases.md, part ${name}; ${HOW}`).toBe(part);
}

export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string[] {
  return [head, head.map(() => '---'), ...rows].map(
    (row) => `| ${row.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`,
  );
}

export const code = (text: string): string => `\`${text}\``;
