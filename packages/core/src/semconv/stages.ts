/**
 * Stages: what was observed at a boundary, and only there. `client.sent` means handed to fetch or the pipe;
 * `server.result_sent` means handed to the transport, which proves nothing on a disconnect.
 */
export const STAGE_EVENT_PREFIX = 'waybill.';

export interface StageDefinition {
  readonly name: string;
  readonly side: 'client' | 'server' | 'receipt';
  /** One of the seven that every account of a call is told by. */
  readonly basic: boolean;
  readonly brief: string;
}

const definitions = [
  {
    name: 'client.sent',
    side: 'client',
    basic: true,
    brief: 'The request was handed to fetch or written to the pipe.',
  },
  { name: 'client.timeout', side: 'client', basic: true, brief: 'The caller stopped waiting.' },
  {
    name: 'client.result_received',
    side: 'client',
    basic: true,
    brief: 'A JSON-RPC response for this id was parsed.',
  },
  {
    name: 'server.received',
    side: 'server',
    basic: true,
    brief: 'The protocol layer of the server took the request.',
  },
  {
    name: 'server.effect_requested',
    side: 'server',
    basic: true,
    brief: 'The handler is about to change its target.',
  },
  { name: 'server.effect_confirmed', side: 'server', basic: true, brief: 'The target confirmed the change.' },
  {
    name: 'server.result_sent',
    side: 'server',
    basic: true,
    brief: 'The reply was handed to the transport; it may still be lost.',
  },
  {
    name: 'client.stream_closed',
    side: 'client',
    basic: false,
    brief: 'The reply stream ended before the response.',
  },
  {
    name: 'client.stream_resumed',
    side: 'client',
    basic: false,
    brief: 'The reply stream was opened again.',
  },
  {
    name: 'client.failed',
    side: 'client',
    basic: false,
    brief: 'The call ended by a transport or protocol failure.',
  },
  { name: 'client.cancelled', side: 'client', basic: false, brief: 'The caller wished to stop.' },
  {
    name: 'client.cancel_sent',
    side: 'client',
    basic: false,
    brief: 'The cancellation went out on the wire.',
  },
  {
    name: 'client.late_result',
    side: 'client',
    basic: false,
    brief: 'A response for this id came after the call had settled.',
  },
  {
    name: 'server.handler_started',
    side: 'server',
    basic: false,
    brief: 'The handler of the request began to run.',
  },
  { name: 'server.handler_returned', side: 'server', basic: false, brief: 'The handler settled.' },
  {
    name: 'server.cancel_received',
    side: 'server',
    basic: false,
    brief: 'The server was told that nobody waits any more.',
  },
  {
    name: 'server.effect_failed',
    side: 'server',
    basic: false,
    brief: 'The change was refused, rolled back or not found afterwards.',
  },
  {
    name: 'server.result_flushed',
    side: 'server',
    basic: false,
    brief: 'The socket took the last byte of the reply.',
  },
  {
    name: 'server.result_dropped',
    side: 'server',
    basic: false,
    brief: 'The reply was discarded or its connection was gone.',
  },
  {
    name: 'receipt.enqueued',
    side: 'receipt',
    basic: false,
    brief: 'The receipt is durable beside the effect.',
  },
  { name: 'receipt.acked', side: 'receipt', basic: false, brief: 'The ledger acknowledged the receipt.' },
] as const;

export const STAGES: readonly StageDefinition[] = definitions;
export type Stage = (typeof definitions)[number]['name'];
export type ClientStage = Extract<Stage, `client.${string}`>;
export type ServerStage = Extract<Stage, `server.${string}` | `receipt.${string}`>;

const names: ReadonlySet<string> = new Set(definitions.map((stage) => stage.name));

/** The stage that an event name speaks of; bare names are accepted beside `waybill.<stage>`. */
export function stageOfEvent(eventName: string): Stage | undefined {
  const bare = eventName.startsWith(STAGE_EVENT_PREFIX)
    ? eventName.slice(STAGE_EVENT_PREFIX.length)
    : eventName;
  return names.has(bare) ? (bare as Stage) : undefined;
}

/** Event name of a stage. */
export function eventNameOf(stage: Stage): string {
  return STAGE_EVENT_PREFIX + stage;
}

/** The stages that end a call at its client: every client record holds one. */
export const CLIENT_END_STAGES: readonly ClientStage[] = [
  'client.result_received',
  'client.timeout',
  'client.cancelled',
  'client.failed',
];

/** The stages that end a call at its server: every server record holds one. */
export const SERVER_END_STAGES: readonly ServerStage[] = [
  'server.result_sent',
  'server.result_dropped',
  'server.cancel_received',
];

export interface StageRequirement {
  readonly side: 'client' | 'server';
  /** One of them is owed. */
  readonly anyOf: readonly Stage[];
  readonly because: string;
}

/**
 * What a complete record of one side owes. A hole is a finding only where the record of that side is there, from our
 * emitter, not degraded and not cut; the rule `missing-stage` applies it.
 */
export const STAGE_REQUIREMENTS: readonly StageRequirement[] = [
  { side: 'client', anyOf: ['client.sent'], because: 'unless nothing was handed over' },
  { side: 'client', anyOf: CLIENT_END_STAGES, because: 'every call ends in one of them' },
  { side: 'server', anyOf: ['server.received'], because: 'there is a server record' },
  {
    side: 'server',
    anyOf: ['server.effect_confirmed', 'server.effect_failed'],
    because: 'for every effect that was asked for',
  },
  {
    side: 'server',
    anyOf: ['server.effect_confirmed'],
    because: 'the tool uses effect() and reported success, and no earlier result was replayed',
  },
  { side: 'server', anyOf: SERVER_END_STAGES, because: 'every request ends in one of them' },
];
