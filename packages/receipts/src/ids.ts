import { currentOperation, operationFromMeta } from '@waybill/api';
import type { OperationIdSource } from '@waybill/api';
import { isAcceptableId } from '@waybill/core';
import { OperationIdRequiredError } from './errors.js';

export interface EffectIds {
  readonly operationId: string;
  readonly operationIdSource: OperationIdSource;
  readonly callId: string | undefined;
  readonly runId: string | undefined;
}

/**
 * The ids of an effect. The operation: what the server's code says, else `_meta`, else the running operation of the
 * instrumentation, else a generated id, with which a repeat cannot be recognised.
 *
 * @throws TypeError when the server's own id is not acceptable.
 * @throws OperationIdRequiredError when an id is required and nobody gave one that holds over a repeat.
 */
export function effectIds(
  request: { readonly operationId?: string; readonly meta?: unknown },
  options: { readonly requireOperationId: boolean; readonly newId: () => string },
): EffectIds {
  const current = currentOperation();
  const running = current?.side === 'server' ? current : undefined;
  const sent = operationFromMeta(request.meta);
  const callId = sent.callId ?? running?.callId;
  const runId = sent.runId ?? running?.runId;
  const named = operationOf(request.operationId, sent.operationId, running);
  if (named === undefined || named.operationIdSource === 'generated') {
    if (options.requireOperationId) throw new OperationIdRequiredError();
  }
  const { operationId, operationIdSource } = named ?? {
    operationId: options.newId(),
    operationIdSource: 'generated' as const,
  };
  return { operationId, operationIdSource, callId, runId };
}

type NamedOperation = Pick<EffectIds, 'operationId' | 'operationIdSource'>;

function operationOf(
  given: string | undefined,
  sent: string | undefined,
  running: NamedOperation | undefined,
): NamedOperation | undefined {
  if (given !== undefined) {
    if (!isAcceptableId(given)) {
      throw new TypeError('operationId must be 1 to 200 printable characters without spaces at the ends');
    }
    // The instrumentation may know where the same id came from.
    return running?.operationId === given
      ? running
      : { operationId: given, operationIdSource: given === sent ? 'caller' : 'server' };
  }
  if (sent !== undefined) return { operationId: sent, operationIdSource: 'caller' };
  return running;
}
