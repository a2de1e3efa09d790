/**
 * Renders what happened in a faulty world to what an auditor is given: OTLP spans, stage logs, receipts, target reads,
 * outbox rows, counters of loss. One number of the story's order is ten milliseconds.
 */
import type { AuditInputs, AuditOptions } from '@waybill/audit';
import { asRecords, asSource } from '../inputs.js';

export interface Recorded {
  /** Stage names in the order in which they happened on this side, with their place in the story. */
  readonly stages: readonly (readonly [name: string, at: number])[];
  readonly outcome?: string;
  readonly reason?: string;
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
  /** Numbers that were given to stages which did not arrive. */
  readonly lostSeq?: readonly number[];
  readonly droppedEvents?: number;
  /** The stages arrived as a stage journal; the span did not. */
  readonly journal?: boolean;
  readonly traceId?: string;
}

export interface Leg {
  readonly callId: string;
  readonly operationId: string;
  readonly client?: Recorded;
  readonly servers: readonly Recorded[];
  /** Operation id on the server, where it is another one. */
  readonly serverOperationId?: string;
}

export interface World {
  readonly legs: readonly Leg[];
  readonly receipts: readonly (Readonly<Record<string, unknown>> | string)[];
  readonly targets?: readonly Readonly<Record<string, unknown>>[];
  readonly outbox?: readonly Readonly<Record<string, unknown>>[];
  readonly loss?: readonly Readonly<Record<string, unknown>>[];
  readonly options?: AuditOptions;
  /** Lines of the export twice, or in reverse. */
  readonly order?: 'twice' | 'reversed';
}

export const START = 1_790_000_000_000_000_000n;
const STEP = 10_000_000n;
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';

export function timeAt(place: number): bigint {
  return START + BigInt(Math.round(place * 1000)) * (STEP / 1000n);
}

export function inputsOf(world: World): { readonly inputs: AuditInputs; readonly options: AuditOptions } {
  const lines = world.legs.flatMap((leg, index) => linesOf(leg, index));
  const ordered =
    world.order === 'twice' ? [...lines, ...lines] : world.order === 'reversed' ? lines.toReversed() : lines;
  const receipts = world.receipts
    .map((row) => (typeof row === 'string' ? row : JSON.stringify(row)))
    .map((line) => `${line}\n`)
    .join('');
  return {
    inputs: {
      traces: ordered.length === 0 ? [] : [asSource(ordered.join(''))],
      receipts: [{ path: 'receipts.jsonl', text: receipts }],
      ...(world.targets === undefined ? {} : { targets: [asRecords('targets.jsonl', world.targets)] }),
      ...(world.outbox === undefined ? {} : { outbox: [asRecords('outbox.jsonl', world.outbox)] }),
      ...(world.loss === undefined ? {} : { loss: [asRecords('loss.jsonl', world.loss)] }),
    },
    options: world.options ?? {},
  };
}

function linesOf(leg: Leg, index: number): readonly string[] {
  const clientId = `a${String(index).padStart(15, '0')}`;
  const lines: string[] = [];
  if (leg.client !== undefined) lines.push(lineOf(leg, leg.client, 'client', clientId, ''));
  leg.servers.forEach((server, nth) => {
    const spanId = `b${String(index * 16 + nth).padStart(15, '0')}`;
    const isElsewhere = server.traceId !== undefined && server.traceId !== TRACE;
    lines.push(lineOf(leg, server, 'server', spanId, isElsewhere ? '' : clientId));
  });
  return lines;
}

function lineOf(
  leg: Leg,
  recorded: Recorded,
  side: 'client' | 'server',
  spanId: string,
  parentSpanId: string,
): string {
  const { stages, outcome, reason } = recorded;
  const operationId = side === 'server' ? (leg.serverOperationId ?? leg.operationId) : leg.operationId;
  const ids = { 'waybill.call.id': leg.callId, 'waybill.operation.id': operationId };
  const traceId = recorded.traceId ?? TRACE;
  const lost = new Set(recorded.lostSeq);
  let seq = 0;
  const numbered = stages.map(([name, at]) => {
    do seq += 1;
    while (lost.has(seq));
    return { name, at, seq };
  });
  const resource = {
    attributes: attributesOf({ 'service.name': side === 'client' ? 'agent' : 'todo-mcp' }),
  };
  const scope = { name: '@waybill/instrumentation-mcp' };
  if (recorded.journal === true) {
    const logRecords = numbered.map((stage) => ({
      eventName: `waybill.${stage.name}`,
      timeUnixNano: String(timeAt(stage.at)),
      observedTimeUnixNano: String(timeAt(stage.at)),
      traceId,
      spanId,
      attributes: attributesOf({ ...ids, 'waybill.stage.seq': stage.seq, 'gen_ai.tool.name': 'set_status' }),
    }));
    return `${JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords }] }] })}\n`;
  }
  const places = stages.map(([, at]) => at);
  const span = {
    traceId,
    spanId,
    parentSpanId,
    name: 'tools/call set_status',
    kind: side === 'client' ? 3 : 2,
    startTimeUnixNano: String(timeAt(Math.min(...places) - 0.1)),
    endTimeUnixNano: String(timeAt(Math.max(...places) + 0.1)),
    attributes: attributesOf({
      'mcp.method.name': 'tools/call',
      'gen_ai.tool.name': 'set_status',
      'jsonrpc.request.id': '7',
      'waybill.run.id': 'run-1',
      ...ids,
      ...(outcome === undefined ? {} : { 'waybill.outcome': outcome }),
      ...(reason === undefined ? {} : { 'waybill.outcome_reason': reason }),
      ...recorded.attributes,
    }),
    events: numbered.map((stage) => ({
      name: `waybill.${stage.name}`,
      timeUnixNano: String(timeAt(stage.at)),
      attributes: attributesOf({ 'waybill.stage.seq': stage.seq }),
    })),
    ...(recorded.droppedEvents === undefined ? {} : { droppedEventsCount: recorded.droppedEvents }),
    status: isError(outcome, side) ? { code: 2 } : {},
  };
  return `${JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope, spans: [span] }] }] })}\n`;
}

/** Status as the plugin sets it (DESIGN 2.3). */
function isError(outcome: string | undefined, side: 'client' | 'server'): boolean {
  if (outcome === undefined) return false;
  if (['TOOL_SUCCESS', 'INPUT_REQUIRED', 'TASK_PENDING', 'CANCELLED'].includes(outcome)) return false;
  return side === 'client' || outcome === 'TOOL_ERROR';
}

function attributesOf(values: Readonly<Record<string, string | number | boolean>>): readonly unknown[] {
  return Object.entries(values).map(([key, value]) => ({
    key,
    value:
      typeof value === 'string'
        ? { stringValue: value }
        : typeof value === 'number'
          ? { intValue: String(value) }
          : { boolValue: value },
  }));
}
