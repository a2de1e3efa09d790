/** The state of the backend in the text format of Prometheus, version 0.0.4. */
import { VERDICTS } from '@waybill/core';
import type { ReceiverStats } from '../types.js';
import type { AuditorStats } from './auditor.js';
import type { EmitterStats } from './emitter.js';

export interface MetricsInput {
  readonly receiver: ReceiverStats;
  readonly auditor: AuditorStats;
  readonly emitter: EmitterStats | undefined;
  readonly pendingBytes: number;
}

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

interface Metric {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  readonly samples: readonly { readonly labels?: Readonly<Record<string, string>>; readonly value: number }[];
}

export function metricsText(input: MetricsInput): string {
  return metricsOf(input)
    .map(
      ({ name, type, help, samples }) =>
        `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${samples
          .map(({ labels, value }) => `${name}${labelsOf(labels)} ${value}\n`)
          .join('')}`,
    )
    .join('');
}

function metricsOf({ receiver, auditor, emitter, pendingBytes }: MetricsInput): readonly Metric[] {
  const one = (value: number): Metric['samples'] => [{ value }];
  const { verdicts, findings } = auditor.counts;
  const metrics: Metric[] = [
    {
      name: 'waybill_audit_operations',
      type: 'gauge',
      help: 'Operations by their latest verdict.',
      samples: VERDICTS.map(({ verdict }) => ({ labels: { verdict }, value: verdicts[verdict] ?? 0 })),
    },
    {
      name: 'waybill_audit_findings_total',
      type: 'counter',
      help: 'Findings, each counted once.',
      samples: Object.entries(findings)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, value]) => {
          const [rule = '', severity = ''] = key.split(' ');
          return { labels: { rule, severity }, value };
        }),
    },
    {
      name: 'waybill_audit_open_groups',
      type: 'gauge',
      help: 'Groups of evidence that wait for their grace.',
      samples: one(auditor.openGroups),
    },
    {
      name: 'waybill_audit_open_records',
      type: 'gauge',
      help: 'Records of evidence in memory.',
      samples: one(auditor.openItems),
    },
    {
      name: 'waybill_audit_lag_bytes',
      type: 'gauge',
      help: 'Evidence on disk that is not read yet.',
      samples: one(auditor.lagBytes),
    },
    {
      name: 'waybill_audit_last_run_timestamp_seconds',
      type: 'gauge',
      help: 'When evidence was last looked at.',
      samples: one(auditor.lastRun / 1000),
    },
    {
      name: 'waybill_audit_damaged_total',
      type: 'counter',
      help: 'Places of the evidence that could not be read.',
      samples: one(auditor.damaged),
    },
    {
      name: 'waybill_audit_early_total',
      type: 'counter',
      help: 'Groups judged before their grace was over, since too many were open.',
      samples: one(auditor.early),
    },
    {
      name: 'waybill_audit_closed_groups_total',
      type: 'counter',
      help: 'Groups judged and put away on disk.',
      samples: one(auditor.closed),
    },
    {
      name: 'waybill_receiver_requests_total',
      type: 'counter',
      help: 'Export requests.',
      samples: one(receiver.requests),
    },
    {
      name: 'waybill_receiver_stored_requests_total',
      type: 'counter',
      help: 'Export requests on disk, by signal.',
      samples: Object.entries(receiver.stored).map(([signal, value]) => ({ labels: { signal }, value })),
    },
    {
      name: 'waybill_receiver_quarantined_total',
      type: 'counter',
      help: 'Bodies in the quarantine.',
      samples: one(receiver.quarantined),
    },
    {
      name: 'waybill_receiver_refused_total',
      type: 'counter',
      help: 'Requests that senders are to send again: 429 for too many at one time, 503 for a disk that takes nothing.',
      samples: [
        { labels: { status: '429' }, value: receiver.slowed },
        { labels: { status: '503' }, value: receiver.refused },
      ],
    },
    {
      name: 'waybill_receiver_queue_bytes',
      type: 'gauge',
      help: 'Bodies in memory that are not on disk yet.',
      samples: one(pendingBytes),
    },
  ];
  if (emitter !== undefined) {
    metrics.push(
      {
        name: 'waybill_emit_sent_total',
        type: 'counter',
        help: 'State changes that the endpoint has taken.',
        samples: one(emitter.sent),
      },
      {
        name: 'waybill_emit_failures_total',
        type: 'counter',
        help: 'Requests that will be sent again.',
        samples: one(emitter.failures),
      },
      {
        name: 'waybill_emit_refused_total',
        type: 'counter',
        help: 'State changes that the endpoint refused for good.',
        samples: one(emitter.refused),
      },
      {
        name: 'waybill_emit_queue_bytes',
        type: 'gauge',
        help: 'State changes on disk that wait to be sent.',
        samples: one(emitter.waitingBytes),
      },
    );
  }
  return metrics;
}

function labelsOf(labels: Readonly<Record<string, string>> = {}): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) =>
      `${name}="${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`,
  );
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}
