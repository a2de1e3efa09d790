/** The three signals of OTLP: where they come in, what they are called, where they go. */
import { LOGS, METRICS, TRACES, type Message } from '../protobuf/schema.js';

export type SignalName = 'traces' | 'logs' | 'metrics';

export interface Signal {
  readonly name: SignalName;
  /** Path of the request (OTLP specification, "OTLP/HTTP Request"). */
  readonly path: string;
  /** File of OTLP JSON, one request a line, in the directory of the receiver. */
  readonly file: string;
  /** File of OTLP protobuf as it came, each request with its length before it. */
  readonly frames: string;
  readonly message: Message;
  /** Member of the request that holds everything. */
  readonly member: string;
  /** Member of a JSON partial success that counts what was rejected. */
  readonly rejected: string;
}

export const SIGNALS: readonly Signal[] = [
  {
    name: 'traces',
    path: '/v1/traces',
    file: 'traces.jsonl',
    frames: 'traces.binpb',
    message: TRACES,
    member: 'resourceSpans',
    rejected: 'rejectedSpans',
  },
  {
    name: 'logs',
    path: '/v1/logs',
    file: 'logs.jsonl',
    frames: 'logs.binpb',
    message: LOGS,
    member: 'resourceLogs',
    rejected: 'rejectedLogRecords',
  },
  {
    name: 'metrics',
    path: '/v1/metrics',
    file: 'metrics.jsonl',
    frames: 'metrics.binpb',
    message: METRICS,
    member: 'resourceMetrics',
    rejected: 'rejectedDataPoints',
  },
];

/** The signal of a path; undefined for every other path. */
export function signalOfPath(path: string): Signal | undefined {
  const bare = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
  return SIGNALS.find((signal) => signal.path === bare);
}
