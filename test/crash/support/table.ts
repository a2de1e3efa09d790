/** The table of docs/crash.md: how many of the stages that a killed process had reached are left, by the way they took. */
import { readFileSync, writeFileSync } from 'node:fs';
import { SCENARIOS, type Point } from '../plan.js';
import { CHANNELS } from './receiver.js';
import type { Survivors } from './evidence.js';

export interface Measured {
  readonly point: Point;
  readonly reached: number;
  readonly left: Survivors;
}

const PAGE = new URL('../../../docs/crash.md', import.meta.url);
const BEGIN = '<!-- crash-table:begin -->';
const END = '<!-- crash-table:end -->';
/** As a call reaches them, scenario by scenario. */
const ORDER = SCENARIOS.flatMap(({ stages }) =>
  stages.map((each) => (typeof each === 'string' ? each : each.stage)),
);
const WAYS = ['journal', ...CHANNELS] as const;

/** One row a stage, over all SDKs, transports and rounds; a range where they differ. */
export function tableOf(measured: readonly Measured[]): string {
  const stages = ORDER.filter((stage) => measured.some(({ point }) => point.stage === stage));
  const rows = stages.map((stage) => {
    const rounds = measured.filter(({ point }) => point.stage === stage);
    return [
      `\`${stage}\``,
      range(rounds.map(({ reached }) => reached)),
      ...WAYS.map((way) => range(rounds.map(({ left }) => left[way]))),
    ];
  });
  const head = [
    'killed at',
    'stages reached',
    'journal',
    'logs, simple',
    'logs, batch',
    'spans, simple',
    'spans, batch',
  ];
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function range(numbers: readonly number[]): string {
  const low = Math.min(...numbers);
  const high = Math.max(...numbers);
  return low === high ? String(low) : `${low} to ${high}`;
}

export function updateTable(table: string): void {
  const { before, after } = partsOf(readFileSync(PAGE, 'utf8'));
  writeFileSync(PAGE, `${before}${BEGIN}\n\n${table}\n\n${END}${after}`);
}

/**
 * The page has a row for every stage, and the journal keeps all there. How much a log got out of the process before it
 * died is a matter of microseconds: those columns show one run and are not compared.
 *
 * @throws when the page says something else
 */
export function checkTable(measured: readonly Measured[]): void {
  const { table } = partsOf(readFileSync(PAGE, 'utf8'));
  for (const stage of new Set(measured.map(({ point }) => point.stage))) {
    const row = table
      .split('\n')
      .map((line) => line.split('|').map((cell) => cell.trim()))
      .find((cells) => cells[1] === `\`${stage}\``);
    if (row === undefined || row[2] !== row[3]) {
      throw new Error(`docs/crash.md has no row for ${stage} in which the journal keeps every stage: ${HOW}`);
    }
  }
}

const HOW = 'WAYBILL_UPDATE_DOCS=1 npm run test:crash writes it';

function partsOf(page: string): { readonly before: string; readonly table: string; readonly after: string } {
  const begin = page.indexOf(BEGIN);
  const end = page.indexOf(END);
  if (begin < 0 || end < begin)
    throw new Error(`docs/crash.md has no place for its table: ${BEGIN} … ${END}`);
  return {
    before: page.slice(0, begin),
    table: page.slice(begin + BEGIN.length, end),
    after: page.slice(end + END.length),
  };
}
