import {
  ATTR_CALL_ID,
  ATTR_INSTRUMENTATION_DEGRADED,
  ATTR_OPERATION_ID,
  ATTR_OUTCOME,
  ATTR_OUTCOME_LAYER,
  ATTR_REPLY_STATE,
  ATTR_RUN_ID,
  ATTR_STAGES,
  OUTCOMES,
  eventNameOf,
} from '@waybill/core';
import type { Outcome, Stage } from '@waybill/core';
import type { ExportedSpan } from '../loading/harness.js';
import { CALLS } from './play.js';
import type { Call, Patched, Played, Told } from './play.js';

/** What a set-up is known not to show, measured and told in the docs. */
export interface Known {
  /** The runtime tells no one about its HTTP server's sockets. */
  readonly withoutSockets?: true;
  /** Calls, as `transport_call`, whose HTTP answer this version of the SDK never ends. */
  readonly neverEnded?: readonly string[];
}

/** The verdict on one run with the plugin. */
export interface Judged {
  /** Calls that were seen as they have to be, of all that were made. */
  readonly good: number;
  readonly made: number;
  /** Everything that is not as it has to be. */
  readonly faults: readonly string[];
}

const HTTP = ['json', 'sse', 'modern'];

export function judge({ answers, spans, trouble }: Played, known: Known = {}): Judged {
  if (answers === undefined) return { good: 0, made: 0, faults: [`the program did not end: ${trouble}`] };
  const faults = trouble === '' ? [] : [`stderr: ${trouble}`];
  const calls = spans.filter(({ name }) => name.startsWith('tools/call '));
  let good = 0;
  let made = 0;
  for (const [transport, told] of Object.entries(answers)) {
    for (const call of CALLS) {
      const name = `${transport}_${call}`;
      const both = calls.filter((span) => span.name === `tools/call ${name}`);
      const found = faultsOfCall(transport, call, told[call], both, known);
      faults.push(...found.map((fault) => `${name}: ${fault}`));
      made += 1;
      if (found.length === 0) good += 1;
    }
  }
  if (calls.length !== made * 2) faults.push(`${calls.length} spans of tools/call instead of ${made * 2}`);
  return { good, made, faults };
}

function faultsOfCall(
  transport: string,
  call: Call,
  told: Told,
  spans: readonly ExportedSpan[],
  known: Known,
): string[] {
  const clients = spans.filter(({ kind }) => kind === 'client');
  const servers = spans.filter(({ kind }) => kind === 'server');
  const [client] = clients;
  const [server] = servers;
  if (client === undefined || server === undefined || spans.length !== 2) {
    return [`${clients.length} client spans, ${servers.length} server spans`];
  }
  const outcome = outcomeOf(told);
  const given = outcome !== 'TIMEOUT';
  const http = HTTP.includes(transport) && known.withoutSockets !== true;
  const faults: string[] = [];
  const same = (what: string, seen: unknown, wanted: unknown): void => {
    const [left, right] = [JSON.stringify(seen), JSON.stringify(wanted)];
    if (left !== right) faults.push(`${what} is ${left}, not ${right}`);
  };
  if (call !== 'unknown') same('what the caller was told', outcome, EXPECTED[call]);
  same('trace of the server', server.traceId, client.traceId);
  same('parent of the server', server.parentSpanId, client.spanId);
  for (const id of [ATTR_RUN_ID, ATTR_OPERATION_ID, ATTR_CALL_ID]) {
    if (typeof client.attributes[id] !== 'string') faults.push(`no ${id}`);
    same(id, server.attributes[id], client.attributes[id]);
  }
  same('outcome', client.attributes[ATTR_OUTCOME], outcome);
  same('layer', client.attributes[ATTR_OUTCOME_LAYER], layerOf(outcome));
  if (given) same('outcome of the server', server.attributes[ATTR_OUTCOME], outcome);
  same('degraded', client.attributes[ATTR_INSTRUMENTATION_DEGRADED], undefined);
  same('stages of the client', client.attributes[ATTR_STAGES], given ? ANSWERED : GAVE_UP);
  if (known.neverEnded?.includes(`${transport}_${call}`) === true) {
    // Handed over, and cut when the connection is closed before the plugin stops waiting.
    const stages = server.attributes[ATTR_STAGES] as readonly Stage[];
    same('stages of the server', stages.slice(0, 4), answered(false).stages);
  } else {
    const reply = given ? answered(http) : DROPPED;
    same('stages of the server', server.attributes[ATTR_STAGES], reply.stages);
    same('reply', server.attributes[ATTR_REPLY_STATE], reply.state);
  }
  for (const [side, { events, attributes }] of Object.entries({ client, server })) {
    const stages = attributes[ATTR_STAGES] as readonly Stage[] | undefined;
    same(`events of the ${side}`, events, stages?.map(eventNameOf));
  }
  return faults;
}

const EXPECTED: Readonly<Record<Exclude<Call, 'unknown'>, Outcome>> = {
  ok: 'TOOL_SUCCESS',
  reports: 'TOOL_ERROR',
  // Both SDKs answer a throwing handler with a result that says so.
  throws: 'TOOL_ERROR',
  slow: 'TIMEOUT',
};

const ANSWERED: readonly Stage[] = ['client.sent', 'client.result_received'];
const GAVE_UP: readonly Stage[] = ['client.sent', 'client.timeout', 'client.cancel_sent'];

const HANDLED = ['server.received', 'server.handler_started', 'server.handler_returned'] as const;

interface Reply {
  readonly stages: readonly Stage[];
  readonly state: string;
}

function answered(http: boolean): Reply {
  return http
    ? { stages: [...HANDLED, 'server.result_sent', 'server.result_flushed'], state: 'flushed' }
    : { stages: [...HANDLED, 'server.result_sent'], state: 'handed_over' };
}

const DROPPED: Reply = {
  stages: [
    'server.received',
    'server.handler_started',
    'server.cancel_received',
    'server.handler_returned',
    'server.result_dropped',
  ],
  state: 'dropped',
};

/** What a caller can say of its call from what the SDK told it. */
export function outcomeOf({ result, error }: Told): Outcome {
  if (result !== undefined) return result.isError === true ? 'TOOL_ERROR' : 'TOOL_SUCCESS';
  return error?.code === -32001 || error?.code === 'REQUEST_TIMEOUT' ? 'TIMEOUT' : 'JSONRPC_ERROR';
}

function layerOf(outcome: Outcome): string | undefined {
  return OUTCOMES.find((row) => row.outcome === outcome)?.layer;
}

/** Each process patched the SDK, in the version and the format that were meant, and found every hook point. */
export function faultsOfReports(
  reports: Played['reports'],
  format: string,
  isMeant: (patched: Patched) => boolean,
): string[] {
  const faults = ['client', 'serve'].flatMap((process) =>
    (reports[process] ?? []).length === 0 ? [`${process}: nothing patched`] : [],
  );
  for (const [process, patched] of Object.entries(reports)) {
    for (const module of patched) {
      if (module.missing.length > 0)
        faults.push(`${process}: ${module.module} lacks ${module.missing.join(', ')}`);
      if (module.format !== format || !isMeant(module)) {
        faults.push(`${process}: patched ${module.module} ${module.version ?? ''} (${module.format})`);
      }
    }
  }
  return faults;
}
