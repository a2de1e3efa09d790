export { createBarriers, type Barriers } from './barriers.js';
export type { PeerIdentity, ToolCall } from './canned.js';
export { startCuttingProxy } from './cutting-proxy.js';
export type {
  CutForm,
  CutPlan,
  CuttingProxy,
  CuttingProxyOptions,
  Direction,
  Upstream,
} from './cutting-proxy.js';
export { startFaultServer, type FaultServer, type FaultServerOptions } from './fault-server.js';
export type { RecordedRequest } from './http-listener.js';
export {
  startLegacySseServer,
  type LegacySseServer,
  type LegacySseServerOptions,
} from './legacy-sse-server.js';
export { stdioPeer, type StdioServerCommand } from './stdio-peer.js';
export { REPLIES, fillIds } from './transcript.js';
export type {
  CallIds,
  HttpReply,
  LegacyReply,
  ReplyEnd,
  StdioReply,
  TimedChunk,
  TimedText,
} from './transcript.js';
