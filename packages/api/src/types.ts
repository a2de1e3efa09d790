/** What a tool may do to its target. Annotations may raise a kind, never lower it. */
export type EffectKind = 'read' | 'write' | 'destructive' | 'unknown';

/** Who named the operation. Only `caller` and `server` prove that a retry is the same intention. */
export type OperationIdSource = 'caller' | 'server' | 'argument' | 'framework' | 'derived' | 'generated';

/** One intention, as seen from the code that runs inside it. */
export interface Operation {
  readonly side: 'client' | 'server';
  readonly runId: string;
  readonly runIdSource: 'caller' | 'framework' | 'trace';
  readonly operationId: string;
  readonly operationIdSource: OperationIdSource;
  /** The operation whose handler issued this one. */
  readonly parentOperationId: string | undefined;
  /** The JSON-RPC request ("leg") in progress. */
  readonly callId: string;
  /** Attempt of the operation, from 1. */
  readonly attempt: number;
  readonly tool: string;
  /** Aborts when nobody waits for the result any more. */
  readonly signal: AbortSignal | undefined;
}

export interface OperationInit {
  /** 1 to 200 printable characters; the same for every attempt of one intention. */
  readonly operationId: string;
  readonly runId?: string;
  readonly effectKind?: EffectKind;
}

/** Stages that only the code which performs the effect can know. */
export type ServerEffectStage =
  | 'server.effect_requested'
  | 'server.effect_confirmed'
  | 'server.effect_failed'
  | 'receipt.enqueued'
  | 'receipt.acked';

/** Facts beside a stage: ids, versions, counts. Never payloads. */
export type StageDetail = Readonly<Record<string, string | number | boolean>>;
