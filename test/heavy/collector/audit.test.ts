import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { spanCases } from './support/cases.js';
import { post } from './support/otlp.js';
import { type Running, end, freePort, program, startCollector, until } from './support/programs.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const waybill = `${root}packages/cli/bin/waybill.js`;
const collectorPath = program('collector');
const jaegerPath = program('jaeger');

const cases = spanCases();

interface Report {
  readonly operations: readonly { readonly operationId?: string; readonly verdict: string }[];
  readonly findings: readonly { readonly rule: string; readonly operation?: string }[];
}

/** What an audit of these inputs says, without where it says it. */
function audit(inputs: readonly string[], options: readonly string[] = []): readonly string[] {
  const run = spawnSync(
    'node',
    [waybill, 'audit', ...inputs, '--format', 'json', '--fail-on', 'never', ...options],
    {
      encoding: 'utf8',
      maxBuffer: 64_000_000,
    },
  );
  if (run.status !== 0) throw new Error(`waybill audit: exit ${String(run.status)}\n${run.stderr}`);
  const report = JSON.parse(run.stdout) as Report;
  return [
    ...report.operations.map(({ operationId, verdict }) => `${String(operationId)}: ${verdict}`),
    // The audit branch has no parents of another kind (HTTP, agent turns), so it cannot say that one is missing.
    ...report.findings
      .filter(({ rule }) => rule !== 'broken-context')
      .map(({ rule, operation }) => `${String(operation)}: ${rule}`),
  ].sort();
}

describe.skipIf(collectorPath === undefined || jaegerPath === undefined)(
  'the same traces by three ways',
  () => {
    let collector: Running;
    let serve: ChildProcess;
    let jaeger: ChildProcess;
    let jaegerUrl: string;
    const folder = mkdtempSync(join(tmpdir(), 'waybill-ways-'));

    beforeAll(async () => {
      if (collectorPath === undefined || jaegerPath === undefined) return;
      const [grpc, http, query] = [await freePort(), await freePort(), await freePort()];
      jaegerUrl = `127.0.0.1:${String(http)}`;
      const example = `${root}examples/observability/`;
      jaeger = spawn(jaegerPath, ['--config', `${example}jaeger.yaml`], {
        stdio: 'ignore',
        env: {
          ...process.env,
          JAEGER_OTLP_GRPC: `127.0.0.1:${String(grpc)}`,
          JAEGER_QUERY_HTTP: jaegerUrl,
          JAEGER_QUERY_GRPC: `127.0.0.1:${String(query)}`,
          JAEGER_UI_CONFIG: `${example}jaeger-ui.json`,
        },
      });
      serve = spawn('node', [waybill, 'serve', '--port', '0', '--dir', join(folder, 'serve')], {
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      let said = '';
      serve.stdout?.on('data', (chunk: Buffer) => {
        said += chunk.toString();
      });
      const url = await until('waybill serve to name its address', () => /http:\/\/\S+:\d+/.exec(said)?.[0]);
      await until('Jaeger to answer', async () => {
        try {
          return (await fetch(`http://${jaegerUrl}/api/v3/services`)).ok || undefined;
        } catch {
          return undefined;
        }
      });
      collector = await startCollector(collectorPath, {
        config: 'audit-first.yaml',
        env: {
          WAYBILL_SERVE: url,
          WAYBILL_VIEW: `127.0.0.1:${String(grpc)}`,
          WAYBILL_DECISION_WAIT: '1s',
          WAYBILL_SAMPLE_PERCENT: '100',
        },
      });
      for (const { id, otlp } of cases)
        expect(await post(collector.ports.http, 'traces', otlp), id).toBe(200);
      await delay(6_000);
    });
    afterAll(async () => {
      if (collectorPath === undefined || jaegerPath === undefined) return;
      await collector.stop();
      await end(jaeger, 'SIGTERM');
      await end(serve, 'SIGTERM');
      collector.remove();
      rmSync(folder, { recursive: true, force: true });
    });

    const fromFile = (): readonly string[] => audit([join(collector.data, 'traces.jsonl')]);

    it('gives the findings of the file branch from the audit backend', () => {
      const found = fromFile();
      expect(found.length).toBeGreaterThan(cases.length);
      expect(audit([join(folder, 'serve')])).toStrictEqual(found);
    });

    it('gives the findings of the file branch from the API of Jaeger', () => {
      const window = ['--from', '2026-09-01T00:00:00Z', '--to', '2026-11-01T00:00:00Z'];
      expect(audit([`jaeger+http://${jaegerUrl}`], window)).toStrictEqual(fromFile());
    });

    it('gives the findings that the same spans give without any Collector', () => {
      const direct = join(folder, 'direct.jsonl');
      writeFileSync(direct, cases.map(({ otlp }) => JSON.stringify(otlp)).join('\n'));
      expect(fromFile()).toStrictEqual(audit([direct]));
    });
  },
);
