/**
 * What other instrumentations write in each situation, as far as their code and runs show it; made after them, nothing
 * is copied. One fixture a cell: docs/audit-inputs.md shows what can be derived from each.
 */
export type Values = Readonly<Record<string, string | number | boolean>>;

export interface Emitted {
  readonly scope: string;
  readonly name: string;
  /** Kind of OTLP: 1 internal, 2 server, 3 client. */
  readonly kind: 1 | 2 | 3;
  readonly attributes: Values;
  readonly error?: boolean;
  /** Type of an exception event. */
  readonly exception?: string;
  readonly child?: boolean;
}

export const SITUATIONS = [
  'success',
  'tool error',
  'JSON-RPC error',
  'HTTP 503',
  'timeout',
  'reply lost',
  'input required',
] as const;
export type Situation = (typeof SITUATIONS)[number];

/** What a span has beyond its base in one situation. A situation that is left out gives no span of this side, or none that is known. */
type Written = Partial<Record<Situation, Partial<Pick<Emitted, 'attributes' | 'error' | 'exception'>>>>;

export interface EmitterRow {
  readonly emitter: string;
  readonly side: 'client' | 'server';
  readonly base: Omit<Emitted, 'kind'>;
  readonly written: Written;
}

export const CALL: Values = { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'get_weather' };
const NAME = 'tools/call get_weather';
const toolError = { attributes: { 'error.type': 'tool_error' }, error: true };
const rpcError = {
  attributes: { 'error.type': '-32602', 'rpc.response.status_code': '-32602' },
  error: true,
};
const plain = {};
/** Status alone: what went wrong is in no attribute. */
const failed = { error: true };

const csharp: Written = { success: plain, 'tool error': toolError, 'JSON-RPC error': rpcError };

export const EMITTER_ROWS: readonly EmitterRow[] = [
  {
    emitter: 'Python SDK',
    side: 'client',
    base: {
      scope: 'mcp-python-sdk',
      name: `MCP send ${NAME}`,
      attributes: { 'mcp.method.name': 'tools/call', 'jsonrpc.request.id': '4' },
    },
    // It ends before the reply is looked at.
    written: {
      success: plain,
      'tool error': plain,
      'JSON-RPC error': plain,
      timeout: { error: true, exception: 'TimeoutError' },
      'input required': plain,
    },
  },
  {
    emitter: 'Python SDK',
    side: 'server',
    base: { scope: 'mcp-python-sdk', name: NAME, attributes: { ...CALL, 'jsonrpc.request.id': '4' } },
    written: { success: plain, 'tool error': toolError, 'JSON-RPC error': rpcError, 'reply lost': plain },
  },
  {
    emitter: 'C# SDK',
    side: 'client',
    base: { scope: 'Experimental.ModelContextProtocol', name: NAME, attributes: CALL },
    written: csharp,
  },
  {
    emitter: 'C# SDK',
    side: 'server',
    base: { scope: 'Experimental.ModelContextProtocol', name: NAME, attributes: CALL },
    written: { ...csharp, 'reply lost': plain },
  },
  {
    emitter: 'Traceloop',
    side: 'client',
    base: {
      scope: '@traceloop/instrumentation-mcp',
      name: 'get_weather.tool',
      attributes: { 'traceloop.span.kind': 'tool', 'traceloop.entity.name': 'get_weather' },
    },
    written: {
      success: plain,
      'tool error': failed,
      'JSON-RPC error': failed,
      'HTTP 503': failed,
      timeout: failed,
      'reply lost': failed,
      'input required': plain,
    },
  },
  {
    emitter: 'Sentry',
    side: 'server',
    base: {
      scope: '@sentry/node',
      name: NAME,
      attributes: { 'mcp.method.name': 'tools/call', 'mcp.tool.name': 'get_weather', 'mcp.request.id': '4' },
    },
    written: {
      success: plain,
      'tool error': {
        attributes: { 'error.type': 'tool_error', 'mcp.tool.result.is_error': true },
        error: true,
      },
      'JSON-RPC error': { attributes: { 'rpc.response.status_code': '-32602' } },
      'reply lost': plain,
      'input required': plain,
    },
  },
  {
    emitter: 'dd-trace',
    side: 'client',
    base: { scope: 'dd-trace', name: NAME, attributes: CALL },
    written: {
      success: plain,
      'tool error': failed,
      'JSON-RPC error': failed,
      'HTTP 503': failed,
      timeout: failed,
      'reply lost': failed,
      'input required': plain,
    },
  },
  {
    emitter: 'dd-trace',
    side: 'server',
    base: { scope: 'dd-trace', name: NAME, attributes: CALL },
    written: { success: plain, 'tool error': failed, 'JSON-RPC error': failed, 'reply lost': plain },
  },
  {
    emitter: 'autotel',
    side: 'client',
    base: { scope: 'autotel-mcp', name: NAME, attributes: CALL },
    written: {
      success: plain,
      'tool error': toolError,
      'JSON-RPC error': { attributes: { 'error.type': 'McpError', 'error.code': '-32602' }, error: true },
      'HTTP 503': { attributes: { 'error.type': 'Error', 'error.code': '503' }, error: true },
      timeout: { attributes: { 'error.type': 'McpError', 'error.code': '-32001' }, error: true },
      'reply lost': { attributes: { 'error.type': 'McpError', 'error.code': '-32001' }, error: true },
      'input required': plain,
    },
  },
  {
    emitter: 'autotel',
    side: 'server',
    base: { scope: 'autotel-mcp', name: NAME, attributes: CALL },
    written: {
      success: plain,
      'tool error': toolError,
      'JSON-RPC error': { attributes: { 'error.type': 'McpError' }, error: true },
      'reply lost': plain,
      'input required': { attributes: { 'mcp.input_required': true } },
    },
  },
  {
    emitter: 'agentgateway',
    side: 'client',
    base: { scope: 'agentgateway', name: NAME, attributes: CALL },
    // It ends with the start of the response, whatever that is.
    written: {
      success: plain,
      'tool error': plain,
      'JSON-RPC error': plain,
      'reply lost': plain,
      'input required': plain,
    },
  },
  {
    emitter: 'any, by the conventions',
    side: 'client',
    base: { scope: 'somebody', name: NAME, attributes: CALL },
    written: {
      success: plain,
      'tool error': toolError,
      'JSON-RPC error': rpcError,
      'HTTP 503': { attributes: { 'error.type': '503' }, error: true },
      timeout: { attributes: { 'error.type': 'timeout' }, error: true },
    },
  },
  {
    emitter: 'any, by the conventions',
    side: 'server',
    base: { scope: 'somebody', name: NAME, attributes: CALL },
    written: { success: plain, 'tool error': toolError, 'JSON-RPC error': rpcError, 'reply lost': plain },
  },
];

export function emittedIn({ base, side, written }: EmitterRow, situation: Situation): Emitted | undefined {
  const beyond = written[situation];
  if (beyond === undefined) return undefined;
  return {
    ...base,
    ...beyond,
    kind: side === 'client' ? 3 : 2,
    attributes: { ...base.attributes, ...beyond.attributes },
  };
}
