import { AsyncLocalStorage } from 'node:async_hooks';
import { isThenable } from '../patch/foreign.js';
import { holder } from '../patch/table.js';
import type { McpInstrumentationConfig } from '../types.js';
import { BoundedMap } from './bounded.js';
import type { CallScope } from './client/call-scope.js';
import type { ClientLeg } from './client/leg.js';
import type { Connection } from './connection.js';
import type { Attempt } from './ids.js';
import type { Journal } from './journal.js';
import type { Instruments } from './metrics.js';
import { createInstruments } from './metrics.js';
import type { ServerCall } from './server/call.js';
import type { RuntimeDeps } from './index.js';

/** What our own asynchronous flow carries beside OpenTelemetry's context, which does nothing without an SDK. */
export interface Flow {
  /** The leg whose bytes are being sent or read here. */
  readonly leg: ClientLeg | undefined;
  /** The request whose handler is running here. */
  readonly call: ServerCall | undefined;
  /** The `callTool` that is running here. */
  readonly scope: CallScope | undefined;
}

export interface Environment {
  readonly stageSignal: string | undefined;
  readonly stageJournal: string | undefined;
  readonly runId: string | undefined;
  readonly captureContent: boolean;
  readonly diagnosticRecord: boolean;
}

function readEnvironment(): Environment {
  const { env } = process;
  const isTrue = (name: string): boolean => env[name]?.toLowerCase() === 'true';
  return {
    stageSignal: env['WAYBILL_STAGE_SIGNAL'],
    stageJournal: env['WAYBILL_STAGE_JOURNAL'],
    runId: env['WAYBILL_RUN_ID'],
    captureContent: isTrue('OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'),
    diagnosticRecord: isTrue('WAYBILL_DIAGNOSTIC_RECORD'),
  };
}

/** Operation ids of which attempts are counted. */
const MAX_OPERATIONS = 4096;

/** Everything the hooks share. One per runtime; per-connection state hangs on the SDK's own objects. */
export interface RuntimeCore {
  readonly deps: RuntimeDeps;
  readonly flow: AsyncLocalStorage<Flow>;
  readonly connections: WeakMap<object, Connection>;
  /** Spans that we started, where `spans: 'enrich'` must tell them from others. */
  readonly ownSpans: WeakSet<object>;
  /** Connections by their transport. */
  readonly transports: WeakMap<object, Connection>;
  /** The `McpServer` around a low-level server. */
  readonly highLevelServers: WeakMap<object, object>;
  /** Connections by the SDK's `ReadBuffer` of their pipe. */
  readonly readBuffers: WeakMap<object, Connection>;
  readonly attempts: {
    readonly client: BoundedMap<string, Attempt>;
    readonly server: BoundedMap<string, Attempt>;
  };
  readonly instruments: () => Instruments;
  /** Open stage journals by path: one descriptor a path for the life of the process. */
  readonly journals: Map<string, Journal>;
  /** Failures of our own code by hook point. */
  readonly failures: Map<string, number>;
  config(): McpInstrumentationConfig;
  /** Settings from the environment, read once: `process.env` is a call into the system each time. */
  readonly environment: Environment;
  /** Runs `body`; a failure of ours is counted and never reaches the application. */
  guard<T>(point: string, body: () => T): T | undefined;
  /**
   * Runs a function of the user, which must be synchronous: a promise of it is not waited for and counts as no answer,
   * and its rejection is counted and ends nothing.
   */
  hook<T>(point: string, body: () => T): T | undefined;
  failed(point: string, error: unknown): void;
  /** The same for a stage that a span did not take. */
  readonly stageFailed: (error: unknown) => void;
  /** Hook points that are missing, for `waybill.instrumentation.degraded`. */
  degraded(): readonly string[];
  /** Number of the next call of that side, dense from 1. */
  nextCallNumber(side: 'client' | 'server'): number;
  boundaryId(side: 'client' | 'server'): string;
}

export function createCore(deps: RuntimeDeps): RuntimeCore {
  const failures = new Map<string, number>();
  const instruments = new WeakMap<object, Instruments>();
  const failed = (point: string, error: unknown): void => {
    const count = (failures.get(point) ?? 0) + 1;
    failures.set(point, count);
    if (count > 1) return;
    try {
      const text = error instanceof Error ? error.message : String(error);
      deps.warn('WAYBILL_HOOK_FAILED', `the hook ${point} failed and was passed over: ${text}`);
    } catch {
      // Nobody to tell.
    }
  };
  const guard = <T>(point: string, body: () => T): T | undefined => {
    try {
      return body();
    } catch (error) {
      failed(point, error);
      return undefined;
    }
  };
  const missing = holder().missing;
  let degradedList: readonly string[] = [];
  return {
    deps,
    flow: new AsyncLocalStorage<Flow>(),
    connections: new WeakMap(),
    ownSpans: new WeakSet(),
    transports: new WeakMap(),
    highLevelServers: new WeakMap(),
    readBuffers: new WeakMap(),
    attempts: { client: new BoundedMap(MAX_OPERATIONS), server: new BoundedMap(MAX_OPERATIONS) },
    instruments: () => {
      // Asked each time: before an SDK is registered the meter is another one, which records nothing.
      const owner = deps.meterOwner();
      let known = instruments.get(owner);
      if (known === undefined) {
        known = createInstruments(deps.meter());
        instruments.set(owner, known);
      }
      return known;
    },
    journals: new Map(),
    failures,
    config: () => deps.config(),
    environment: readEnvironment(),
    guard,
    hook: (point, body) =>
      guard(point, () => {
        const value = body();
        if (!isThenable(value)) return value;
        Promise.resolve(value).then(undefined, (error: unknown) => failed(point, error));
        return undefined;
      }),
    failed,
    stageFailed: (error) => failed('stage.event', error),
    degraded: () => {
      if (degradedList.length !== missing.size) degradedList = [...missing].toSorted();
      return degradedList;
    },
    nextCallNumber: (side) => ++holder().boundary.calls[side],
    boundaryId: (side) => `${holder().boundary.id}:${side}`,
  };
}
