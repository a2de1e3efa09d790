import type { Meter, Tracer } from '@opentelemetry/api';
import type { Logger } from '@opentelemetry/api-logs';
import type { HookPoint } from '../patch/hooks.js';
import { type Handler, type HookTable, type Invocation, holder } from '../patch/table.js';
import type { McpInstrumentationConfig, PatchReport } from '../types.js';
import { onTransportStart, onSseStream } from './client/http.js';
import { onCallTool, onFunnel, onNonCompleteResult, onRequest } from './client/request.js';
import { onNotification, onResponse } from './client/response.js';
import { onAppend, onStdioStart } from './client/stdio.js';
import { type RuntimeCore, createCore } from './core.js';
import { onIncomingRequest } from './server/receive.js';
import { onMcpServerConnect } from './server/high-level.js';
import { onConnectionClose } from './sessions.js';
import { watchServerSockets } from './server/sockets.js';
import { tapBareTransport } from './bare-transport.js';
import { onConnect } from './transport-tap.js';

export interface RuntimeDeps {
  tracer(): Tracer;
  meter(): Meter;
  /** What the meter belongs to. A provider may give another meter each time it is asked. */
  meterOwner(): object;
  logger(): Logger | undefined;
  config(): McpInstrumentationConfig;
  /** Copies of the SDK that were patched, where the loader knows. */
  patched?(): PatchReport['patched'];
  isEnabled(): boolean;
  /** Takes each warning once per code and process. */
  warn(code: string, message: string): void;
}

/** What the patched classes call. Opaque to everybody but `patch`. */
export interface Runtime {
  readonly table: HookTable;
  /** Ends what the runtime listens to. The wrappers stay and fall through. */
  dispose(): void;
}

/** Builds the logic behind the hooks. Nothing happens before `installRuntime`. */
export function createRuntime(deps: RuntimeDeps): Runtime {
  const core: RuntimeCore = createCore(deps);
  const sockets = watchServerSockets(() => deps.isEnabled());
  const bound =
    (handler: (core: RuntimeCore, invocation: Invocation) => unknown): Handler =>
    (invocation) =>
      handler(core, invocation);
  const handlers: Record<HookPoint, Handler> = {
    'Protocol.connect': bound(onConnect),
    'Protocol.request': bound(onRequest),
    'Protocol._requestWithSchemaViaCodec': bound(onFunnel),
    'Protocol._onclose': bound(onConnectionClose),
    'Protocol._onrequest': (invocation) => onIncomingRequest(core, sockets, invocation),
    'Protocol._onresponse': bound(onResponse),
    'Protocol._onnotification': bound(onNotification),
    'Client.callTool': bound(onCallTool),
    'Client._resolveNonCompleteResult': bound(onNonCompleteResult),
    'McpServer.connect': bound(onMcpServerConnect),
    'StreamableHTTPClientTransport.start': bound(onTransportStart),
    'StreamableHTTPClientTransport._handleSseStream': bound(onSseStream),
    'SSEClientTransport.start': bound(onTransportStart),
    'StdioClientTransport.start': bound(onStdioStart),
    'ReadBuffer.append': bound(onAppend),
  };
  return {
    table: {
      // A call that is under way when the instrumentation is switched off is told to its end: its response carries ours.
      isEnabled: (point) => point === 'Protocol._onresponse' || deps.isEnabled(),
      handlers,
      instrumentTransport: (transport, role) => {
        core.guard('instrumentTransport', () => tapBareTransport(core, transport, role));
      },
      failed: (point, error) => core.failed(point, error),
    },
    dispose: () => sockets.stop(),
  };
}

/** Makes `runtime` the one that the wrappers call; replaces an earlier one. */
export function installRuntime(runtime: Runtime): void {
  holder().active = runtime.table;
}
