/**
 * The live audit as it is deployed: real traffic through the shipped Collector file into `waybill serve`, its verdicts
 * and findings back to the Collector's second receiver, from there to a file and to Jaeger.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { audit, type AuditReport } from '@waybill/audit';
import {
  ATTR_EVENT_ID,
  ATTR_FINDING_RULE,
  ATTR_OPERATION_KEY,
  ATTR_VERDICT,
  ATTR_VERDICT_FINDINGS,
  ATTR_VERDICT_REVISION,
  EVENT_FINDING,
  EVENT_VERDICT,
} from '@waybill/core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { protobufOf } from '../../serve/protobuf.js';
import {
  type Jaeger,
  metric,
  type Said,
  saidIn,
  type Serve,
  settled,
  startJaeger,
  startServe,
} from './support/backends.js';
import { spanCases } from './support/cases.js';
import { post } from './support/otlp.js';
import {
  type CollectorOptions,
  freePort,
  program,
  type Running,
  scrape,
  startCollector,
  sumOf,
  until,
} from './support/programs.js';

const collectorPath = program('collector');
const jaegerPath = program('jaeger');
const demo = fileURLToPath(new URL('../../../examples/todo/dist/demo.js', import.meta.url));
const GRACE_MS = 2_500;
const grace = ['--grace', String(GRACE_MS)];

/** Of which the batch audit says one per tool at its first operation, and the live one says one without an operation. */
const ONCE = new Set(['generated-operation-id', 'success-without-receipt']);
/** They ask for the whole input; `unsafe-retry` only where the retry is another operation, as in this set. */
const NOT_LIVE = new Set(['broken-context', 'duplicate-intent', 'sampled-away']);
const BETWEEN_OPERATIONS = 'S07/create:bbb: unsafe-retry';

const cleanUp: (() => Promise<void> | void)[] = [];
async function ended(): Promise<void> {
  for (const each of cleanUp.splice(0).reverse()) await each();
}
function folder(name: string): string {
  const made = mkdtempSync(join(tmpdir(), `waybill-${name}-`));
  cleanUp.push(() => {
    rmSync(made, { recursive: true, force: true });
  });
  return made;
}
async function collector(options: CollectorOptions): Promise<Running> {
  const running = await startCollector(collectorPath ?? '', options);
  cleanUp.push(async () => {
    await running.stop();
    running.remove();
  });
  return running;
}
async function serve(directory: string, options: readonly string[], port = 0): Promise<Serve> {
  const running = await startServe(directory, [...grace, ...options], port);
  cleanUp.push(() => running.stop());
  return running;
}
const own = (port: number): string => `http://127.0.0.1:${String(port)}`;

/** Verdicts by operation and findings by operation and rule, without when and where they were said. */
function judgementsOf(report: AuditReport): readonly string[] {
  return [
    ...report.operations.map(({ key, verdict }) => `${key}: ${verdict}`),
    ...new Set(
      report.findings
        .filter(({ rule }) => !NOT_LIVE.has(rule))
        .map(({ rule, level, operation, tool }) =>
          ONCE.has(rule) && level === 'info' ? `${String(tool)}: ${rule}` : `${String(operation)}: ${rule}`,
        ),
    ),
  ].sort();
}

/** What was last said of each operation: the highest revision holds. */
function latestIn(said: readonly Said[]): readonly Said[] {
  const latest = new Map<string, Said>();
  const revision = (one: Said | undefined): number => Number(one?.attributes[ATTR_VERDICT_REVISION] ?? 0);
  for (const one of said.filter(({ event }) => event === EVENT_VERDICT)) {
    const key = one.attributes[ATTR_OPERATION_KEY] ?? '';
    if (revision(one) > revision(latest.get(key))) latest.set(key, one);
  }
  return [...latest.values()];
}

/** Verdicts and findings as in `judgementsOf`, of what was said live. A finding that is over was said all the same. */
function judgementsIn(said: readonly Said[]): readonly string[] {
  const everSaid = new Set(
    said
      .filter(({ event }) => event === EVENT_FINDING)
      .map(({ attributes }) => {
        const about = attributes[ATTR_OPERATION_KEY] ?? attributes['gen_ai.tool.name'];
        return `${about}: ${attributes[ATTR_FINDING_RULE]}`;
      }),
  );
  const latest = latestIn(said);
  const key = ({ attributes }: Said): string => attributes[ATTR_OPERATION_KEY] ?? '';
  const holds = latest.flatMap((one) =>
    (one.lists[ATTR_VERDICT_FINDINGS] ?? []).map((rule) => `${key(one)}: ${rule}`),
  );
  expect(holds.filter((finding) => !everSaid.has(finding))).toStrictEqual([]);
  const keys = new Set(latest.map(key));
  return [
    ...latest.map((one) => `${key(one)}: ${one.attributes[ATTR_VERDICT]}`),
    ...holds,
    ...[...everSaid].filter((finding) => ![...keys].some((each) => finding.startsWith(`${each}: `))),
  ].sort();
}

const keysOf = (said: readonly Said[]): readonly string[] =>
  said
    .filter(({ event }) => event === EVENT_VERDICT)
    .map(({ attributes }) => attributes[ATTR_OPERATION_KEY] ?? '');

/** Every event is said once; one that was sent again after a crash has the id of the first. */
function distinct(said: readonly Said[]): readonly Said[] {
  return [...new Map(said.map((one) => [one.attributes[ATTR_EVENT_ID], one])).values()];
}

describe.skipIf(collectorPath === undefined || jaegerPath === undefined)(
  'demo traffic and 24 span sets',
  () => {
    let running: Running;
    let jaeger: Jaeger;
    let backend: Serve;
    let direct: string;
    let receipts: string;
    let targets: string;
    let expected: AuditReport;

    beforeAll(async () => {
      if (collectorPath === undefined || jaegerPath === undefined) return;
      const base = folder('live');
      const played = spawnSync(process.execPath, [demo], { cwd: base, encoding: 'utf8' });
      expect(played.status, played.stderr).toBe(0);
      const requests = [
        ...readFileSync(join(base, 'demo-out', 'traces.jsonl'), 'utf8')
          .trim()
          .split('\n'),
        ...spanCases().map(({ otlp }) => JSON.stringify(otlp)),
      ];
      direct = join(base, 'direct.jsonl');
      writeFileSync(direct, requests.join('\n'));
      receipts = join(base, 'demo-out', 'receipts.jsonl');
      targets = join(base, 'demo-out', 'targets.jsonl');

      jaeger = await startJaeger(jaegerPath);
      cleanUp.push(() => jaeger.stop());
      const findings = await freePort();
      backend = await serve(join(base, 'serve'), [
        '--receipts',
        receipts,
        '--targets',
        targets,
        '--emit',
        own(findings),
        '--verdict-spans',
      ]);
      running = await collector({
        config: 'audit-first.yaml',
        env: {
          WAYBILL_SERVE: backend.url,
          WAYBILL_VIEW: jaeger.grpc,
          WAYBILL_FINDINGS_HTTP: `127.0.0.1:${String(findings)}`,
          WAYBILL_DECISION_WAIT: '1s',
          WAYBILL_SAMPLE_PERCENT: '100',
        },
      });
      for (const request of requests) {
        expect(await post(running.ports.http, 'traces', JSON.parse(request) as object)).toBe(200);
      }
      expected = await report([direct]);
      await settled(backend, expected.operations.length);
      await until('all verdicts in the file of the Collector', () =>
        new Set(keysOf(saidIn(running.data))).size >= expected.operations.length ? true : undefined,
      );
      // What comes late would be a loop; the file is written once a second.
      await delay(GRACE_MS + 2_000);
    }, 180_000);
    afterAll(ended);

    const report = (inputs: readonly string[]): Promise<AuditReport> =>
      audit(
        { traces: [...inputs], receipts: [receipts], targets: [targets] },
        {
          asOfUnixNano: BigInt(Date.now()) * 1_000_000n,
          remote: { from: new Date('2026-09-01T00:00:00Z'), to: new Date(Date.now() + 86_400_000) },
        },
      );

    it('get the verdicts and findings of the spans without a Collector, back through its second receiver', () => {
      const live = judgementsIn(saidIn(running.data));
      const batch = judgementsOf(expected);
      expect(batch).toContain(BETWEEN_OPERATIONS);
      expect(live).toStrictEqual(batch.filter((one) => one !== BETWEEN_OPERATIONS));
      expect(expected.operations.length).toBeGreaterThan(30);
      process.stdout.write(
        `live: ${String(expected.operations.length)} operations, ${String(live.length - expected.operations.length)} findings by operation and rule, the same from serve and directly\n`,
      );
    });

    it('get those of the file branch, of the files of the backend and of the API of Jaeger', async () => {
      const wanted = judgementsOf(expected);
      expect(judgementsOf(await report([join(running.data, 'traces.jsonl')]))).toStrictEqual(wanted);
      expect(judgementsOf(await report([backend.directory]))).toStrictEqual(wanted);
      expect(judgementsOf(await report([`jaeger+http://${jaeger.api}`]))).toStrictEqual(wanted);
    });

    it('carry the trace and span id of the first client span', () => {
      const clients = new Map(
        expected.operations.map(({ key, calls }) => [
          key,
          calls.find(({ client }) => client !== null)?.client ?? calls[0]?.server,
        ]),
      );
      const verdicts = latestIn(saidIn(running.data));
      expect(
        verdicts.filter(({ attributes, traceId, spanId }) => {
          const wanted = clients.get(attributes[ATTR_OPERATION_KEY] ?? '');
          return (wanted?.traceId ?? '') !== traceId || (wanted?.spanId ?? '') !== spanId;
        }),
      ).toStrictEqual([]);
      expect(verdicts.filter(({ traceId }) => /^[0-9a-f]{32}$/.test(traceId)).length).toBeGreaterThan(30);
    });

    it('cause no loop: nothing that was said comes in again, and nothing is said twice', async () => {
      const page = await backend.metrics();
      const said = saidIn(running.data);
      expect(distinct(said)).toHaveLength(said.length);
      expect(metric(page, 'waybill_audit_operations')).toBe(expected.operations.length);
      const self = await scrape(running.ports.self);
      const received = sumOf(self, 'otelcol_receiver_accepted_log_records', { receiver: 'otlp/findings' });
      expect(received).toBe(said.length);
      expect(sumOf(self, 'otelcol_receiver_accepted_log_records', { receiver: 'otlp' })).toBe(0);
      const text = readFileSync(join(running.data, 'traces.jsonl'), 'utf8');
      expect(text).not.toContain('waybill verdict');
    });

    it('show their verdict in Jaeger as a span without length below the first client span', async () => {
      const timedOut = latestIn(saidIn(running.data)).find(
        ({ attributes, traceId }) => attributes[ATTR_VERDICT] === 'false_success' && traceId !== '',
      );
      const trace = await until('the verdict span', async () => {
        const answer = await fetch(`http://${jaeger.api}/api/traces/${String(timedOut?.traceId)}`);
        const { data } = (await answer.json()) as JaegerAnswer;
        return data[0]?.spans.some(({ operationName }) => operationName.startsWith('waybill verdict '))
          ? data[0]
          : undefined;
      });
      const span = trace.spans.find(
        ({ references, operationName }) =>
          operationName === 'waybill verdict false_success' &&
          references.some(({ spanID }) => spanID === timedOut?.spanId),
      );
      const tag = (key: string): unknown => span?.tags.find((one) => one.key === key)?.value;
      expect(span?.duration).toBe(0);
      expect(tag('waybill.verdict')).toBe('false_success');
      expect(tag('waybill.operation.key')).toBe(timedOut?.attributes[ATTR_OPERATION_KEY]);
      expect(trace.processes[span?.processID ?? '']?.serviceName).toBe('waybill-audit');
    });
  },
);

interface JaegerAnswer {
  readonly data: readonly {
    readonly spans: readonly {
      readonly operationName: string;
      readonly duration: number;
      readonly processID: string;
      readonly references: readonly { readonly spanID: string }[];
      readonly tags: readonly { readonly key: string; readonly value: unknown }[];
    }[];
    readonly processes: Readonly<Record<string, { readonly serviceName: string }>>;
  }[];
}

interface Call {
  readonly operation: string;
  readonly body: Buffer;
}

/** Calls of which every third timed out, one request each. */
function calls(name: string, count: number): readonly Call[] {
  return Array.from({ length: count }, (_, index) => {
    const operation = `${name}-${String(index)}`;
    const outcome = index % 3 === 0 ? 'TIMEOUT' : 'TOOL_SUCCESS';
    return { operation, body: protobufOf({ operation, call: `call-${operation}`, outcome }) };
  });
}

/** Sends them at one time; gives the operations that were acknowledged. */
async function sendCalls(port: number, list: readonly Call[], timeoutMs = 4_000): Promise<readonly string[]> {
  const answers = await Promise.all(
    list.map(async ({ body }) => {
      try {
        const response = await fetch(`${own(port)}/v1/traces`, {
          method: 'POST',
          headers: { 'content-type': 'application/x-protobuf' },
          body,
          signal: AbortSignal.timeout(timeoutMs),
        });
        await response.arrayBuffer();
        return response.status === 200;
      } catch {
        return false;
      }
    }),
  );
  return list.flatMap(({ operation }, index) => (answers[index] ? [operation] : []));
}

describe.skipIf(collectorPath === undefined)('the audit backend behind the Collector', () => {
  afterEach(ended);

  it('that is killed, away and back: every acknowledged operation is judged, and said once', async () => {
    const directory = folder('serve');
    const [findings, port] = [await freePort(), await freePort()];
    const options = ['--emit', own(findings)];
    let backend = await serve(directory, options, port);
    const running = await collector({
      config: 'audit-first.yaml',
      env: { WAYBILL_SERVE: own(port), WAYBILL_FINDINGS_HTTP: `127.0.0.1:${String(findings)}` },
    });
    const taken = [...(await sendCalls(running.ports.http, calls('before', 40)))];
    await until('the first to arrive', async () =>
      metric(await backend.metrics(), 'waybill_receiver_stored_requests_total') > 10 ? true : undefined,
    );
    await backend.kill();
    taken.push(...(await sendCalls(running.ports.http, calls('away', 40))));
    backend = await serve(directory, options, port);
    taken.push(...(await sendCalls(running.ports.http, calls('back', 40))));
    expect(taken).toHaveLength(120);
    await settled(backend, 120);
    await until('all verdicts in the file', () =>
      new Set(keysOf(saidIn(running.data))).size === 120 ? true : undefined,
    );
    expect([...keysOf(distinct(saidIn(running.data)))].sort()).toStrictEqual([...taken].sort());
  });

  it('that hangs until the queue is full: what was answered is judged once it goes on', async () => {
    const directory = folder('serve');
    const findings = await freePort();
    const backend = await serve(directory, ['--emit', own(findings)]);
    const running = await collector({
      config: 'audit-first.yaml',
      env: {
        WAYBILL_SERVE: backend.url,
        WAYBILL_FINDINGS_HTTP: `127.0.0.1:${String(findings)}`,
        WAYBILL_QUEUE: '10',
      },
    });
    backend.freeze();
    const taken = await sendCalls(running.ports.http, calls('held', 40));
    backend.thaw();
    expect(taken.length).toBeGreaterThanOrEqual(10);
    expect(taken.length).toBeLessThan(40);
    await settled(backend, taken.length);
    await until('all verdicts in the file', () => {
      const keys = new Set(keysOf(saidIn(running.data)));
      return taken.every((operation) => keys.has(operation)) ? true : undefined;
    });
    const said = keysOf(distinct(saidIn(running.data)));
    expect(new Set(said).size).toBe(said.length);
    process.stdout.write(
      `queue of 10, audit backend hung: ${String(taken.length)} of 40 requests answered, all of them judged\n`,
    );
  });

  it('twice, behind the load-balancing exporter: together they say what one says, and nothing twice', async () => {
    const traffic = spanCases()
      // Two of the sets are one operation over two traces, which balancing by trace id may part.
      .filter(({ id }) => id !== 'S10' && id !== 'S12')
      .map(({ otlp }) => otlp);
    const pairs = calls('pair', 60);
    const send = async (port: number): Promise<void> => {
      for (const request of traffic) expect(await post(port, 'traces', request)).toBe(200);
      expect(await sendCalls(port, pairs)).toHaveLength(pairs.length);
    };
    const hosts: { readonly backend: Serve; readonly running: Running }[] = [];
    for (const name of ['a', 'b', 'alone']) {
      const findings = await freePort();
      const backend = await serve(folder(name), ['--emit', own(findings)]);
      const env = { WAYBILL_SERVE: backend.url, WAYBILL_FINDINGS_HTTP: `127.0.0.1:${String(findings)}` };
      hosts.push({ backend, running: await collector({ config: 'audit-first.yaml', env }) });
    }
    const [a, b, alone] = hosts;
    if (a === undefined || b === undefined || alone === undefined) throw new Error('three hosts');
    const gateway = await collector({
      config: 'gateway-loadbalancing.yaml',
      env: {
        WAYBILL_TIER2_A: `127.0.0.1:${String(a.running.ports.grpc)}`,
        WAYBILL_TIER2_B: `127.0.0.1:${String(b.running.ports.grpc)}`,
      },
    });
    await send(alone.running.ports.http);
    await send(gateway.ports.http);
    const of = ({ running }: (typeof hosts)[number]): readonly string[] => keysOf(saidIn(running.data));
    await settled(alone.backend, traffic.length);
    await until('the two to have said as much as the one', () =>
      of(alone).length >= traffic.length + pairs.length && of(a).length + of(b).length >= of(alone).length
        ? true
        : undefined,
    );
    await delay(GRACE_MS + 2_000);
    const both = [...of(a), ...of(b)];
    expect(new Set(both).size).toBe(both.length);
    expect([...saidIn(a.running.data), ...saidIn(b.running.data)].length).toBeGreaterThan(both.length);
    expect(judgementsIn([...saidIn(a.running.data), ...saidIn(b.running.data)])).toStrictEqual(
      judgementsIn(saidIn(alone.running.data)),
    );
    expect(Math.min(of(a).length, of(b).length)).toBeGreaterThan(10);
    process.stdout.write(
      `two auditors: ${String(of(a).length)} and ${String(of(b).length)} operations, together those of one, none twice\n`,
    );
  });
});
