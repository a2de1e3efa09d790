// How fast `waybill serve` takes spans, against the Collector's file exporter, and whether closed operations cost memory.
//
//   npm run bench:serve            [--spans 200000] [--runs 5] [--rounds 10]
//
// A round of the second part is 100,000 spans; 10 rounds are a million.
//
// Both receivers get the same OTLP protobuf bodies (512 spans, 60 % of them no tool calls) from the same sender over 8
// connections; the runs alternate, and the figure is the ratio of the medians. `serve` stores the protobuf, syncs it to
// disk before it answers, and judges at the same time; the file exporter writes JSON and syncs nothing. The Collector is
// OTELCOL_BIN or the one that scripts/collector/build.mjs has built; without either only `serve` is measured.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { binary } from '../scripts/collector/build.mjs';
import { bodies } from './serve-spans.mjs';

const { values } = parseArgs({
  options: {
    spans: { type: 'string', default: '200000' },
    runs: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '10' },
  },
});
const RUNS = Number(values.runs);
const ROUNDS = Number(values.rounds);
const CONNECTIONS = 8;
const BIN = fileURLToPath(new URL('../packages/cli/bin/waybill.js', import.meta.url));

const collector = process.env.OTELCOL_BIN ?? binary('collector');
const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
const thousands = (value) => Math.round(value).toLocaleString('en');
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function freePort() {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

async function startServe(folder, grace) {
  const child = spawn(
    process.execPath,
    [BIN, 'serve', '--port', '0', '--dir', folder, '--grace', String(grace)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const line = await new Promise((resolve) => createInterface(child.stdout).once('line', resolve));
  return { child, url: /http:\/\/[\d.]+:\d+/.exec(line)[0] };
}

async function startCollector(folder) {
  const port = await freePort();
  const config = path.join(folder, 'config.yaml');
  writeFileSync(
    config,
    `receivers: {otlp: {protocols: {http: {endpoint: 127.0.0.1:${port}}}}}
exporters: {file: {path: ${path.join(folder, 'traces.jsonl')}}}
service:
  telemetry: {logs: {level: error}, metrics: {level: none}}
  pipelines: {traces: {receivers: [otlp], exporters: [file]}}
`,
  );
  const child = spawn(collector, ['--config', config], { stdio: ['ignore', 'inherit', 'inherit'] });
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 200; tries += 1) {
    try {
      await fetch(url);
      return { child, url };
    } catch {
      await sleep(50);
    }
  }
  throw new Error('the Collector did not start');
}

function post(agent, url, body) {
  return new Promise((resolve, reject) => {
    const request = http.request(
      `${url}/v1/traces`,
      {
        method: 'POST',
        agent,
        headers: { 'content-type': 'application/x-protobuf', 'content-length': body.length },
      },
      (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode));
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

/** Seconds until every body is acknowledged; a 503 is sent again, as exporters do. */
async function sendAll(url, list) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const started = performance.now();
  let next = 0;
  const sender = async () => {
    while (next < list.length) {
      const body = list[next++];
      while ((await post(agent, url, body)) !== 200) await sleep(50);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, sender));
  const seconds = (performance.now() - started) / 1000;
  agent.destroy();
  return seconds;
}

async function metrics(url) {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Object.fromEntries(
    [...text.matchAll(/^([a-z_]+) (\S+)$/gm)].map(([, name, value]) => [name, Number(value)]),
  );
}

async function end(child) {
  const closed = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGKILL');
  await closed;
}

/** CPU time of a process and its threads so far, in microseconds; a tick is 10 ms on every Linux. */
function cpuOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

function resident(pid) {
  const match = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(match[1]) / 1024;
}

async function throughput() {
  const { list, spans, calls } = bodies(Number(values.spans), 'a');
  console.log(
    `${thousands(spans)} spans (${thousands(calls)} of tool calls) in ${list.length} bodies, ${CONNECTIONS} connections, ${RUNS} runs`,
  );
  const rates = { serve: [], judged: [], collector: [] };
  const cpu = { serve: [], collector: [] };
  for (let run = 0; run < RUNS; run += 1) {
    for (const which of collector === undefined ? ['serve'] : ['serve', 'collector']) {
      const folder = mkdtempSync(path.join(tmpdir(), 'waybill-bench-'));
      const { child, url } =
        which === 'serve' ? await startServe(folder, 1_000) : await startCollector(folder);
      const started = performance.now();
      const before = cpuOf(child.pid);
      rates[which].push(spans / (await sendAll(url, list)));
      cpu[which].push((cpuOf(child.pid) - before) / spans);
      // How long the judging takes is asked once: it goes on behind the answers.
      if (which === 'serve' && run === RUNS - 1) {
        for (;;) {
          const { waybill_audit_lag_bytes: lag, waybill_audit_open_groups: open } = await metrics(url);
          if (lag === 0 && open === 0) break;
          await sleep(100);
        }
        rates.judged.push(spans / ((performance.now() - started) / 1000));
      }
      await end(child);
      rmSync(folder, { recursive: true, force: true });
    }
  }
  console.log(`serve, acknowledged after fsync: ${thousands(median(rates.serve))} spans/s`);
  console.log(
    `serve, until all are judged (1 s of grace included): ${thousands(median(rates.judged))} spans/s`,
  );
  if (collector === undefined)
    console.log('no Collector here: set OTELCOL_BIN, or install Go and run scripts/collector/build.mjs');
  else {
    console.log(`Collector file exporter: ${thousands(median(rates.collector))} spans/s`);
    console.log(`ratio: ${(median(rates.serve) / median(rates.collector)).toFixed(2)}`);
    const each = (which) => `${median(cpu[which]).toFixed(1)} us`;
    console.log(`CPU a span while sending: serve ${each('serve')}, Collector ${each('collector')}`);
  }
}

async function memory() {
  const folder = mkdtempSync(path.join(tmpdir(), 'waybill-bench-'));
  const { child, url } = await startServe(folder, 500);
  let operations = 0;
  let sent = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const { list, spans, calls } = bodies(100_000, `m${round}`);
    sent += spans;
    await sendAll(url, list);
    for (;;) {
      const { waybill_audit_lag_bytes: lag, waybill_audit_open_groups: open } = await metrics(url);
      if (lag === 0 && open === 0) break;
      await sleep(100);
    }
    operations += calls / 2;
    console.log(
      `${thousands(sent)} spans, ${thousands(operations)} operations closed: ${Math.round(resident(child.pid))} MB resident`,
    );
  }
  await end(child);
  rmSync(folder, { recursive: true, force: true });
}

await throughput();
await memory();
