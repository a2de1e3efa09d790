/** Traces that are fetched from a backend. */

export type Backend = 'jaeger' | 'tempo' | 'plain';

export interface RemoteOptions {
  /** Start of the time range, inclusive. Default: one hour before `to`. */
  readonly from?: Date;
  /** End of the time range, exclusive. Default: now. */
  readonly to?: Date;
  /** Jaeger: only traces of these services. Default: all services that it names. */
  readonly services?: readonly string[];
  /** Tempo: TraceQL that selects the traces. Default: traces with MCP or Waybill spans. */
  readonly query?: string;
  /** Traces asked for at one time; a window that is full is halved and asked again. Default 100. */
  readonly pageTraces?: number;
  /** Sent with every request; see `headersOfEnvironment`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly onProgress?: (progress: RemoteProgress) => void;
  /** Milliseconds after which one request is given up. Default 60,000. */
  readonly timeoutMs?: number;
  /** Milliseconds before the first repetition of a failed request, doubled each time. Default 500. */
  readonly retryDelayMs?: number;
}

export interface RemoteProgress {
  /** Part of the time range that is done, 0 to 1. */
  readonly fraction: number;
  /** Answers and traces taken so far. */
  readonly requests: number;
  readonly traces: number;
}

/** Told of what a backend could not or did not give. */
export interface RemoteProblem {
  readonly kind: 'failed' | 'partial';
  readonly reason: string;
  readonly remedy: string;
}

/** Takes whole answers as lines of JSON, and problems. */
export interface RemoteSink {
  line(text: string): void;
  problem(problem: RemoteProblem): void;
}

export interface RemoteUrl {
  readonly backend: Backend;
  /** http or https. */
  readonly url: URL;
}

const SCHEMES: Readonly<Record<string, Backend>> = { 'jaeger+': 'jaeger', 'tempo+': 'tempo' };

/**
 * `jaeger+http://…` and `tempo+https://…` are searched by time range; a plain http(s) address is fetched as it is.
 * Undefined for everything that is no address.
 */
export function remoteUrl(name: string): RemoteUrl | undefined {
  const match = /^(jaeger\+|tempo\+)?https?:\/\//i.exec(name);
  if (match === null) return undefined;
  const prefix = (match[1] ?? '').toLowerCase();
  try {
    return { backend: SCHEMES[prefix] ?? 'plain', url: new URL(name.slice(prefix.length)) };
  } catch {
    return undefined;
  }
}

/** Environment variable of the headers, in the form of `OTEL_EXPORTER_OTLP_HEADERS`. */
export const HEADERS_VARIABLE = 'WAYBILL_HTTP_HEADERS';

/**
 * Headers for backends (`authorization=Bearer%20…,x-scope-orgid=team`) from the environment, so that no secret stands
 * on a command line. Entries that are no `name=value` are left out.
 */
export function headersOfEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const entry of (environment[HEADERS_VARIABLE] ?? '').split(',')) {
    const at = entry.indexOf('=');
    const name = entry.slice(0, Math.max(at, 0)).trim().toLowerCase();
    if (!/^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) continue;
    const value = entry.slice(at + 1).trim();
    try {
      headers[name] = decodeURIComponent(value);
    } catch {
      headers[name] = value;
    }
  }
  return headers;
}
