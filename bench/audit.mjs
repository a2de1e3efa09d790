// npm run bench:audit [-- SPANS ROUNDS] [--protobuf]
//
// `waybill audit` against bare JSON.parse of the same bytes, in child processes and interleaved rounds; findings must
// equal the planted ones exactly. Figures are ratios within this run, since machines are shared: of the time on the
// clock, and of CPU time (user + system, the threads of the garbage collector included). Peak memory is the resident set
// of the child. Timed is the command as people type it, with the report for a terminal; the findings are taken from a
// last run that writes every operation as JSON Lines. With --protobuf the same spans are audited as OTLP protobuf too
// (framing of the Collector's file exporter), and held against the JSON of the same spans.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const args = process.argv.slice(2);
const withProtobuf = args.includes('--protobuf');
const [spans = '100000', rounds = '5'] = args.filter((each) => !each.startsWith('--'));
const folder = join(root, '.cache', 'bench', spans);
mkdirSync(folder, { recursive: true });
if (!existsSync(join(folder, 'truth.json'))) {
  run([join(root, 'bench', 'generate.mjs'), spans, folder]);
}
const traces = join(folder, 'traces.jsonl');
const binary = join(folder, 'traces.binpb');
if (withProtobuf && !existsSync(binary)) run([join(root, 'bench', 'otlp-proto.mjs'), traces, binary]);
const forms = { audit: traces, ...(withProtobuf ? { protobuf: binary } : {}) };
const reportOf = (form) => join(folder, `report.${form}.jsonl`);

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
const auditOf = (form, format) => [
  join(root, 'packages', 'cli', 'bin', 'waybill.js'),
  'audit',
  forms[form],
  '--receipts',
  join(folder, 'receipts.jsonl'),
  '--format',
  format,
  '--output',
  format === 'jsonl' ? reportOf(form) : join(folder, `report.${form}.txt`),
];

const runs = ['bare', ...Object.keys(forms)];
const figures = Object.fromEntries(runs.map((what) => [what, []]));
for (let round = 0; round < Number(rounds); round += 1) {
  const order = round % 2 === 0 ? runs : runs.toReversed();
  for (const what of order)
    figures[what].push(measured(what === 'bare' ? ['-e', bare] : auditOf(what, 'pretty')));
}

const wall = (what) => median(figures[what].map((figure) => figure.wall));
const cpu = (what) => median(figures[what].map((figure) => figure.cpu));
const ratios = (one, other) =>
  `${(wall(one) / wall(other)).toFixed(2)}x by the clock, ${(cpu(one) / cpu(other)).toFixed(2)}x by CPU time`;
const figuresOf = (what) =>
  `${wall(what).toFixed(2)} s, ${cpu(what).toFixed(2)} s CPU, ${memory(what)} MB of memory`;
const memory = (what) => median(figures[what].map((figure) => figure.memory));
const owed = JSON.parse(readFileSync(join(folder, 'truth.json'), 'utf8'))
  .findings.map(String)
  .sort();
const megabytes = (path) => Math.round(statSync(path).size / 1e6);
const lines = [
  `${spans} spans, ${rounds} rounds, Node ${process.version}`,
  `bare JSON.parse   ${figuresOf('bare')}, ${megabytes(traces)} MB of JSON`,
];
let allEqual = true;
for (const form of Object.keys(forms)) {
  const whole = measured(auditOf(form, 'jsonl'));
  const found = findingsIn(reportOf(form));
  const equal = owed.length === found.length && owed.every((finding, index) => finding === found[index]);
  allEqual &&= equal;
  const name = form === 'audit' ? 'JSON' : 'protobuf';
  lines.push(
    `${`audit of ${name}`.padEnd(17)} ${figuresOf(form)}, ${megabytes(forms[form])} MB of input`,
    `  speed           ${ratios('bare', form)} (bare JSON.parse of the same spans is 1)`,
    ...(form === 'audit' ? [] : [`                  ${ratios('audit', form)} (the audit of JSON is 1)`]),
    `  all operations  ${whole.wall.toFixed(2)} s, ${whole.cpu.toFixed(2)} s CPU with --format jsonl`,
    `  findings        ${equal ? 'exactly' : 'NOT'} the ${owed.length} planted (${found.length} found)`,
  );
}
process.stdout.write(`${lines.join('\n')}\n`);
process.exitCode = allEqual ? 0 : 1;

/** Rule and operation of each finding of warning level and above, in order. */
function findingsIn(path) {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.includes('"type":"finding"'))
    .map((line) => JSON.parse(line))
    .filter((entry) => entry.type === 'finding' && entry.level !== 'info')
    .map((entry) => String([entry.rule, entry.operation]))
    .sort();
}

function run(args) {
  const result = spawnSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 1 << 28 });
  // `waybill audit` ends with 1 when it has findings, and it has.
  if (result.status !== 0 && result.status !== 1) throw new Error(result.stderr);
  return result;
}

/** Seconds, CPU seconds and peak resident megabytes of one child, the last two told by the child itself at its exit. */
function measured(args) {
  const tell =
    'data:text/javascript,process.on("exit",()=>{const u=process.resourceUsage();process._rawDebug("USAGE "+JSON.stringify([u.userCPUTime+u.systemCPUTime,u.maxRSS]))})';
  const began = performance.now();
  const result = run(['--import', tell, ...args]);
  const wall = (performance.now() - began) / 1e3;
  const [microseconds, kilobytes] = JSON.parse(/USAGE (.*)/.exec(result.stderr)?.[1] ?? '[0,0]');
  return { wall, cpu: microseconds / 1e6, memory: Math.round(kilobytes / 1024) };
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
