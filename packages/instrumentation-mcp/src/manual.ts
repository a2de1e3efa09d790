import { metrics, trace } from '@opentelemetry/api';
import { logs } from '@opentelemetry/api-logs';
import { patchModule } from './loading/patches.js';
import { loadingState } from './loading/state.js';
import { warnOnce } from './loading/warnings.js';
import { read } from './patch/foreign.js';
import { holder } from './patch/table.js';
import { createRuntime, installRuntime } from './runtime/index.js';
import type { ClientLike, McpInstrumentationConfig, ServerLike, TransportLike } from './types.js';
import { PACKAGE_NAME, PACKAGE_VERSION } from './version.js';

/**
 * Watches a client where no loader hook can: a bundled program, a client handed over by a framework. Call it before
 * `connect`. The class of the client is patched in place, the object stays the same; a second call does nothing.
 *
 * @param config Used when no `McpInstrumentation` is in charge: spans then go to the global providers.
 * @returns The same object.
 * @example
 * const client = instrumentClient(new Client({ name: 'app', version: '1.0.0' }));
 */
export function instrumentClient<T extends ClientLike>(client: T, config?: McpInstrumentationConfig): T {
  ensureRuntime(config);
  patchClassOf('client', client);
  return client;
}

/**
 * The same for a `Server` or `McpServer`.
 *
 * @returns The same object.
 * @example
 * const server = instrumentServer(new McpServer({ name: 'todo', version: '1.0.0' }));
 */
export function instrumentServer<T extends ServerLike>(server: T, config?: McpInstrumentationConfig): T {
  ensureRuntime(config);
  patchClassOf('server', server);
  const inner = read(server, 'server');
  if (typeof inner === 'object' && inner !== null) patchClassOf('server', inner);
  return server;
}

/**
 * Watches a transport, for clients and servers that are not the SDK's but speak through a transport of its shape. Call
 * it before the transport is handed over. Not seen here: a caller that stops waiting without telling the other side,
 * the bytes of HTTP, and when a handler starts.
 *
 * @param role What speaks through it in this process.
 * @returns The same object.
 */
export function instrumentTransport<T extends TransportLike>(
  transport: T,
  role: 'client' | 'server',
  config?: McpInstrumentationConfig,
): T {
  ensureRuntime(config);
  holder().active?.instrumentTransport(transport, role);
  return transport;
}

function patchClassOf(module: string, instance: object): void {
  patchModule(
    { given: read(instance, 'constructor') },
    { module, version: undefined, format: 'given' },
    true,
  );
}

/** Without an `McpInstrumentation` the global providers take what is recorded; one that comes later takes over. */
function ensureRuntime(config: McpInstrumentationConfig = {}): void {
  if (holder().active !== undefined) return;
  const runtime = createRuntime({
    tracer: () => trace.getTracer(PACKAGE_NAME, PACKAGE_VERSION),
    meter: () => metrics.getMeter(PACKAGE_NAME, PACKAGE_VERSION),
    meterOwner: () => metrics.getMeterProvider(),
    logger: () => logs.getLogger(PACKAGE_NAME, PACKAGE_VERSION),
    config: () => config,
    isEnabled: () => config.enabled !== false,
    warn: warnOnce,
  });
  installRuntime(runtime);
  loadingState().retire = (): void => runtime.dispose();
}
