/**
 * The audit backend of `waybill serve`: the receiver stores, the auditor follows what is stored, the emitter sends what
 * the auditor says. Each of them goes on where it was, from files, after any end of the process.
 */
import { networkInterfaces } from 'node:os';
import { lookup } from 'node:dns/promises';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import type { KeySource } from '@waybill/core';
import type { AuditConfig, Rule } from '../rule.js';
import { LiveAuditor, type AuditorStats } from './auditor/auditor.js';
import { Emitter, type EmitterStats } from './auditor/emitter.js';
import type { StateEvent } from './auditor/events.js';
import { METRICS_CONTENT_TYPE, metricsText } from './auditor/metrics.js';
import { livePage, PAGE_HEADERS, pageJson, SHOWN_CHANGES } from './auditor/page.js';
import { ReceiverError } from './errors.js';
import { startReceiver } from './receiver.js';
import type { Receiver, ReceiverOptions } from './types.js';

export interface BackendOptions extends ReceiverOptions {
  /** Milliseconds without news after which a group of evidence is judged. Default 60,000. */
  readonly graceMs?: number;
  /** JSON Lines of receipts, followed as they grow. */
  readonly receipts?: readonly string[];
  /** JSON Lines of reads of the target, followed as they grow. */
  readonly targets?: readonly string[];
  /** JSON Lines of rows that wait in an outbox, followed as they grow. */
  readonly outbox?: readonly string[];
  /** Files or addresses of metrics that tell of lost telemetry. */
  readonly loss?: readonly string[];
  readonly keys?: KeySource;
  readonly requireSigned?: boolean;
  readonly config?: AuditConfig;
  readonly rules?: readonly Rule<unknown>[];
  /** OTLP/HTTP endpoint for verdicts and findings. Never this receiver. */
  readonly emit?: string;
  /** Headers of requests to that endpoint. */
  readonly emitHeaders?: Readonly<Record<string, string>>;
  /** Adds one span of no length per change to the trace of the operation. */
  readonly verdictSpans?: boolean;
  readonly version?: string;
  /** Milliseconds since the epoch. Default the clock of the machine. */
  readonly now?: () => number;
  /** Milliseconds between looks at the files. Default 500. */
  readonly everyMs?: number;
  readonly onChange?: (event: StateEvent) => void;
  /** Told of what the operator should know. Must not throw. */
  readonly onProblem?: (text: string) => void;
}

export interface AuditBackend extends Receiver {
  auditorStats(): AuditorStats;
  emitterStats(): EmitterStats | undefined;
}

const GRACE_MS = 60_000;
/** While requests take all of the thread the auditor rests this many times as long as it worked. */
const BUSY_REST = 9;
/** Longest time for the audit of what is unread when the process is to end. */
const DRAIN_MS = 5_000;
/** A shorter look at how busy the thread is says nothing. */
const LOOK_MS = 5;

/**
 * Starts the receiver and audits what it stores.
 * @throws ReceiverError when the port or the directory cannot be had, or when `emit` names this receiver
 */
export async function startBackend(options: BackendOptions): Promise<AuditBackend> {
  const now = options.now ?? Date.now;
  const problem = options.onProblem ?? ((): void => undefined);
  const recent: StateEvent[] = [];
  const state: { running?: Running } = {};
  const receiver = await startReceiver({
    ...options,
    pages: (target) => (state.running === undefined ? undefined : pageOf(target, state.running)),
  });
  try {
    if (options.emit !== undefined) await refuseLoop(options.emit, receiver);
    const graceMs = options.graceMs ?? GRACE_MS;
    const auditor = new LiveAuditor({
      ...options,
      directory: receiver.directory,
      graceMs,
      now,
      committed: (file) => receiver.committed(file),
      onProblem: problem,
      onChange: (event) => {
        recent.unshift(event);
        if (recent.length > SHOWN_CHANGES) recent.pop();
        options.onChange?.(event);
      },
    });
    const emitter =
      options.emit === undefined
        ? undefined
        : new Emitter({
            eventFile: auditor.eventFile,
            progressFile: path.join(receiver.directory, '.live', 'emitted'),
            endpoint: options.emit,
            ...(options.emitHeaders === undefined ? {} : { headers: options.emitHeaders }),
            verdictSpans: options.verdictSpans ?? false,
            version: options.version ?? '0.1.0',
            now,
            onProblem: problem,
          });
    state.running = { receiver, auditor, emitter, recent, graceMs, now, failure: undefined };
    const loops = [
      loop(
        options.everyMs ?? 500,
        () => audit(state.running, problem),
        // What waits to be read is on disk; what waits to be received is in the queue of a sender.
        restWhileBusy(() => receiver.stats().pendingBytes > 0),
      ),
      loop(options.everyMs ?? 500, async () => {
        await emitter?.step().catch((error: unknown) => {
          problem(`events wait on disk: ${error instanceof Error ? error.message : String(error)}`);
        });
        return false;
      }),
    ];
    return {
      ...receiver,
      auditorStats: () => auditor.stats(),
      emitterStats: () => emitter?.stats(),
      close: async () => {
        await receiver.close();
        await Promise.all(loops.map((each) => each.stop()));
        // What came in while the loops ended; the rest waits on disk for the next start, as what has not had its grace.
        const end = performance.now() + DRAIN_MS;
        while ((await audit(state.running, problem)) && performance.now() < end);
        await emitter?.step().catch(() => undefined);
        emitter?.close();
        await auditor.close().catch((error: unknown) => {
          problem(`the progress could not be noted; the next start reads more again: ${String(error)}`);
        });
      },
    };
  } catch (error) {
    await receiver.close();
    throw error;
  }
}

interface Running {
  readonly receiver: Receiver;
  readonly auditor: LiveAuditor;
  readonly emitter: Emitter | undefined;
  readonly recent: readonly StateEvent[];
  readonly graceMs: number;
  readonly now: () => number;
  /** Why the last step of the auditor failed. */
  failure: string | undefined;
}

async function audit(running: Running | undefined, problem: (text: string) => void): Promise<boolean> {
  if (running === undefined) return false;
  try {
    const more = await running.auditor.step();
    running.failure = undefined;
    return more;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    if (running.failure !== why) problem(`the audit stands still and tries again: ${why}`);
    running.failure = why;
    return false;
  }
}

/**
 * How long to rest for each unit of work: as long as requests take the thread, up to nine times, and not at all while
 * none is under way. A sender that is content with half of the thread leaves the other half to the audit.
 */
function restWhileBusy(isBusy: () => boolean): RestOf {
  let since = performance.eventLoopUtilization();
  let rest = BUSY_REST;
  return {
    before: () => {
      const { idle, active, utilization } = performance.eventLoopUtilization(since);
      if (idle + active < LOOK_MS) return;
      rest = utilization < 1 ? Math.min(BUSY_REST, utilization / (1 - utilization)) : BUSY_REST;
    },
    after: () => {
      since = performance.eventLoopUtilization();
      return isBusy() ? rest : 0;
    },
  };
}

interface RestOf {
  before(): void;
  /** Rest for each unit of work. */
  after(): number;
}

const NO_REST: RestOf = { before: () => undefined, after: () => 0 };

/** Runs a step again and again, never two at a time. */
function loop(
  everyMs: number,
  step: () => Promise<boolean>,
  restOf: RestOf = NO_REST,
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  let wake = (): void => undefined;
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      restOf.before();
      const started = performance.now();
      const more = await step();
      const rest = (performance.now() - started) * restOf.after();
      if (more && rest === 0) await turn();
      else {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, more ? rest : Math.max(rest, everyMs));
          wake = (): void => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
    }
  };
  const running = run();
  return {
    stop: async () => {
      stopping.abort();
      wake();
      await running;
    },
  };
}

function pageOf(
  target: string,
  running: Running,
):
  | { status: number; contentType: string; body: string; headers?: Readonly<Record<string, string>> }
  | undefined {
  const { receiver, auditor, emitter } = running;
  const figures = {
    receiver: receiver.stats(),
    auditor: auditor.stats(),
    emitter: emitter?.stats(),
    pendingBytes: receiver.stats().pendingBytes,
  };
  switch (target) {
    case '/':
      return {
        status: 200,
        contentType: 'text/html; charset=utf-8',
        body: livePage(),
        headers: PAGE_HEADERS,
      };
    case '/live.json':
      return {
        status: 200,
        contentType: 'application/json',
        body: pageJson({
          ...figures,
          recent: running.recent,
          graceMs: running.graceMs,
          now: running.now(),
          eventFile: auditor.eventFile,
        }),
        headers: { 'cache-control': 'no-store' },
      };
    case '/metrics':
      return { status: 200, contentType: METRICS_CONTENT_TYPE, body: metricsText(figures) };
    case '/readyz':
      if (running.failure === undefined) return undefined;
      return {
        status: 503,
        contentType: 'application/json',
        body: `${JSON.stringify({ status: 'cannot audit', reason: running.failure })}\n`,
      };
    default:
      return undefined;
  }
}

/**
 * Verdicts that come back as evidence would be received, and with spans judged, for ever.
 * @throws ReceiverError
 */
async function refuseLoop(emit: string, receiver: Receiver): Promise<void> {
  let url: URL;
  try {
    url = new URL(emit);
  } catch {
    throw emitError(`'${emit}' is no address`);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw emitError(`'${emit}' is not an address of HTTP`);
  const port = Number(url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : url.port);
  if (port !== receiver.port) return;
  const own = new Set(['0.0.0.0', '::', '127.0.0.1', '::1', receiver.host]);
  for (const addresses of Object.values(networkInterfaces())) {
    for (const { address } of addresses ?? []) own.add(address);
  }
  const name = url.hostname.replace(/^\[|\]$/g, '');
  const found = await lookup(name, { all: true }).catch(() => []);
  if (!own.has(name) && !found.some(({ address }) => own.has(address) || address.startsWith('127.'))) return;
  throw new ReceiverError(
    'emit_loop',
    `--emit ${emit} is this receiver: verdicts would come back as evidence`,
    'name the OTLP/HTTP receiver of another pipeline, for example http://127.0.0.1:4418',
  );
}

function emitError(text: string): ReceiverError {
  return new ReceiverError(
    'emit_invalid',
    text,
    'give the base URL of an OTLP/HTTP receiver, for example http://127.0.0.1:4418',
  );
}
