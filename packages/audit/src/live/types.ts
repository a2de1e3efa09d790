/** Options and answers of the receiver. */
import type { SignalName } from './signals.js';

export interface ReceiverOptions {
  /** Folder of `traces.jsonl` (JSON), `traces.binpb` (protobuf), the same for logs and metrics, and `quarantine/`. */
  readonly directory: string;
  /** Default 127.0.0.1. Another address opens the evidence to whoever reaches it. */
  readonly host?: string;
  /** Default 4318; 0 takes a free one. */
  readonly port?: number;
  /** A larger body goes to the quarantine, streamed. In bytes as sent. Default 64 MiB. */
  readonly maxBodyBytes?: number;
  /** A body that unpacks to more goes to the quarantine. Default 256 MiB. */
  readonly maxUnpackedBytes?: number;
  /** Bodies in memory at one time, together; beyond it senders are asked to come again. Default 256 MiB. */
  readonly maxPendingBytes?: number;
  /** Default 5. */
  readonly retryAfterSeconds?: number;
  /**
   * Web origins that may send, as browsers write them (`https://app.example`). Default none: a page in a browser could
   * otherwise write into the evidence of this machine.
   */
  readonly allowedOrigins?: readonly string[];
  /** The same body is set aside when it could not be stored this many times in the same way. Default 5. */
  readonly maxAttempts?: number;
  /** Answers to GET of paths beside those of the receiver; undefined: the receiver answers. */
  readonly pages?: (target: string) => Page | undefined;
  /** Told of everything that is worth a line of output. Must not throw. */
  readonly onEvent?: (event: ReceiverEvent) => void;
}

export interface Page {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export type ReceiverEvent =
  | { readonly kind: 'stored'; readonly signal: SignalName; readonly bytes: number }
  | { readonly kind: 'quarantined'; readonly file: string; readonly reason: string }
  | { readonly kind: 'refused'; readonly status: 429 | 503; readonly reason: string };

export interface ReceiverStats {
  readonly requests: number;
  /** Requests stored, by signal. */
  readonly stored: Readonly<Record<SignalName, number>>;
  readonly quarantined: number;
  /** Requests answered 503: nothing could be written. */
  readonly refused: number;
  /** Requests answered 429: too many at one time. */
  readonly slowed: number;
  /** Bodies in memory now, in bytes. */
  readonly pendingBytes: number;
}

export interface Receiver {
  readonly host: string;
  /** The port that was taken. */
  readonly port: number;
  /** `http://host:port`, the value for `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string;
  readonly directory: string;
  stats(): ReceiverStats;
  /** Acknowledged length of one of its files, for instance `traces.jsonl`; undefined when none was opened yet. */
  committed(file: string): number | undefined;
  /** Takes no new connections, finishes what it has begun, and closes the files. */
  close(): Promise<void>;
}
