/** The audit backend whole: real exporters and processes, an OTLP endpoint that can be down, a real browser. */
import { spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { ROOT_CONTEXT, SpanKind } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { startBackend, type AuditBackend, type BackendOptions } from '@waybill/audit';
import { chromium, type Browser } from 'playwright-core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { run, start } from '../cli/cli.js';
import { exportOf, receiptOf } from '../cli/evidence.js';
import { recordsOf, startSink, until, type Sink } from './live-support.js';

let directory: string;
let sink: Sink;
const backends = new Set<AuditBackend>();
const children = new Set<ChildProcess>();

beforeEach(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'waybill-backend-'));
  sink = await startSink();
});

afterEach(async () => {
  for (const backend of backends) await backend.close();
  backends.clear();
  for (const child of children) child.kill('SIGKILL');
  children.clear();
  await sink.close();
  rmSync(directory, { recursive: true, force: true });
});

async function backend(options: Partial<BackendOptions> = {}): Promise<AuditBackend> {
  const started = await startBackend({
    directory,
    port: 0,
    graceMs: 50,
    everyMs: 10,
    emit: sink.url,
    ...options,
  });
  backends.add(started);
  return started;
}

async function stop(started: AuditBackend): Promise<void> {
  backends.delete(started);
  await started.close();
}

async function send(url: string, body: string): Promise<number> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/v1/traces`, { method: 'POST', body, headers });
  await response.arrayBuffer();
  return response.status;
}

const verdicts = (): readonly string[] =>
  recordsOf(sink)
    .filter(({ name }) => name === 'waybill.verdict')
    .map(
      ({ attributes }) =>
        `${attributes['waybill.operation.key'] ?? ''} ${attributes['waybill.verdict'] ?? ''}`,
    );

describe('emission', () => {
  it('a verdict and its findings are log events with the trace and span id of the first client span', async () => {
    const { url } = await backend();
    await send(url, exportOf({ outcome: 'TIMEOUT' }));
    await until(() => recordsOf(sink).some(({ name }) => name === 'waybill.finding'));
    for (const { traceId, spanId, attributes } of recordsOf(sink)) {
      expect({ traceId, spanId }).toEqual({
        traceId: '0af7651916cd43dd8448eb211c80319c',
        spanId: 'a000000000000001',
      });
      expect(attributes['waybill.operation.id']).toBe('row-42:done:v1');
    }
    expect(verdicts()).toHaveLength(1);
    expect(sink.taken.every(({ path: target }) => target === '/v1/logs')).toBe(true);
  });

  it('with verdict spans there is one span of no length below the first client span', async () => {
    const { url } = await backend({ verdictSpans: true });
    await send(url, exportOf());
    await until(() => sink.taken.some(({ path: target }) => target === '/v1/traces'));
    const { body } = sink.taken.find(({ path: target }) => target === '/v1/traces') ?? {};
    expect(body).toMatchObject({
      resourceSpans: [
        {
          scopeSpans: [
            { spans: [{ traceId: '0af7651916cd43dd8448eb211c80319c', parentSpanId: 'a000000000000001' }] },
          ],
        },
      ],
    });
  });

  it('spans made from verdicts that come back are passed over, with one warning', async () => {
    const problems: string[] = [];
    const started = await backend({ verdictSpans: true, onProblem: (text) => problems.push(text) });
    await send(started.url, exportOf());
    await until(() => sink.taken.some(({ path: target }) => target === '/v1/traces'));
    const { body } = sink.taken.find(({ path: target }) => target === '/v1/traces') ?? {};
    for (let time = 0; time < 3; time += 1) await send(started.url, JSON.stringify(body));
    await until(() => problems.length > 0 && started.auditorStats().lagBytes === 0);
    await until(() => started.auditorStats().openGroups === 0);
    expect(problems).toHaveLength(1);
    expect(verdicts()).toHaveLength(1);
  });

  it('what was not taken waits on disk, over a restart, and is sent once', async () => {
    sink.answer(503);
    const first = await backend();
    for (let call = 1; call <= 20; call += 1)
      await send(first.url, exportOf({ operation: `op-${call}`, call: `c-${call}` }));
    await until(() => first.auditorStats().counts.verdicts['insufficient_evidence'] === 20);
    expect(first.emitterStats()?.waitingBytes).toBeGreaterThan(0);
    await stop(first);
    expect(sink.taken).toEqual([]);
    sink.answer(200);
    const second = await backend();
    await until(() => verdicts().length === 20);
    await stop(second);
    await stop(await backend());
    expect(new Set(verdicts()).size).toBe(20);
    expect(verdicts()).toHaveLength(20);
  });

  it('an endpoint that refuses a request gets its events one by one, and the others go on', async () => {
    sink.answer(400);
    const problems: string[] = [];
    const started = await backend({ onProblem: (text) => problems.push(text) });
    await send(started.url, exportOf());
    await until(() => started.emitterStats()?.refused === 1);
    expect(problems.join()).toContain('answered 400');
    sink.answer(200);
    await send(started.url, exportOf({ operation: 'other', call: 'c-2' }));
    await until(() => verdicts().length === 1);
  });

  it.each(['http://127.0.0.1:PORT', 'http://localhost:PORT/', 'http://0.0.0.0:PORT', 'http://[::1]:PORT'])(
    'the receiver itself is refused as endpoint: %s',
    async (form) => {
      const { createServer } = await import('node:net');
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      await new Promise((resolve) => server.close(resolve));
      await expect(backend({ port, emit: form.replace('PORT', String(port)) })).rejects.toMatchObject({
        code: 'emit_loop',
        remedy: expect.stringContaining('http://'),
      });
      // And nothing keeps the port.
      await stop(await backend({ port }));
    },
  );

  it.each(['localhost:4418', 'ftp://127.0.0.1/', ''])('no endpoint: %s', async (emit) => {
    await expect(backend({ emit })).rejects.toMatchObject({ code: 'emit_invalid' });
  });
});

describe('evidence of real exporters', () => {
  it('calls exported in batches are judged, each once', async () => {
    const { url } = await backend();
    const exporter = new OTLPTraceExporter({ url: `${url}/v1/traces` });
    const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
    const tracer = provider.getTracer('t');
    for (let call = 0; call < 700; call += 1) {
      const attributes = {
        'mcp.method.name': 'tools/call',
        'gen_ai.tool.name': 'charge',
        'waybill.call.id': `call-${call}`,
        'waybill.operation.id': `operation-${call}`,
        'waybill.outcome': 'TOOL_SUCCESS',
      };
      tracer.startSpan('tools/call charge', { kind: SpanKind.CLIENT, attributes }, ROOT_CONTEXT).end();
    }
    await provider.shutdown();
    await until(() => verdicts().length >= 700);
    expect(new Set(verdicts()).size).toBe(700);
    expect(verdicts()).toHaveLength(700);
  });

  it('receipts that are appended later raise the verdict', async () => {
    const receipts = path.join(directory, 'receipts.jsonl');
    const { url } = await backend({ receipts: [receipts] });
    await send(url, exportOf());
    await until(() => verdicts().length === 1);
    writeFileSync(receipts, receiptOf());
    await until(() => verdicts().length === 2);
    expect(verdicts().at(-1)).toBe('row-42:done:v1 verified_done');
  });
});

async function serve(
  ...args: readonly string[]
): Promise<{ child: ChildProcess; url: string; ended: Promise<number | null> }> {
  const child = start([
    'serve',
    '--port',
    '0',
    '--dir',
    directory,
    '--grace',
    '200',
    '--emit',
    sink.url,
    ...args,
  ]);
  children.add(child);
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const line = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).once('line', resolve);
    child.once('close', () => reject(new Error(`serve ended before it listened: ${errors}`)));
  });
  return { child, url: /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0] ?? '', ended };
}

describe('ends of the process', () => {
  it('killed again and again, it judges everything that was acknowledged, and says nothing twice', async () => {
    const acknowledged = new Set<string>();
    for (let round = 0; round < 6; round += 1) {
      const { child, url, ended } = await serve();
      const until = Date.now() + 250 + round * 60;
      for (let call = 0; Date.now() < until; call += 1) {
        const operation = `op-${round}-${call}`;
        const body = exportOf({ operation, call: `c-${round * 100_000 + call + 1}` });
        if ((await send(url, body).catch(() => 0)) === 200) acknowledged.add(operation);
      }
      child.kill('SIGKILL');
      await ended;
    }
    const last = await serve();
    await until(() => new Set(verdicts()).size >= acknowledged.size, 40_000);
    last.child.kill('SIGTERM');
    expect(await last.ended).toBe(0);
    const judged = new Set(verdicts().map((line) => line.split(' ')[0]));
    for (const operation of acknowledged) expect(judged).toContain(operation);
    const events = readFileSync(path.join(directory, '.live', 'events.jsonl'), 'utf8')
      .trim()
      .split('\n');
    const said = events
      .map((line) => JSON.parse(line) as { operation: { key: string } | null })
      .map(({ operation }) => operation?.key);
    expect(said.length).toBe(new Set(said).size);
  });

  it('SIGTERM: what is under way is answered, what waits for its grace waits on disk, the exit code is 0', async () => {
    const first = await serve('--grace', '60000');
    expect(await send(first.url, exportOf())).toBe(200);
    first.child.kill('SIGTERM');
    expect(await first.ended).toBe(0);
    expect(verdicts()).toEqual([]);
    const second = await serve();
    await until(() => verdicts().length === 1);
    second.child.kill('SIGTERM');
    expect(await second.ended).toBe(0);
  });

  it('the state of serve is no trace: audit of the same folder reads the evidence alone', async () => {
    const { child, url, ended } = await serve();
    await send(url, exportOf());
    await until(() => verdicts().length === 1);
    child.kill('SIGTERM');
    await ended;
    const result = await run(['audit', directory, '--format', 'json', '--fail-on', 'never']);
    const report: { readonly inputs: readonly unknown[]; readonly operations: readonly unknown[] } =
      JSON.parse(result.stdout);
    expect(report.inputs).toHaveLength(1);
    expect(report.operations).toHaveLength(1);
  });

  it('--emit that names the receiver ends with code 2 and a remedy', async () => {
    const ended = await run([
      'serve',
      '--port',
      '14399',
      '--dir',
      directory,
      '--emit',
      'http://127.0.0.1:14399',
    ]);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toMatch(/come back as evidence\n.*Remedy/);
  });
});

describe('pages', () => {
  it('metrics are valid text of Prometheus and count what was said', async () => {
    const { url } = await backend();
    await send(url, exportOf({ outcome: 'TIMEOUT' }));
    await send(url, '{"resourceSpans":"x"}');
    await until(() => verdicts().length === 1);
    const response = await fetch(`${url}/metrics`);
    expect(response.headers.get('content-type')).toContain('version=0.0.4');
    const text = await response.text();
    const types = new Set<string>();
    for (const line of text.trimEnd().split('\n')) {
      const type = /^# TYPE ([a-z_]+) (?:counter|gauge)$/.exec(line)?.[1];
      if (type !== undefined) {
        expect(types).not.toContain(type);
        types.add(type);
        continue;
      }
      if (line.startsWith('# HELP ')) continue;
      const sample =
        /^([a-z_]+)(?:\{[a-z_]+="[^"\\]*"(?:,[a-z_]+="[^"\\]*")*\})? -?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/.exec(
          line,
        );
      expect(sample, line).not.toBeNull();
      expect(types).toContain(sample?.[1]);
    }
    expect(text).toMatch(
      /^waybill_audit_findings_total\{rule="[a-z-]+",severity="(?:error|warning|info)"\} 1$/m,
    );
    expect(text).toMatch(/^waybill_receiver_quarantined_total 1$/m);
    expect(text.match(/^waybill_audit_operations\{verdict="[a-z_]+"\} 1$/gm)).toHaveLength(1);
  });

  const promtool = spawnSync('promtool', ['--version']).status === 0;
  if (!promtool) {
    if (process.env['CI'] === 'true') throw new Error('promtool is missing: install the package prometheus');
    process.stderr.write('skipped: promtool is not installed (Debian: apt-get install prometheus)\n');
  }
  it.skipIf(!promtool)('promtool has nothing to say about the metrics', async () => {
    const { url } = await backend();
    await send(url, exportOf({ outcome: 'TIMEOUT' }));
    await until(() => verdicts().length === 1);
    const input = await (await fetch(`${url}/metrics`)).text();
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
      input,
      encoding: 'utf8',
    });
    expect({ status, said: stdout + stderr }).toEqual({ status: 0, said: '' });
  });

  it('an audit that stands still is not ready, and is alive', async () => {
    const started = await backend();
    await until(async () => (await fetch(`${started.url}/readyz`)).status === 200);
    rmSync(path.join(directory, '.live'), { recursive: true });
    writeFileSync(path.join(directory, '.live'), 'a file in its place');
    await send(started.url, exportOf());
    await until(async () => (await fetch(`${started.url}/readyz`)).status === 503);
    expect((await fetch(`${started.url}/healthz`)).status).toBe(200);
    rmSync(path.join(directory, '.live'));
    await until(async () => (await fetch(`${started.url}/readyz`)).status === 200);
  });
});

const executable = [process.env['CHROMIUM_BIN'] ?? '', '/usr/bin/chromium', '/usr/bin/chromium-browser'].find(
  (file) => file !== '' && existsSync(file),
);
if (executable === undefined) {
  process.stdout.write(
    'live page: skipped, no Chromium here. Set CHROMIUM_BIN to look at the page in one.\n',
  );
}

describe.skipIf(executable === undefined)('the live page in Chromium', () => {
  let browser: Browser;
  beforeEach(async () => {
    browser = await chromium.launch({ executablePath: executable ?? '', args: ['--no-sandbox'] });
  });
  afterEach(async () => {
    await browser.close();
  });

  it('shows two thousand operations, follows new ones, loads nothing from elsewhere, and runs nothing of the evidence', async () => {
    const hostile = '<img src=x onerror="document.title=1">';
    const { url } = await backend();
    const bodies = Array.from({ length: 2_000 }, (_, index) =>
      exportOf({
        operation: `op-${String(index).padStart(4, '0')}`,
        call: `c-${index + 1}`,
        tool: index === 1_999 ? hostile : (['set_status', 'charge', 'send_mail'][index % 3] ?? ''),
        outcome: index % 10 === 4 ? 'TIMEOUT' : 'TOOL_SUCCESS',
        effect: index % 10 === 7 ? 'none' : 'confirmed',
      }).trimEnd(),
    );
    // A hundred calls in a request, as an exporter batches them.
    for (let from = 0; from < bodies.length; from += 100) {
      const resourceSpans = bodies
        .slice(from, from + 100)
        .flatMap(
          (body) => (JSON.parse(body) as { readonly resourceSpans: readonly unknown[] }).resourceSpans,
        );
      await send(url, JSON.stringify({ resourceSpans }));
    }
    await until(() => verdicts().length === 2_000, 40_000);
    const requests: string[] = [];
    const errors: string[] = [];
    const page = await browser.newPage({ colorScheme: 'dark', viewport: { width: 1280, height: 900 } });
    page.on('request', (request) => requests.push(request.url()));
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text());
    });
    await page.goto(url);
    await page.waitForSelector('tbody tr');
    expect(await page.textContent('#sentence')).toContain('2,000 operations judged');
    expect(await page.locator('tbody tr').count()).toBe(500);
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(20, 23, 26)');
    await page.goto(`${url}/?operation=op-1990`);
    await page.waitForSelector('tbody tr');
    expect(await page.inputValue('#search')).toBe('op-1990');
    expect(await page.locator('tbody tr').count()).toBe(1);
    await page.fill('#search', 'send_mail');
    expect(await page.locator('tbody tr').count()).toBeLessThan(200);
    await page.fill('#search', '');
    await send(url, exportOf({ operation: 'the-new-one', call: 'c-5000' }));
    await page.waitForSelector('text=the-new-one', { timeout: 10_000 });
    expect(await page.title()).toBe('Waybill live');
    const picture = process.env['SCREENSHOT_DIR'];
    if (picture !== undefined) {
      await page.screenshot({ path: path.join(picture, 'live-dark.png') });
      await page.emulateMedia({ colorScheme: 'light' });
      await page.screenshot({ path: path.join(picture, 'live-light.png') });
    }
    expect(errors).toEqual([]);
    expect(new Set(requests.map((request) => new URL(request).origin))).toEqual(new Set([url]));
  });
});
