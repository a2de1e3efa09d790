// npm run bench:audit [-- SPANS ROUNDS] [--protobuf]
//
// `waybill audit` against bare JSON.parse of the same bytes, in child processes and interleaved rounds; findings must
// equal the planted ones exactly. Figures are ratios of CPU time (user + system) within this run, since machines are
// shared; peak memory is the resident set of the child. With --protobuf the same spans are audited as OTLP protobuf too
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
const auditOf = (form) => [
  join(root, 'packages', 'cli', 'bin', 'waybill.js'),
  'audit',
  forms[form],
  '--receipts',
  join(folder, 'receipts.jsonl'),
  '--format',
  'jsonl',
  '--output',
  reportOf(form),
];

const runs = ['bare', ...Object.keys(forms)];
const figures = Object.fromEntries(runs.map((what) => [what, []]));
for (let round = 0; round < Number(rounds); round += 1) {
  const order = round % 2 === 0 ? runs : runs.toReversed();
  for (const what of order) figures[what].push(measured(what === 'bare' ? ['-e', bare] : auditOf(what)));
}

const cpu = (what) => median(figures[what].map((figure) => figure.cpu));
const memory = (what) => median(figures[what].map((figure) => figure.memory));
const owed = JSON.parse(readFileSync(join(folder, 'truth.json'), 'utf8'))
  .findings.map(String)
  .sort();
const megabytes = (path) => Math.round(statSync(path).size / 1e6);
const lines = [
  `${spans} spans, ${rounds} rounds, Node ${process.version}`,
  `bare JSON.parse   ${cpu('bare').toFixed(2)} s CPU, ${memory('bare')} MB, ${megabytes(traces)} MB of JSON`,
];
let allEqual = true;
for (const form of Object.keys(forms)) {
  const found = findingsIn(reportOf(form));
  const equal = owed.length === found.length && owed.every((finding, index) => finding === found[index]);
  allEqual &&= equal;
  const name = form === 'audit' ? 'JSON' : 'protobuf';
  lines.push(
    `${`audit of ${name}`.padEnd(17)} ${cpu(form).toFixed(2)} s CPU, ${memory(form)} MB, ${megabytes(forms[form])} MB of input`,
    `  speed           ${(cpu('bare') / cpu(form)).toFixed(2)}x bare JSON.parse of the same spans`,
    ...(form === 'audit'
      ? []
      : [`                  ${(cpu('audit') / cpu(form)).toFixed(2)}x the audit of JSON`]),
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
