/**
 * Keys of the OpenTelemetry conventions for MCP and GenAI that Waybill writes and reads. Status "Development":
 * the constants of `@opentelemetry/semantic-conventions/incubating` are deprecated there and incomplete, so they are
 * own strings here. Source: semantic-conventions-genai, docs/gen-ai/mcp.md.
 */
export const ATTR_MCP_METHOD_NAME = 'mcp.method.name';
export const ATTR_MCP_PROTOCOL_VERSION = 'mcp.protocol.version';
export const ATTR_MCP_SESSION_ID = 'mcp.session.id';
export const ATTR_MCP_RESOURCE_URI = 'mcp.resource.uri';
export const ATTR_JSONRPC_REQUEST_ID = 'jsonrpc.request.id';
export const ATTR_JSONRPC_PROTOCOL_VERSION = 'jsonrpc.protocol.version';
export const ATTR_RPC_RESPONSE_STATUS_CODE = 'rpc.response.status_code';
export const ATTR_GEN_AI_OPERATION_NAME = 'gen_ai.operation.name';
export const ATTR_GEN_AI_TOOL_NAME = 'gen_ai.tool.name';
export const ATTR_GEN_AI_PROMPT_NAME = 'gen_ai.prompt.name';
export const ATTR_GEN_AI_TOOL_CALL_ARGUMENTS = 'gen_ai.tool.call.arguments';
export const ATTR_GEN_AI_TOOL_CALL_RESULT = 'gen_ai.tool.call.result';
export const GEN_AI_OPERATION_EXECUTE_TOOL = 'execute_tool';
export const METHOD_TOOLS_CALL = 'tools/call';

/** `error.type` of a result with `isError: true`. */
export const ERROR_TYPE_TOOL_ERROR = 'tool_error';

/** JSON-RPC codes that are the client's fault and therefore no error of the server span. */
export const CLIENT_FAULT_CODES: readonly number[] = [-32700, -32600, -32601, -32602, -32002];

/** Explicit bucket boundaries of the MCP duration histograms, in seconds. */
export const DURATION_BOUNDARIES_SECONDS: readonly number[] = [
  0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300,
];
export const METRIC_CLIENT_OPERATION_DURATION = 'mcp.client.operation.duration';
export const METRIC_SERVER_OPERATION_DURATION = 'mcp.server.operation.duration';
export const METRIC_CLIENT_SESSION_DURATION = 'mcp.client.session.duration';
export const METRIC_SERVER_SESSION_DURATION = 'mcp.server.session.duration';
/** Counters of Waybill, unit `{call}`: recorded in the SDK, hence true under any sampling. */
export const METRIC_CLIENT_CALLS = 'waybill.client.calls';
export const METRIC_SERVER_CALLS = 'waybill.server.calls';
