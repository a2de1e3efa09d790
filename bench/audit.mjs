// npm run bench:audit [-- SPANS ROUNDS]
//
// `waybill audit` against bare JSON.parse of the same bytes, in child processes and interleaved rounds; findings must
// equal the planted ones exactly. Figures are ratios of CPU time (user + system) within this run, since machines are
// shared; peak memory is the resident set of the child.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const [spans = '100000', rounds = '5'] = process.argv.slice(2);
const folder = join(root, '.cache', 'bench', spans);
mkdirSync(folder, { recursive: true });
if (!existsSync(join(folder, 'truth.json'))) {
  run([join(root, 'bench', 'generate.mjs'), spans, folder]);
}
const traces = join(folder, 'traces.jsonl');
const report = join(folder, 'report.jsonl');

/** Splits on newlines in one buffer and parses each line: the least that any reader of JSON Lines does. */
const bare = `
  const fs = require('node:fs');
  const bytes = fs.readFileSync(${JSON.stringify(traces)});
  let from = 0, lines = 0;
  for (let to; (to = bytes.indexOf(10, from)) !== -1; from = to + 1) {
    JSON.parse(bytes.toString('utf8', from, to));
    lines += 1;
  }
  if (lines === 0) process.exitCode = 1;
`;
const audit = [
  join(root, 'packages', 'cli', 'bin', 'waybill.js'),
  'audit',
  traces,
  '--receipts',
  join(folder, 'receipts.jsonl'),
  '--format',
  'jsonl',
  '--output',
  report,
];

const figures = { bare: [], audit: [] };
for (let round = 0; round < Number(rounds); round += 1) {
  const order = round % 2 === 0 ? ['bare', 'audit'] : ['audit', 'bare'];
  for (const what of order) figures[what].push(measured(what === 'bare' ? ['-e', bare] : audit));
}

const cpu = (what) => median(figures[what].map((figure) => figure.cpu));
const memory = (what) => median(figures[what].map((figure) => figure.memory));
const owed = JSON.parse(readFileSync(join(folder, 'truth.json'), 'utf8'))
  .findings.map(String)
  .sort();
const found = readFileSync(report, 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line))
  .filter((entry) => entry.rule !== undefined && entry.level !== undefined && entry.level !== 'info')
  .map((entry) => String([entry.rule, entry.operation]))
  .sort();
const equal = owed.length === found.length && owed.every((finding, index) => finding === found[index]);

process.stdout.write(
  [
    `${spans} spans, ${rounds} rounds, Node ${process.version}`,
    `bare JSON.parse   ${cpu('bare').toFixed(2)} s CPU, ${memory('bare')} MB`,
    `waybill audit     ${cpu('audit').toFixed(2)} s CPU, ${memory('audit')} MB`,
    `speed             ${(cpu('bare') / cpu('audit')).toFixed(2)}x bare JSON.parse`,
    `findings          ${equal ? 'exactly' : 'NOT'} the ${owed.length} planted (${found.length} found)`,
    '',
  ].join('\n'),
);
process.exitCode = equal ? 0 : 1;

function run(args) {
  const result = spawnSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 1 << 28 });
  // `waybill audit` ends with 1 when it has findings, and it has.
  if (result.status !== 0 && result.status !== 1) throw new Error(result.stderr);
  return result;
}

/** CPU seconds and peak resident megabytes of one child, told by the child itself at its exit. */
function measured(args) {
  const tell =
    'data:text/javascript,process.on("exit",()=>{const u=process.resourceUsage();process._rawDebug("USAGE "+JSON.stringify([u.userCPUTime+u.systemCPUTime,u.maxRSS]))})';
  const result = run(['--import', tell, ...args]);
  const [microseconds, kilobytes] = JSON.parse(/USAGE (.*)/.exec(result.stderr)?.[1] ?? '[0,0]');
  return { cpu: microseconds / 1e6, memory: Math.round(kilobytes / 1024) };
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
