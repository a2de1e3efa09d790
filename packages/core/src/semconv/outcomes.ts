/** Layer outcomes: what the wire, and where the wire is silent the caller, made of one call. */
export const LAYERS = ['application', 'interaction', 'protocol', 'transport', 'stream', 'client'] as const;
export type Layer = (typeof LAYERS)[number];

interface OutcomeRow {
  readonly outcome: string;
  readonly layer: Layer;
  readonly reasons: readonly string[];
  readonly brief: string;
}
const rows = [
  {
    outcome: 'TOOL_SUCCESS',
    layer: 'application',
    reasons: [],
    brief: 'A valid result, `isError` false or absent.',
  },
  { outcome: 'TOOL_ERROR', layer: 'application', reasons: [], brief: 'A valid result with `isError` true.' },
  {
    outcome: 'INPUT_REQUIRED',
    layer: 'interaction',
    reasons: [],
    brief: 'The server wants input before it goes on, or only its state echoed.',
  },
  {
    outcome: 'TASK_PENDING',
    layer: 'interaction',
    reasons: [],
    brief: 'A task handle came back instead of a result.',
  },
  {
    outcome: 'JSONRPC_ERROR',
    layer: 'protocol',
    reasons: [],
    brief: 'A well-formed JSON-RPC error for this id (integer code, string message).',
  },
  {
    outcome: 'MALFORMED_JSON',
    layer: 'protocol',
    reasons: ['syntax', 'empty_body', 'concatenated'],
    brief: 'The body or event is not one JSON document.',
  },
  {
    outcome: 'INVALID_ENVELOPE',
    layer: 'protocol',
    reasons: [
      'not_jsonrpc',
      'id_mismatch',
      'id_type_mismatch',
      'batch',
      'error_shape',
      'both_members',
      'accepted_without_response',
      'no_content',
      'content_type',
    ],
    brief: 'JSON, but not the JSON-RPC response of this id.',
  },
  {
    outcome: 'INVALID_TOOL_RESULT',
    layer: 'protocol',
    reasons: [
      'not_object',
      'content',
      'is_error',
      'result_type',
      'structured',
      'output_schema',
      'structured_missing',
    ],
    brief: 'A response for this id whose result is no tool result.',
  },
  {
    outcome: 'HTTP_ERROR',
    layer: 'transport',
    reasons: ['session_lost'],
    brief: 'Any status outside 2xx, whatever the body says.',
  },
  {
    outcome: 'TRANSPORT_ERROR',
    layer: 'transport',
    reasons: ['connect', 'dns', 'tls', 'reset', 'closed', 'headers_timeout'],
    brief: 'No HTTP response, or the pipe closed with no reply begun.',
  },
  {
    outcome: 'STREAM_INCOMPLETE',
    layer: 'stream',
    reasons: [
      'event_over_limit',
      'unframed_body',
      'undispatched_event',
      'unterminated_event',
      'reset_mid_event',
      'partial_body',
      'partial_line',
      'reset',
      'body_timeout',
      'open_no_response_at_timeout',
      'closed_before_response',
    ],
    brief: 'A reply channel began and never completed. Of several reasons the first that fits.',
  },
  {
    outcome: 'TIMEOUT',
    layer: 'client',
    reasons: [],
    brief: 'The caller stopped waiting and no wire fact says more.',
  },
  {
    outcome: 'CANCELLED',
    layer: 'client',
    reasons: [],
    brief: 'The caller aborted, whatever the stream did.',
  },
] as const;

type Rows = (typeof rows)[number];
export type Outcome = Rows['outcome'];
export type ReasonOf<O extends Outcome> = Extract<Rows, { outcome: O }>['reasons'][number];
export type Reason = Rows['reasons'][number];

/** One outcome with its layer and, where there is one, its reason. */
export interface OutcomeFact {
  readonly outcome: Outcome;
  readonly layer: Layer;
  readonly reason: Reason | undefined;
}

export const OUTCOMES: readonly OutcomeRow[] = rows;
const layers: ReadonlyMap<string, Layer> = new Map(rows.map((row) => [row.outcome, row.layer]));

export function isOutcome(value: unknown): value is Outcome {
  return typeof value === 'string' && layers.has(value);
}

/** The layer that an outcome belongs to. */
export function layerOf(outcome: Outcome): Layer {
  return layers.get(outcome) ?? 'client';
}

/** Builds a fact; the type allows only reasons of that outcome. */
export function outcomeFact<O extends Outcome>(outcome: O, reason?: ReasonOf<O>): OutcomeFact {
  return { outcome, layer: layerOf(outcome), reason };
}
