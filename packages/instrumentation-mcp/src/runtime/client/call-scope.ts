import type { Context, Span, SpanContext } from '@opentelemetry/api';
import type { ClientLeg } from './leg.js';
import type { Connection } from '../connection.js';
import type { CallIds } from '../ids.js';

interface LastLeg {
  readonly ids: CallIds;
  readonly span: SpanContext;
  readonly tool: string | undefined;
  readonly connection: Connection;
}

/**
 * One `client.callTool`: its legs, and the leg whose span waits for the verdict of the SDK's own validation, which runs
 * after the request has settled.
 */
export interface CallScope {
  /** Context of the caller. */
  readonly outer: Context;
  /** Reading of `performance.now()` at entry, for a span that is started late. */
  readonly startedAt: number;
  readonly legs: { last: LastLeg | undefined };
  /** Settled but not yet ended. */
  waiting: ClientLeg | undefined;
  /** INTERNAL span above the legs, where one is due. */
  operationSpan: Span | undefined;
  open: boolean;
}

export function createCallScope(outer: Context): CallScope {
  return {
    outer,
    startedAt: performance.now(),
    legs: { last: undefined },
    waiting: undefined,
    operationSpan: undefined,
    open: true,
  };
}
