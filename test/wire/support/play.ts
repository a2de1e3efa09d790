import { setTimeout as sleep } from 'node:timers/promises';
import {
  createBarriers,
  startFaultServer,
  type HttpReply,
  type RecordedRequest,
  type ToolCall,
} from '@waybill/lab';
import { runApplication, type Job, type ProgramRun, type SdkClient } from './application.js';

export interface PlannedReply {
  readonly reply: HttpReply;
  /** Only after this one was given, and a pause: so two replies come apart in time on the busiest machine. */
  readonly after?: number;
  readonly pauseMs?: number;
}

/** What an application does with one client, and what the peer answers to each of its calls. */
export interface Scenario extends Omit<Job, 'key' | 'client' | 'transport'> {
  readonly name: string;
  /** By the argument `n` of the call; the last one for all further calls. */
  readonly replies: readonly PlannedReply[];
  readonly tools?: readonly object[];
  readonly sessionId?: string;
  readonly protocolVersion?: string;
}

export interface Played extends ProgramRun {
  /** Requests that the peer of a key got, in order of arrival. */
  readonly requests: ReadonlyMap<string, readonly RecordedRequest[]>;
}

export const keyOf = (scenario: { readonly name: string }, client: SdkClient): string =>
  `${scenario.name} ${client}`;

/** The calls of a scenario with the tool named after scenario and client, which finds their spans again. */
function jobOf(scenario: Scenario, client: SdkClient, url: string): Job {
  const {
    name: _name,
    replies: _replies,
    tools: _tools,
    sessionId: _id,
    protocolVersion: _version,
    ...job
  } = scenario;
  const key = keyOf(scenario, client);
  const calls = job.calls.map((call, n) => ({
    ...call,
    params: { ...call.params, name: toolName(key), arguments: { n, ...call.params.arguments } },
  }));
  return { ...job, key, client, calls, transport: { kind: 'http', url } };
}

/** A key as the name of a tool. */
export const toolName = (key: string): string => key.replaceAll(/[^A-Za-z0-9]+/g, '_');

function planOf({ name, replies }: Scenario): (call: ToolCall) => Promise<HttpReply> {
  const given = createBarriers();
  return async (call) => {
    const { n = 0 } = (call.arguments ?? {}) as { n?: number };
    const planned = replies[Math.min(n, replies.length - 1)];
    if (planned === undefined) throw new Error(`${name} plans no reply`);
    if (planned.after !== undefined) {
      await given.wait(String(planned.after));
      await sleep(planned.pauseMs, undefined, { ref: false });
    }
    given.release(String(n));
    return planned.reply;
  };
}

/** Plays every pair of a scenario and a client, each to a fault server of its own, all in one application. */
export async function play(
  pairs: readonly { readonly scenario: Scenario; readonly client: SdkClient }[],
  options: { readonly plugin: boolean; readonly concurrency?: number },
): Promise<Played> {
  const servers = await Promise.all(
    pairs.map(async ({ scenario, client }) => {
      const server = await startFaultServer({
        reply: planOf(scenario),
        ...(scenario.tools === undefined ? {} : { tools: scenario.tools }),
        ...(scenario.sessionId === undefined ? {} : { sessionId: scenario.sessionId }),
        ...(scenario.protocolVersion === undefined ? {} : { protocolVersion: scenario.protocolVersion }),
      });
      return { key: keyOf(scenario, client), job: jobOf(scenario, client, server.url), server };
    }),
  );
  try {
    const run = await runApplication(
      servers.map(({ job }) => job),
      options,
    );
    return { ...run, requests: new Map(servers.map(({ key, server }) => [key, [...server.requests]])) };
  } finally {
    await Promise.all(servers.map(({ server }) => server.close()));
  }
}
