import { ATTR_SDK_OUTCOME } from '@waybill/core';
import { DIFFERENCES, listedFor } from './cell-differences.js';
import { FAULTS_ON_THE_WIRE } from './cell-faults.js';
import { CELLS, SDKS, expectedOf, wireOf, type Cell } from './cells.js';
import { code, table } from './page.js';
import type { PlayResult } from './peers.js';
import { toldOf } from './told.js';

/** The part of docs/wire-cases.md that the cells fill. */
export function cellPart(played: (cell: Cell) => PlayResult): readonly string[] {
  const listed = CELLS.filter((cell) => listedFor(cell).length > 0);
  const timeouts = CELLS.filter((cell) => {
    const { settled } = played(cell).observed;
    return toldOf(settled[0], { outcome: 'TIMEOUT', contentMissing: false }).kind === 'timeout';
  });
  const silent = timeouts.filter((cell) => expectedOf(cell).spans.at(-1)?.outcome === 'TIMEOUT').length;
  return [
    `In ${timeouts.length} of the cells the SDK told its caller of a timeout. In ${silent} of them the wire was silent; in the other ${timeouts.length - silent} Waybill says what came or ended.`,
    '',
    `${CELLS.length} cells, all of them with the outcome, the reason and the end that the table below has; ${CELLS.length - listed.length} also with exactly the client's stages that the matrix derives. The others, by name:`,
    '',
    ...table(
      ['what differs', 'cells', 'why', 'where'],
      DIFFERENCES.map(({ kind, title, why, cells }) => [
        title,
        CELLS.filter((cell) => listedFor(cell).includes(kind)).length,
        why,
        Object.entries(cells)
          .map(([fault, columns]) => fault + (columns.includes('all') ? '' : ` (${columns.join(', ')})`))
          .join('; '),
      ]),
    ),
    '',
    '### One row for the same bytes',
    '',
    'Stages without `client.`; the star as above. `cancel_sent` in brackets: only where the version has a message for it, or the exchange was still open.',
    '',
    ...table(
      ['transport', 'probe', 'Waybill', 'stages', ...SDKS.map((sdk) => `${sdk} told`)],
      Object.keys(FAULTS_ON_THE_WIRE).map((wire) => rowOf(wire, played)),
    ),
  ];
}

function rowOf(wire: string, played: (cell: Cell) => PlayResult): readonly string[] {
  const [transport = '', probe = ''] = wire.split(' ');
  const cells = CELLS.filter((cell) => wireOf(cell) === wire);
  const [first] = cells;
  if (first === undefined) throw new Error(`no cell of ${wire}`);
  const { outcome, reason, status, flags = [] } = expectedOf(first).spans.at(-1) ?? {};
  const stages = new Set(
    cells.map((cell) =>
      expectedOf(cell)
        .spans.slice(-1)
        .flatMap((span) => span.stages.map((stage) => stage.replace('client.', '')))
        .join(' '),
    ),
  );
  const [longest = '', ...others] = [...stages].sort((a, b) => b.length - a.length);
  const optional = others.some((each) => longest === `${each} cancel_sent`);
  return [
    transport,
    probe,
    `${outcome}${status === undefined ? '' : ` ${status}`}${reason === undefined ? '' : ` ${code(reason)}`}${flags.map((flag) => `, ${code(flag)}`).join('')}`,
    optional ? longest.replace('cancel_sent', '(cancel_sent)') : [longest, ...others].join(' / '),
    ...SDKS.map((sdk) => {
      const cell = cells.find((each) => each.sdk === sdk);
      if (cell === undefined) return '–';
      const { observed, spans } = played(cell);
      const told = toldOf(observed.settled[0], {
        outcome: outcome ?? 'TOOL_SUCCESS',
        contentMissing: HOLLOW.has(probe),
      });
      return told.name + (spans.at(-1)?.attributes[ATTR_SDK_OUTCOME] === undefined ? '' : ' *');
    }),
  ];
}

/** Probes whose result has no `content`. */
const HOLLOW: ReadonlySet<string> = new Set(['content_missing', 'input_required']);
