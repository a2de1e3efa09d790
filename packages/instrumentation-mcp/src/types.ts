import type { Span } from '@opentelemetry/api';
import type { InstrumentationConfig } from '@opentelemetry/instrumentation';
import type { EffectKind } from '@waybill/api';

/** What a hook, a resolver or a filter is told about one JSON-RPC request. Objects are the application's: read only. */
export interface ToolCallInfo {
  readonly side: 'client' | 'server';
  /** JSON-RPC method, `tools/call` for tools. */
  readonly method: string;
  /** Tool name; undefined when the method is not `tools/call`. */
  readonly tool: string | undefined;
  /** `serverInfo.name` of the peer (client side) or of the own server (server side), where it is known yet. */
  readonly serverName: string | undefined;
  readonly arguments: Readonly<Record<string, unknown>> | undefined;
  /** `params._meta` as the caller or the peer gave it, before anything of ours is added. */
  readonly meta: Readonly<Record<string, unknown>> | undefined;
  /** The span that was active when the request was made or received. */
  readonly activeSpan: Span | undefined;
  /** Attempt of the operation, from 1. */
  readonly attempt: number;
}

export interface ResolvedIds {
  readonly runId?: string;
  readonly operationId?: string;
  /** Default `framework`. */
  readonly source?: 'caller' | 'framework' | 'argument';
}

/** Takes ids from a framework's own context. Synchronous; an error is swallowed and counted. */
export type IdResolver = (call: ToolCallInfo) => ResolvedIds | undefined;

/** `tool` or `server/tool`; `*` matches within one segment. The most specific key wins. */
export type ToolPattern = string;

/**
 * How an operation id follows from the arguments: JSON Pointers or top-level names, one missing yields no id.
 * `plain` writes the values, otherwise they go through HMAC-SHA256 with `digestKey`.
 */
export type OperationRule =
  | { readonly args: readonly string[]; readonly scope?: 'run' | 'always'; readonly plain?: boolean }
  | ((call: ToolCallInfo) => string | undefined);

export interface McpInstrumentationConfig extends InstrumentationConfig {
  /** Asked when neither `_meta` nor a scope named the ids; the first that answers wins. */
  readonly resolveIds?: IdResolver | readonly IdResolver[];
  readonly operations?: Readonly<Record<ToolPattern, OperationRule>>;
  readonly effectKinds?: Readonly<Record<ToolPattern, EffectKind>>;
  /** Let the annotations of `tools/list` lower an effect kind too. Default false. */
  readonly trustToolAnnotations?: boolean;
  /** Where ids travel. Default `meta`; baggage reaches third parties over HTTP. */
  readonly propagateIds?: 'meta' | 'meta+baggage' | 'none';
  /** Whether a server takes ids from `params._meta`. Default true. */
  readonly acceptRemoteIds?: boolean | ((call: ToolCallInfo) => boolean);
  /** Default `span_events`; environment `WAYBILL_STAGE_SIGNAL`. */
  readonly stageSignal?: 'span_events' | 'logs' | 'both';
  /** File that takes one OTLP JSON log line per stage of side-effecting calls; environment `WAYBILL_STAGE_JOURNAL`. */
  readonly stageJournal?: string;
  /**
   * One log event `waybill.call` for each `tools/call` that a client sent, when it has its outcome: what was seen of it,
   * without arguments and results. Default false; environment `WAYBILL_DIAGNOSTIC_RECORD`.
   */
  readonly diagnosticRecord?: boolean;
  /** `enrich` writes on an active MCP span of another instrumentation instead of starting one. Default `own`. */
  readonly spans?: 'own' | 'enrich';
  /** INTERNAL `execute_tool` span above the legs. `auto`: only when no span is active and a second leg starts. */
  readonly operationSpan?: 'auto' | 'always' | 'never';
  /** Default `all`; `waybill.*` attributes stand on `tools/call` only. */
  readonly methods?: 'tools' | 'all';
  /** Record `mcp.client.session.duration` and `mcp.server.session.duration`. Default false; 2026-07-28 has no sessions. */
  readonly sessionMetrics?: boolean;
  readonly ignoreCall?: (call: ToolCallInfo) => boolean;
  /** Arguments and results as span attributes. Default false; environment `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`. */
  readonly captureContent?: boolean;
  /**
   * Key of the HMAC that makes operation ids of arguments, default random per process. With it, spans of tool calls carry
   * `waybill.args.digest` and `waybill.result.digest`; without it, none.
   */
  readonly digestKey?: string | Uint8Array;
  readonly requestHook?: (span: Span, info: ToolCallInfo) => void;
  readonly responseHook?: (
    span: Span,
    info: ToolCallInfo & { readonly outcome: string; readonly reason: string | undefined },
  ) => void;
}

/** What `instrumentTransport` needs of a transport. */
export interface TransportLike {
  send(message: never, options?: never): Promise<void>;
  close(): Promise<void>;
  onmessage?: unknown;
}
/** What `instrumentClient` needs of a client. */
export interface ClientLike {
  callTool: unknown;
  connect: unknown;
}
/** What `instrumentServer` needs of a `Server` or `McpServer`. */
export interface ServerLike {
  connect: unknown;
}

/** Which copies of the SDK were patched, and what of each could not be found. */
export interface PatchReport {
  readonly patched: readonly {
    readonly module: string;
    readonly version: string | undefined;
    readonly format: 'esm' | 'cjs' | 'given';
    readonly missing: readonly string[];
  }[];
}
