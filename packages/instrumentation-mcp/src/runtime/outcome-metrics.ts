import type { Attributes } from '@opentelemetry/api';
import {
  ATTR_ERROR_TYPE,
  ATTR_NETWORK_PROTOCOL_NAME,
  ATTR_NETWORK_TRANSPORT,
  ATTR_SERVER_ADDRESS,
  ATTR_SERVER_PORT,
} from '@opentelemetry/semantic-conventions';
import {
  ATTR_EFFECT_KIND,
  ATTR_GEN_AI_OPERATION_NAME,
  ATTR_GEN_AI_PROMPT_NAME,
  ATTR_GEN_AI_TOOL_NAME,
  ATTR_MCP_METHOD_NAME,
  ATTR_MCP_PROTOCOL_VERSION,
  ATTR_OUTCOME,
  ATTR_RPC_RESPONSE_STATUS_CODE,
  type EffectKind,
  GEN_AI_OPERATION_EXECUTE_TOOL,
  METHOD_TOOLS_CALL,
} from '@waybill/core';
import { type Connection, connectionAttributes } from './connection.js';
import type { RuntimeCore } from './core.js';
import { capped } from './limits.js';
import { metricAttributes } from './metrics.js';

const DURATION_KEYS = [
  ATTR_MCP_METHOD_NAME,
  ATTR_ERROR_TYPE,
  ATTR_GEN_AI_TOOL_NAME,
  ATTR_GEN_AI_PROMPT_NAME,
  ATTR_GEN_AI_OPERATION_NAME,
  ATTR_RPC_RESPONSE_STATUS_CODE,
  ATTR_MCP_PROTOCOL_VERSION,
  ATTR_NETWORK_TRANSPORT,
  ATTR_NETWORK_PROTOCOL_NAME,
  ATTR_SERVER_ADDRESS,
  ATTR_SERVER_PORT,
];
/** Attributes of the session metrics (conventions for MCP). */
export const SESSION_KEYS: readonly string[] = [
  ATTR_ERROR_TYPE,
  ATTR_MCP_PROTOCOL_VERSION,
  ATTR_NETWORK_TRANSPORT,
  ATTR_NETWORK_PROTOCOL_NAME,
  ATTR_SERVER_ADDRESS,
  ATTR_SERVER_PORT,
];
const CALL_KEYS = [ATTR_OUTCOME, ATTR_GEN_AI_TOOL_NAME];

export interface MeasuredCall {
  readonly seconds: number;
  readonly method: string;
  readonly tool: string | undefined;
  readonly prompt?: string | undefined;
  /** Attributes of the end of the call; those of the request are added to them. */
  readonly attributes: Attributes;
  /** Of tool calls only. */
  readonly effectKind: EffectKind | undefined;
  readonly connection: Connection;
}

/** The duration of any request, and for tool calls the counter by outcome. */
export function recordCallMetrics(core: RuntimeCore, side: 'client' | 'server', call: MeasuredCall): void {
  const { silent, duration, calls } = core.instruments()[side];
  if (silent) return;
  const { attributes, method, tool, prompt } = call;
  attributes[ATTR_MCP_METHOD_NAME] = capped(method);
  if (tool !== undefined) {
    attributes[ATTR_GEN_AI_TOOL_NAME] = capped(tool);
    if (method === METHOD_TOOLS_CALL) attributes[ATTR_GEN_AI_OPERATION_NAME] = GEN_AI_OPERATION_EXECUTE_TOOL;
  }
  if (prompt !== undefined) attributes[ATTR_GEN_AI_PROMPT_NAME] = capped(prompt);
  duration.record(
    call.seconds,
    metricAttributes(attributes, DURATION_KEYS, connectionAttributes(call.connection, side)),
  );
  if (call.effectKind === undefined) return;
  const counted = metricAttributes(attributes, CALL_KEYS);
  counted[ATTR_EFFECT_KIND] = call.effectKind;
  calls.add(1, counted);
}
