/** OpenTelemetry instrumentation for the MCP TypeScript SDKs. */
export { McpInstrumentation } from './instrumentation.js';
export { instrumentModules, patchReport } from './loading/patches.js';
export { instrumentClient, instrumentServer, instrumentTransport } from './manual.js';
export type {
  ClientLike,
  IdResolver,
  McpInstrumentationConfig,
  OperationRule,
  PatchReport,
  ResolvedIds,
  ServerLike,
  ToolCallInfo,
  ToolPattern,
  TransportLike,
} from './types.js';
