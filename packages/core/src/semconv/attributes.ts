/**
 * Every `waybill.*` attribute, once. The constants, the reader's alias table and `docs/semantic-conventions.md`
 * all come from here.
 *
 * `waybill.outcome_layer`, `_reason` and `_source` keep the underscore: `waybill.outcome` is itself an attribute,
 * and a dotted `waybill.outcome.layer` beside it would be a namespace collision in the naming rules of
 * OpenTelemetry.
 */
export const ATTR_RUN_ID = 'waybill.run.id';
export const ATTR_RUN_SOURCE = 'waybill.run.source';
export const ATTR_CALL_ID = 'waybill.call.id';
export const ATTR_CALL_ATTEMPT = 'waybill.call.attempt';
export const ATTR_CALL_NUMBER = 'waybill.call.number';
export const ATTR_CALL_CONTINUES = 'waybill.call.continues';
export const ATTR_OPERATION_ID = 'waybill.operation.id';
export const ATTR_OPERATION_SOURCE = 'waybill.operation.source';
export const ATTR_OPERATION_PARENT_ID = 'waybill.operation.parent.id';
export const ATTR_BOUNDARY_ID = 'waybill.boundary.id';
export const ATTR_RETRY_ORIGIN = 'waybill.retry.origin';
export const ATTR_EFFECT_KIND = 'waybill.effect.kind';
export const ATTR_EFFECT_REPLAYED = 'waybill.effect.replayed';
export const ATTR_OUTCOME = 'waybill.outcome';
export const ATTR_OUTCOME_LAYER = 'waybill.outcome_layer';
export const ATTR_OUTCOME_REASON = 'waybill.outcome_reason';
export const ATTR_OUTCOME_SOURCE = 'waybill.outcome_source';
export const ATTR_SDK_OUTCOME = 'waybill.sdk.outcome';
export const ATTR_SDK_ACCEPTED = 'waybill.sdk.accepted';
export const ATTR_FLAGS = 'waybill.flags';
export const ATTR_STAGES = 'waybill.stages';
export const ATTR_STAGE_SEQ = 'waybill.stage.seq';
export const ATTR_STREAM_KIND = 'waybill.stream.kind';
export const ATTR_STREAM_EVENTS = 'waybill.stream.events';
export const ATTR_STREAM_BYTES = 'waybill.stream.bytes';
export const ATTR_STREAM_FINAL_RESPONSE = 'waybill.stream.final_response';
export const ATTR_STREAM_END = 'waybill.stream.end';
export const ATTR_REPLY_STATE = 'waybill.reply.state';
export const ATTR_REPLY_CALL_ID = 'waybill.reply.call.id';
export const ATTR_RECEIPT_ID = 'waybill.receipt.id';
export const ATTR_RECEIPT_STATE = 'waybill.receipt.state';
export const ATTR_RECEIPT_LOG_INDEX = 'waybill.receipt.log_index';
export const ATTR_RECEIPT_LEAF_HASH = 'waybill.receipt.leaf_hash';
export const ATTR_ARGS_DIGEST = 'waybill.args.digest';
export const ATTR_RESULT_DIGEST = 'waybill.result.digest';
export const ATTR_INSTRUMENTATION_DEGRADED = 'waybill.instrumentation.degraded';
export const ATTR_LINK_KIND = 'waybill.link.kind';

/** How a value is written; `string[]` is an OpenTelemetry homogeneous array. */
export type AttributeType = 'string' | 'int' | 'boolean' | 'string[]';

export interface AttributeDefinition {
  readonly key: string;
  readonly type: AttributeType;
  /** Which spans or records carry it. */
  readonly where: string;
  /** One sentence: what it says. */
  readonly brief: string;
  /** Closed value set, where there is one. */
  readonly values?: readonly string[];
  /** Other spellings that readers accept for the same attribute. */
  readonly aliases?: readonly string[];
}

export const RUN_SOURCES = ['caller', 'framework', 'trace'] as const;
export type RunSource = (typeof RUN_SOURCES)[number];

/** Only `caller` and `server` prove retry safety: the other sources prove the same request, not the same intention. */
export const OPERATION_SOURCES = [
  'caller',
  'server',
  'framework',
  'argument',
  'derived',
  'generated',
] as const;
export type OperationSource = (typeof OPERATION_SOURCES)[number];

export const RETRY_ORIGINS = [
  'none',
  'sdk',
  'framework',
  'application',
  'manual',
  'redirect',
  'proxy',
] as const;
export type RetryOrigin = (typeof RETRY_ORIGINS)[number];

export const EFFECT_KINDS = ['read', 'write', 'destructive', 'unknown'] as const;
export type EffectKind = (typeof EFFECT_KINDS)[number];

export const OUTCOME_SOURCES = ['wire', 'local', 'derived'] as const;
export type OutcomeSource = (typeof OUTCOME_SOURCES)[number];

export const STREAM_KINDS = ['json', 'sse', 'line'] as const;
export type StreamKind = (typeof STREAM_KINDS)[number];

/** How a reply channel ended: with the result, by end of file, by a reset, by our side giving up, or not at all. */
export const STREAM_ENDS = ['result', 'eof', 'reset', 'aborted', 'open'] as const;
export type StreamEnd = (typeof STREAM_ENDS)[number];

export const REPLY_STATES = ['flushed', 'handed_over', 'dropped', 'cut', 'unknown'] as const;
export type ReplyState = (typeof REPLY_STATES)[number];

export const RECEIPT_STATES = ['none', 'pending', 'appended', 'sealed'] as const;
export type ReceiptState = (typeof RECEIPT_STATES)[number];

export const LINK_KINDS = ['previous_leg', 'retry_of', 'late_result_of', 'ambient_http'] as const;
export type LinkKind = (typeof LINK_KINDS)[number];

export const ATTRIBUTES: readonly AttributeDefinition[] = [
  {
    key: ATTR_RUN_ID,
    type: 'string',
    where: 'spans, stage logs',
    brief:
      'The agent run that the call belongs to. Default: the trace id of the CLIENT span; never a session, connection or process.',
    aliases: ['waybill.run_id', 'run_id'],
  },
  {
    key: ATTR_RUN_SOURCE,
    type: 'string',
    where: 'spans, stage logs',
    brief: 'Who named the run.',
    values: RUN_SOURCES,
  },
  {
    key: ATTR_CALL_ID,
    type: 'string',
    where: 'spans, stage logs',
    brief:
      'One JSON-RPC request ("leg"): the join key of both sides. Never the JSON-RPC id, never the trace id alone.',
    aliases: ['waybill.call_id', 'call_id'],
  },
  { key: ATTR_CALL_ATTEMPT, type: 'int', where: 'spans', brief: 'Attempt of the operation, from 1.' },
  {
    key: ATTR_CALL_NUMBER,
    type: 'int',
    where: 'spans',
    brief: 'Number of the call in its boundary, dense from 1; a hole is a lost call of that process.',
  },
  {
    key: ATTR_CALL_CONTINUES,
    type: 'string',
    where: 'spans',
    brief: 'Call id of the leg that this one continues (multi round trip, task poll): not a retry.',
    aliases: ['waybill.continues_call_id'],
  },
  {
    key: ATTR_OPERATION_ID,
    type: 'string',
    where: 'spans, stage logs',
    brief: 'One intention, the same over retries and interaction rounds.',
    aliases: ['waybill.operation_id', 'operation_id'],
  },
  {
    key: ATTR_OPERATION_SOURCE,
    type: 'string',
    where: 'spans',
    brief: 'Who named the operation. Only `caller` and `server` prove retry safety.',
    values: OPERATION_SOURCES,
  },
  {
    key: ATTR_OPERATION_PARENT_ID,
    type: 'string',
    where: 'spans',
    brief: 'The operation whose handler issued this call.',
  },
  {
    key: ATTR_BOUNDARY_ID,
    type: 'string',
    where: 'spans, stage logs',
    brief: 'One emitting process incarnation and side.',
  },
  {
    key: ATTR_RETRY_ORIGIN,
    type: 'string',
    where: 'client spans',
    brief: 'Who sent this leg again.',
    values: RETRY_ORIGINS,
  },
  {
    key: ATTR_EFFECT_KIND,
    type: 'string',
    where: 'spans',
    brief: 'What the tool may do to its target.',
    values: EFFECT_KINDS,
    aliases: ['waybill.effect_kind'],
  },
  {
    key: ATTR_EFFECT_REPLAYED,
    type: 'boolean',
    where: 'server spans',
    brief: 'The stored result of an earlier attempt was returned; nothing was applied again.',
    aliases: ['waybill.dedup'],
  },
  {
    key: ATTR_OUTCOME,
    type: 'string',
    where: 'tools/call spans',
    brief: 'The layer outcome, a closed set (see below).',
  },
  { key: ATTR_OUTCOME_LAYER, type: 'string', where: 'tools/call spans', brief: 'The layer that decided.' },
  {
    key: ATTR_OUTCOME_REASON,
    type: 'string',
    where: 'tools/call spans',
    brief: 'The reason within the outcome (see below).',
  },
  {
    key: ATTR_OUTCOME_SOURCE,
    type: 'string',
    where: 'tools/call spans',
    brief: 'Read from the wire, decided locally, or derived by a reader from another emitter.',
    values: OUTCOME_SOURCES,
  },
  {
    key: ATTR_SDK_OUTCOME,
    type: 'string',
    where: 'client spans',
    brief: 'What the SDK told its caller, when it differs from the wire.',
  },
  {
    key: ATTR_SDK_ACCEPTED,
    type: 'boolean',
    where: 'client spans',
    brief: 'The SDK gave its caller a result although the wire was invalid.',
  },
  { key: ATTR_FLAGS, type: 'string[]', where: 'client spans', brief: 'Call flags (see below).' },
  {
    key: ATTR_STAGES,
    type: 'string[]',
    where: 'spans',
    brief: 'Stage names reached, since event limits drop the oldest events.',
  },
  {
    key: ATTR_STAGE_SEQ,
    type: 'int',
    where: 'stage events and logs',
    brief: 'Number of the stage, dense from 1 per call and side; a hole is a lost stage.',
    aliases: ['waybill.seq'],
  },
  {
    key: ATTR_STREAM_KIND,
    type: 'string',
    where: 'client spans',
    brief: 'Framing of the reply channel.',
    values: STREAM_KINDS,
  },
  {
    key: ATTR_STREAM_EVENTS,
    type: 'int',
    where: 'client spans',
    brief: 'Dispatched events of the reply channel.',
  },
  {
    key: ATTR_STREAM_BYTES,
    type: 'int',
    where: 'client spans',
    brief: 'Body bytes of the reply channel seen until the call settled, in bytes.',
  },
  {
    key: ATTR_STREAM_FINAL_RESPONSE,
    type: 'boolean',
    where: 'client spans',
    brief: 'A JSON-RPC response for the id of this call was seen.',
  },
  {
    key: ATTR_STREAM_END,
    type: 'string',
    where: 'client spans',
    brief: 'How the reply channel ended.',
    values: STREAM_ENDS,
  },
  {
    key: ATTR_REPLY_STATE,
    type: 'string',
    where: 'server spans',
    brief: 'What became of the reply on the side of the server.',
    values: REPLY_STATES,
  },
  {
    key: ATTR_REPLY_CALL_ID,
    type: 'string',
    where: 'client spans',
    brief:
      'The call that the server made this reply for, where that is another than the one which got it; also on the stage `client.result_received`.',
  },
  {
    key: ATTR_RECEIPT_ID,
    type: 'string',
    where: 'spans',
    brief:
      'The receipt that the handler wrote; on a client span, the one that the server named in its result.',
  },
  {
    key: ATTR_RECEIPT_STATE,
    type: 'string',
    where: 'server spans',
    brief: 'How far the receipt is.',
    values: RECEIPT_STATES,
  },
  {
    key: ATTR_RECEIPT_LOG_INDEX,
    type: 'int',
    where: 'server spans',
    brief: 'Index of the receipt in the ledger.',
  },
  {
    key: ATTR_RECEIPT_LEAF_HASH,
    type: 'string',
    where: 'server spans',
    brief: 'Leaf hash of the receipt in the ledger, hex.',
  },
  {
    key: ATTR_ARGS_DIGEST,
    type: 'string',
    where: 'spans, opt-in',
    brief: 'HMAC of the canonical arguments: equality only.',
    aliases: ['waybill.args_digest'],
  },
  {
    key: ATTR_RESULT_DIGEST,
    type: 'string',
    where: 'spans, opt-in',
    brief: 'HMAC of the canonical result: equality only.',
    aliases: ['waybill.result_digest'],
  },
  {
    key: ATTR_INSTRUMENTATION_DEGRADED,
    type: 'string[]',
    where: 'spans',
    brief: 'Hook points that were missing: what could not be seen.',
  },
  {
    key: ATTR_LINK_KIND,
    type: 'string',
    where: 'links',
    brief: 'What the linked span is to this one.',
    values: LINK_KINDS,
  },
];

/** Alias spelling -> attribute key, for readers. */
export const ATTRIBUTE_ALIASES: ReadonlyMap<string, string> = new Map(
  ATTRIBUTES.flatMap((definition) =>
    (definition.aliases ?? []).map((alias) => [alias, definition.key] as const),
  ),
);
