import { diag, metrics } from '@opentelemetry/api';
import type { Meter, MeterProvider, Tracer, TracerProvider } from '@opentelemetry/api';
import { logs } from '@opentelemetry/api-logs';
import type { Logger, LoggerProvider } from '@opentelemetry/api-logs';
import { InstrumentationBase } from '@opentelemetry/instrumentation';
import type { InstrumentationNodeModuleDefinition } from '@opentelemetry/instrumentation';
import { moduleDefinitions } from './loading/definitions.js';
import { patchInPlace, patchLoadedCommonJs } from './loading/in-place.js';
import { warnWithoutSdk } from './loading/providers.js';
import { hookRequireOfV1 } from './loading/require-hook.js';
import { installSelfCheck } from './loading/self-check.js';
import { loadingState } from './loading/state.js';
import { warnOnce } from './loading/warnings.js';
import { createRuntime, installRuntime } from './runtime/index.js';
import type { Runtime } from './runtime/index.js';
import type { McpInstrumentationConfig } from './types.js';
import { PACKAGE_NAME, PACKAGE_VERSION } from './version.js';

/**
 * The OpenTelemetry instrumentation of the MCP SDKs: spans for every JSON-RPC request, client and server, with what
 * was really seen of it. Patches prototypes in place; a second instance, of this or of another copy of the package,
 * uses the patches of the first and becomes the one that records.
 *
 * @example
 * new NodeSDK({ instrumentations: [new McpInstrumentation()] }).start();
 */
export class McpInstrumentation extends InstrumentationBase<McpInstrumentationConfig> {
  // The base calls init() and enable() from its constructor, before field initialisers run: `declare` leaves alone
  // what they have set.
  declare private runtime: Runtime | undefined;
  declare private ownTracerProvider: boolean | undefined;
  declare private ownMeterProvider: boolean | undefined;
  declare private ownLoggerProvider: boolean | undefined;
  declare private globalLogger: { readonly of: LoggerProvider; readonly logger: Logger } | undefined;
  declare private checkedForSdk: boolean | undefined;

  constructor(config: McpInstrumentationConfig = {}) {
    super(PACKAGE_NAME, PACKAGE_VERSION, config);
  }

  protected override init(): InstrumentationNodeModuleDefinition[] {
    return moduleDefinitions();
  }

  /** Hooks module loading, patches what is loaded already, and records from now on. */
  override enable(): void {
    super.enable();
    this.takeOver();
    for (const step of [hookRequireOfV1, patchLoadedCommonJs, patchInPlace, installSelfCheck]) {
      try {
        step();
      } catch (error) {
        // A working directory that is gone, a damaged installation: the application must start all the same.
        const log = diag.createComponentLogger({ namespace: PACKAGE_NAME });
        log.error(`${step.name} failed, an MCP SDK may stay unseen`, error);
      }
    }
  }

  // disable() of the base is all that is needed: the wrappers ask isEnabled() and fall through. Nothing is unwrapped,
  // since whoever wrapped the same method after us would lose his wrapper.

  override setTracerProvider(provider: TracerProvider): void {
    this.ownTracerProvider = true;
    super.setTracerProvider(provider);
  }

  override setMeterProvider(provider: MeterProvider): void {
    this.ownMeterProvider = true;
    super.setMeterProvider(provider);
  }

  override setLoggerProvider(provider: LoggerProvider): void {
    this.ownLoggerProvider = true;
    super.setLoggerProvider(provider);
  }

  /** Makes this instance the one that records. Its runtime survives `disable()`, and ends when another takes over. */
  private takeOver(): void {
    const state = loadingState();
    if (this.runtime !== undefined) return;
    state.retire();
    const runtime = createRuntime({
      tracer: () => this.tracerForSpan(),
      meter: () => this.currentMeter(),
      logger: () => this.currentLogger(),
      config: () => this.getConfig(),
      patched: () => state.patched,
      isEnabled: () => this.isEnabled(),
      meterOwner: () => (this.ownMeterProvider === true ? this.meter : metrics.getMeterProvider()),
      warn: warnOnce,
    });
    installRuntime(noticingUse(runtime));
    this.runtime = runtime;
    state.isEnabled = (): boolean => this.isEnabled();
    state.retire = (): void => {
      this.runtime = undefined;
      runtime.dispose();
    };
  }

  private tracerForSpan(): Tracer {
    if (this.checkedForSdk !== true) {
      this.checkedForSdk = true;
      if (this.ownTracerProvider !== true)
        warnWithoutSdk(this.instrumentationName, this.instrumentationVersion);
    }
    return this.tracer;
  }

  /** The global meter has no proxy: one that was taken before an SDK was registered would stay a no-op for ever. */
  private currentMeter(): Meter {
    if (this.ownMeterProvider === true) return this.meter;
    return metrics.getMeter(this.instrumentationName, this.instrumentationVersion);
  }

  /**
   * The proxy of one copy of `api-logs` never hears of a provider that was registered through another copy, and an SDK
   * easily brings its own: a logger that was taken before would stay a no-op for ever. The global itself is shared.
   */
  private currentLogger(): Logger {
    if (this.ownLoggerProvider === true) return this.logger;
    const of = logs.getLoggerProvider();
    if (this.globalLogger?.of !== of) {
      this.globalLogger = {
        of,
        logger: of.getLogger(this.instrumentationName, this.instrumentationVersion),
      };
    }
    return this.globalLogger.logger;
  }
}

/** Notes that a patched method or an instrumented transport is in use: the self-check then has nothing to look for. */
function noticingUse(runtime: Runtime): Runtime {
  const { table } = runtime;
  const state = loadingState();
  return {
    ...runtime,
    table: {
      ...table,
      isEnabled: (point) => {
        state.used = true;
        return table.isEnabled(point);
      },
      instrumentTransport: (transport, role) => {
        state.used = true;
        table.instrumentTransport(transport, role);
      },
    },
  };
}
