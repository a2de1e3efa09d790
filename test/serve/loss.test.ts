/** What is known to be lost, and what waits in an outbox, as the live auditor takes it. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { audit, type LiveAuditor } from '@waybill/audit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exportOf } from '../cli/evidence.js';
import { sideOf, World } from './live-support.js';

const GRACE = 60_000;
let world: World;
let auditor: LiveAuditor;

beforeEach(() => {
  world = new World();
});
afterEach(async () => {
  await world.remove();
});

/** A call of which the server's side never came. */
const oneSided = (number: number): string =>
  sideOf('client', { operation: `op-${number}`, call: `c-${number}`, outcome: 'TIMEOUT' });

const evidenceOf = (key: string): string | undefined =>
  world.events.find(({ operation }) => operation?.key === key)?.operation?.evidence;

describe('--loss', () => {
  it.each([
    ['as the Collector names it', 'otelcol_exporter_enqueue_failed_spans{exporter="otlp_http/audit"} 3'],
    ['with _total', 'otelcol_exporter_enqueue_failed_spans_total{exporter="otlp_http/audit"} 3'],
    ['as JSON', '{"metric":"otelcol_exporter_send_failed_spans_total","value":3}'],
  ])('a counter %s lowers the evidence of a one-sided call, live as in the batch', async (_name, line) => {
    writeFileSync(world.file('loss.prom'), `# HELP x y\n# TYPE x counter\n${line}\n`);
    auditor = world.start({ loss: [world.file('loss.prom')] });
    world.append('traces.jsonl', oneSided(1));
    await world.after(GRACE, auditor);
    const report = await audit(
      { traces: [world.file('traces.jsonl')], loss: [world.file('loss.prom')] },
      { asOfUnixNano: BigInt(world.now) * 1_000_000n },
    );
    expect(evidenceOf('op-1')).toBe('lost');
    expect([...report.operations][0]).toMatchObject({ evidenceState: 'lost' });
    expect(world.events[0]?.operation?.verdict).toBe([...report.operations][0]?.verdict);
    expect(world.problems).toEqual([]);
  });

  it('what a viewing store beside the audit branch lost is no evidence', async () => {
    writeFileSync(
      world.file('loss.prom'),
      [
        'otelcol_exporter_enqueue_failed_spans_total{exporter="otlp_http/audit"} 0',
        'otelcol_exporter_send_failed_spans_total{exporter="otlp_grpc/view"} 7',
        '',
      ].join('\n'),
    );
    auditor = world.start({ loss: [world.file('loss.prom')] });
    world.append('traces.jsonl', oneSided(1));
    await world.after(GRACE, auditor);
    expect(evidenceOf('op-1')).toBe('complete');
  });

  it('the page of a Collector is looked at again, and a page that is away is told of once', async () => {
    let lost = 0;
    const server = createServer((_request, response) => {
      response.end(`otelcol_exporter_enqueue_failed_spans_total ${lost}\n`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    auditor = world.start({ loss: [`http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`] });
    world.append('traces.jsonl', oneSided(1));
    await world.after(GRACE, auditor);
    lost = 2;
    world.append('traces.jsonl', oneSided(2));
    await world.after(GRACE, auditor);
    server.close();
    server.closeAllConnections();
    world.append('traces.jsonl', oneSided(3));
    await world.after(GRACE, auditor);
    await world.after(GRACE, auditor);
    expect([evidenceOf('op-1'), evidenceOf('op-2'), evidenceOf('op-3')]).toEqual([
      'complete',
      'lost',
      'lost',
    ]);
    expect(world.problems).toHaveLength(1);
    expect(world.problems[0]).toContain('tells of losses');
  });
});

describe('--outbox', () => {
  it('a row that waits there is a receipt that is still to come, as in the batch', async () => {
    const row = `${JSON.stringify({ operation_id: 'row-42:done:v1', receipt_id: 'r-1', state: 'pending', created_at: '2026-09-21T14:13:20Z' })}\n`;
    world.append('receipts.jsonl', '');
    auditor = world.start({ receipts: [world.file('receipts.jsonl')], outbox: [world.file('outbox.jsonl')] });
    world.append('traces.jsonl', exportOf());
    world.append('outbox.jsonl', row);
    await world.after(GRACE, auditor);
    const report = await audit(
      {
        traces: [world.file('traces.jsonl')],
        receipts: [world.file('receipts.jsonl')],
        outbox: [world.file('outbox.jsonl')],
      },
      { asOfUnixNano: BigInt(world.now) * 1_000_000n },
    );
    expect(world.events[0]?.operation).toMatchObject({
      key: 'row-42:done:v1',
      verdict: [...report.operations][0]?.verdict,
      evidence: 'pending',
    });
  });
});
