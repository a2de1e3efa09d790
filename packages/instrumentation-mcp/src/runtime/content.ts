import { type Span, SpanStatusCode } from '@opentelemetry/api';
import {
  ATTR_GEN_AI_TOOL_CALL_ARGUMENTS,
  ATTR_GEN_AI_TOOL_CALL_RESULT,
  METHOD_TOOLS_CALL,
} from '@waybill/core';
import type { RuntimeCore } from './core.js';

/** Arguments and results leave the process only where somebody asked for them. */
export function capturesContent(core: RuntimeCore): boolean {
  return core.config().captureContent ?? core.environment.captureContent;
}

/**
 * Marks a span as failed. The description of a status passes the scrub of attributes by, and the message of a peer may
 * hold anything: it is left out unless content is wanted.
 */
export function setFailed(core: RuntimeCore, span: Span, message: string | undefined): void {
  const described = message !== undefined && capturesContent(core);
  span.setStatus({ code: SpanStatusCode.ERROR, ...(described ? { message } : {}) });
}

export function setArgumentContent(core: RuntimeCore, span: Span, method: string, value: unknown): void {
  setContent(core, span, method, ATTR_GEN_AI_TOOL_CALL_ARGUMENTS, value);
}

export function setResultContent(core: RuntimeCore, span: Span, method: string, value: unknown): void {
  setContent(core, span, method, ATTR_GEN_AI_TOOL_CALL_RESULT, value);
}

function setContent(core: RuntimeCore, span: Span, method: string, key: string, value: unknown): void {
  if (method !== METHOD_TOOLS_CALL || value === undefined || !capturesContent(core)) return;
  core.guard('content', () => {
    span.setAttribute(key, JSON.stringify(value));
  });
}
