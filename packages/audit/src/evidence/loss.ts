/** Counters of lost telemetry: what a Collector or an SDK says of itself, in any of the forms in which it says it. */
import type { Damage } from '../model.js';
import type { EvidenceRef } from '../rule.js';
import { readLines } from './lines.js';
import type { RecordSource } from './lines.js';
import { idOf, parseObject, unreadable } from './records.js';
import type { Members, RecordsRead } from './records.js';

/** Telemetry that is known to be lost. */
export interface LossRow {
  readonly metric: string;
  readonly count: number;
  /** Service that lost it; undefined when it may be anybody's. */
  readonly service: string | undefined;
  readonly at: EvidenceRef;
}

/** JSON lines of counters, or the text exposition of Prometheus. */
export function readLoss(source: RecordSource, id: string): RecordsRead<LossRow> {
  const rows: LossRow[] = [];
  /** Exports come again and again, and each counts from the beginning: the last one stands. */
  const counters = new Map<string, LossRow>();
  const damaged: Damage[] = [];
  const { bytes, problem } = readLines(source, (text, line) => {
    const at: EvidenceRef = { source: id, line };
    const found = text.startsWith('{') ? lossOfJson(text, at) : lossOfExposition(text, at);
    if (typeof found === 'string') {
      damaged.push({ at, reason: found, remedy: 'give metrics as JSON lines or Prometheus text' });
    } else if (text.startsWith('{')) for (const row of found) counters.set(keyOf(row), row);
    else rows.push(...found);
  });
  rows.push(...counters.values());
  if (problem !== undefined) damaged.push(unreadable(id, problem));
  return { rows, damaged, bytes };
}

function keyOf({ metric, service }: LossRow): string {
  return JSON.stringify([metric, service]);
}

const LOST = /(?:enqueue_failed|send_failed|refused|dropped|failed_export)/;
const TELEMETRY = /(?:spans|log_records|logs)/;

function lossOfJson(text: string, at: EvidenceRef): readonly LossRow[] | string {
  const value = parseObject(text);
  if (value === undefined) return 'not a JSON object';
  if (Array.isArray(value['resourceMetrics'])) return lossOfOtlp(value['resourceMetrics'], at);
  const service = idOf(value, 'service');
  const named = idOf(value, 'metric');
  const single = value['value'];
  if (named !== undefined && typeof single === 'number') {
    return isLoss(named, single) ? [{ metric: named, count: single, service, at }] : [];
  }
  const counters = Object.entries(value).filter(([, count]) => typeof count === 'number');
  if (counters.length === 0 && named === undefined) return 'a JSON object without a counter';
  return counters.flatMap(([metric, count]) =>
    typeof count === 'number' && isLoss(metric, count) ? [{ metric, count, service, at }] : [],
  );
}

/** One export of metrics as a Collector's file exporter writes it: the sums, by the service that reports them. */
function lossOfOtlp(resources: readonly unknown[], at: EvidenceRef): readonly LossRow[] {
  return resources.flatMap((resource) => {
    const attributes = listIn(memberOf(resource, 'resource'), 'attributes');
    const named = attributes.find((attribute) => memberOf(attribute, 'key') === 'service.name');
    const service = memberOf(memberOf(named, 'value'), 'stringValue');
    return listIn(resource, 'scopeMetrics')
      .flatMap((scope) => listIn(scope, 'metrics'))
      .flatMap((metric): readonly LossRow[] => {
        const name = memberOf(metric, 'name');
        if (typeof name !== 'string') return [];
        const points = listIn(memberOf(metric, 'sum'), 'dataPoints');
        const count = points.reduce<number>((sum, point) => {
          const value = Number(memberOf(point, 'asInt') ?? memberOf(point, 'asDouble') ?? 0);
          return Number.isFinite(value) ? sum + value : sum;
        }, 0);
        if (!isLoss(name, count)) return [];
        // A Collector loses what is other services'.
        const own = typeof service === 'string' && !name.startsWith('otelcol_');
        return [{ metric: name, count, service: own ? service : undefined, at }];
      });
  });
}

function memberOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Members)[key]
    : undefined;
}

function listIn(value: unknown, key: string): readonly unknown[] {
  const member = memberOf(value, key);
  return Array.isArray(member) ? (member as readonly unknown[]) : [];
}

function lossOfExposition(text: string, at: EvidenceRef): readonly LossRow[] | string {
  if (text.startsWith('#')) return [];
  const match = /^([a-zA-Z_:][\w:]*)(?:\{[^}]*\})?\s+([0-9.eE+-]+)/.exec(text);
  if (match === null) return 'neither a JSON object nor a sample of Prometheus';
  const [, metric = '', sample = ''] = match;
  const count = Number(sample);
  return isLoss(metric, count) ? [{ metric, count, service: undefined, at }] : [];
}

function isLoss(metric: string, count: number): boolean {
  return count > 0 && LOST.test(metric) && TELEMETRY.test(metric);
}
