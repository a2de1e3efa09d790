/**
 * The outcome that one row states, or that can be derived from what another instrumentation wrote. Derived outcomes
 * are marked: they are as good as the emitter, and some emitters cannot tell a lost reply from a slow one.
 */
import {
  ATTR_OUTCOME,
  ATTR_OUTCOME_REASON,
  ATTR_OUTCOME_SOURCE,
  ATTR_RPC_RESPONSE_STATUS_CODE,
  ERROR_TYPE_TOOL_ERROR,
  OUTCOME_SOURCES,
  isOutcome,
  layerOf,
} from '@waybill/core';
import type { Outcome, OutcomeSource } from '@waybill/core';
import type { SideOutcome } from '../rule.js';
import type { SpanRow } from './rows.js';
import { isTrue, textOf } from './rows.js';

/** What each known emitter allows to be derived. Scope names as the emitters write them; the last entry is the rule. */
export interface Emitter {
  readonly name: string;
  readonly scope: RegExp;
  /**
   * `full`: success, tool error, JSON-RPC error; `success_or_error`: an error is not told apart; `timeout_only`: the
   * span ends before the reply is looked at.
   */
  readonly client: 'full' | 'success_or_error' | 'timeout_only' | 'none';
  readonly server: 'full' | 'success_or_error' | 'none';
}

/** Source: the emitters' code and spans, as listed in the reference of this project. */
export const EMITTERS: readonly Emitter[] = [
  { name: 'Python SDK', scope: /^mcp-python-sdk$/, client: 'timeout_only', server: 'full' },
  { name: 'C# SDK', scope: /^Experimental\.ModelContextProtocol$/, client: 'full', server: 'full' },
  {
    name: 'Traceloop',
    scope: /instrumentation-mcp$/,
    client: 'success_or_error',
    server: 'success_or_error',
  },
  { name: 'Sentry', scope: /^@sentry\//, client: 'success_or_error', server: 'success_or_error' },
  { name: 'dd-trace', scope: /^dd-trace/, client: 'success_or_error', server: 'success_or_error' },
  { name: 'autotel', scope: /^autotel/, client: 'full', server: 'full' },
  // Its upstream span ends when the response begins, and fails only when sending fails.
  { name: 'agentgateway', scope: /^agentgateway/, client: 'none', server: 'none' },
  { name: 'MCP conventions', scope: /(?:)/, client: 'full', server: 'full' },
];

export function emitterOf(scope: string): Emitter {
  const found = EMITTERS.find((emitter) => emitter.scope.test(scope));
  if (found === undefined) throw new Error('the last emitter matches every scope');
  return found;
}

/** The outcome of a row; undefined when it says none and none can be derived. */
export function outcomeOfRow(row: SpanRow): SideOutcome | undefined {
  const stated = textOf(row.attributes, ATTR_OUTCOME);
  if (stated !== undefined) return statedOutcome(row, stated);
  if (row.own) return ownWithoutOutcome(row);
  return derivedOutcome(row);
}

function statedOutcome(row: SpanRow, stated: string): SideOutcome | undefined {
  if (!isOutcome(stated)) return undefined;
  const source = textOf(row.attributes, ATTR_OUTCOME_SOURCE);
  return {
    outcome: stated,
    layer: layerOf(stated),
    reason: textOf(row.attributes, ATTR_OUTCOME_REASON),
    source: OUTCOME_SOURCES.find((known) => known === source) ?? 'wire',
  };
}

/** An absent outcome with `client.timeout` is TIMEOUT (DESIGN 2.4); a caller's abort is CANCELLED whatever followed. */
function ownWithoutOutcome(row: SpanRow): SideOutcome | undefined {
  const has = (name: string): boolean => row.stages.some((stage) => stage.name === name);
  if (has('client.timeout')) return outcome('TIMEOUT', 'local');
  if (has('client.cancelled')) return outcome('CANCELLED', 'local');
  return undefined;
}

function derivedOutcome(row: SpanRow): SideOutcome | undefined {
  const emitter = emitterOf(row.scope);
  const can =
    row.role === 'tool' ? 'success_or_error' : row.role === 'client' ? emitter.client : emitter.server;
  if (row.timedOut) return outcome('TIMEOUT', 'derived');
  if (can === 'none') return undefined;
  const error = textOf(row.attributes, 'error.type');
  const code =
    textOf(row.attributes, ATTR_RPC_RESPONSE_STATUS_CODE) ?? textOf(row.attributes, 'mcp.error.code');
  if (error !== undefined && /timeout|timed.?out|abort/i.test(error)) return outcome('TIMEOUT', 'derived');
  if (can === 'timeout_only') return undefined;
  if (isTrue(row.attributes, 'mcp.input_required')) return outcome('INPUT_REQUIRED', 'derived');
  if (error === ERROR_TYPE_TOOL_ERROR || isTrue(row.attributes, 'mcp.tool.result.is_error')) {
    return outcome('TOOL_ERROR', 'derived');
  }
  if (isRpcCode(code) || isRpcCode(error)) return outcome('JSONRPC_ERROR', 'derived');
  if (error !== undefined && /^[45]\d\d$/.test(error)) return outcome('HTTP_ERROR', 'derived');
  if (error !== undefined || row.status === 'error') {
    // An exception in a handler is answered as an error; on a client it may be anything, also a lost reply.
    return row.role === 'server' ? outcome('TOOL_ERROR', 'derived') : undefined;
  }
  return outcome('TOOL_SUCCESS', 'derived');
}

function isRpcCode(value: string | undefined): boolean {
  return value !== undefined && /^-\d{4,6}$/.test(value);
}

function outcome(name: Outcome, source: OutcomeSource): SideOutcome {
  return { outcome: name, layer: layerOf(name), reason: undefined, source };
}
