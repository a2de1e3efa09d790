import { readFileSync } from 'node:fs';
import type { Attributes } from '@opentelemetry/api';
import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import * as v1Http from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as v2Client from '@modelcontextprotocol/client';
import { type FaultServer, type HttpReply, startFaultServer } from '@waybill/lab';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Harness, eventually, startHarness } from '../../test-support/harness.js';

/** Transcripts of the field, with the outcome that each must have; see test/cases. */
interface Case {
  readonly id: string;
  readonly title: string;
  readonly reply: HttpReply;
  readonly outputSchema?: boolean;
  readonly cancelAfterMs?: number;
  readonly expect: {
    readonly outcome: string | Readonly<Record<string, string>>;
    readonly reason?: string;
    readonly flags?: readonly string[];
    readonly status?: number;
    readonly code?: number;
    readonly late?: string;
  };
}
const cases = JSON.parse(
  readFileSync(new URL('../../../../test/cases/wire-open.json', import.meta.url), 'utf8'),
) as readonly Case[];

const CALL_TIMEOUT_MS = 1200;
const SCHEMA = {
  type: 'object',
  properties: { ok: { type: 'boolean' } },
  required: ['ok'],
};

interface Caller {
  call(options: { readonly signal?: AbortSignal; readonly timeout: number }): Promise<unknown>;
  close(): Promise<void>;
}
interface Era {
  readonly name: string;
  readonly version: string;
  connect(url: string, schema: boolean): Promise<Caller>;
}
const TOOL = { name: 't', inputSchema: { type: 'object' } };
const request = { name: 't', arguments: { text: 'x' } };
const eras: readonly Era[] = [
  {
    name: 'SDK 1.x',
    version: '2025-11-25',
    connect: async (url, schema) => {
      const client = new v1Client.Client({ name: 'c', version: '1' });
      await client.connect(new v1Http.StreamableHTTPClientTransport(new URL(url)));
      if (schema) await client.listTools();
      return {
        call: (options) => client.callTool(request, undefined, options),
        close: () => client.close(),
      };
    },
  },
  ...(['2025-11-25', '2026-07-28'] as const).map((version) => ({
    name: `SDK 2.x at ${version}`,
    version,
    connect: async (url: string, schema: boolean): Promise<Caller> => {
      const client = new v2Client.Client(
        { name: 'c', version: '1' },
        version === '2026-07-28' ? { versionNegotiation: { mode: { pin: version } } } : {},
      );
      await client.connect(new v2Client.StreamableHTTPClientTransport(new URL(url)));
      // Also takes an id, so that a reply with the id 0 is a stranger's in each era.
      await client.listTools();
      // Since 2026-07-28 a listing may expire at once, and with it the schema: the caller can give the tool along.
      const definition = schema ? { toolDefinition: { ...TOOL, outputSchema: SCHEMA } } : {};
      return {
        call: (options) => client.callTool(request, { ...options, ...definition } as never),
        close: () => client.close(),
      };
    },
  })),
];

/** What the case says for a version; other versions of the map are ranges. */
function expectedOutcome(outcome: Case['expect']['outcome'], version: string): string | undefined {
  if (typeof outcome === 'string') return outcome;
  for (const [range, value] of Object.entries(outcome)) {
    const [, operator = '', bound = ''] = /^([<>]=)?(.*)$/.exec(range) ?? [];
    if (operator === '' ? version === bound : operator === '>=' ? version >= bound : version <= bound)
      return value;
  }
  return undefined;
}

/** Since 2026-07-28 the SDK refuses a result without `resultType` before it looks at the tool's schema. */
function legalIn(era: Era, { reply, outputSchema }: Case): HttpReply {
  if (era.version < '2026-07-28' || outputSchema !== true) return reply;
  const text = JSON.stringify(reply).replaceAll(
    '{\\"content\\"',
    '{\\"resultType\\":\\"complete\\",\\"content\\"',
  );
  return JSON.parse(text) as HttpReply;
}

let harness: Harness;
beforeAll(() => {
  harness = startHarness([v1Client, v1Http, v2Client]);
});
afterEach(() => harness.reset());
afterAll(() => harness.stop());

describe.each(eras)('$name over Streamable HTTP', (era) => {
  it.concurrent.each(cases)(
    '$id: $title',
    async (entry) => {
      const tool = {
        name: 't',
        inputSchema: { type: 'object' },
        ...(entry.outputSchema ? { outputSchema: SCHEMA } : {}),
      };
      const peer: FaultServer = await startFaultServer({
        reply: legalIn(era, entry),
        tools: [tool],
        sessionId: 's1',
      });
      const client = await era.connect(peer.url, entry.outputSchema === true);
      const abort = new AbortController();
      if (entry.cancelAfterMs !== undefined) setTimeout(() => abort.abort('stop'), entry.cancelAfterMs);
      await client.call({ timeout: CALL_TIMEOUT_MS, signal: abort.signal }).catch(() => undefined);
      const span = await eventually(() =>
        harness
          .spans()
          .find(
            ({ attributes }) =>
              attributes['mcp.method.name'] === 'tools/call' && attributes['server.port'] === peer.port,
          ),
      );
      const expected = expectedOutcome(entry.expect.outcome, era.version);
      const attributes: Attributes = span?.attributes ?? {};
      // A late result is recorded beside the call. An error body without an id says so in any HTTP error.
      const beside = (flag: string): boolean =>
        flag !== 'late_result' && !(expected === 'HTTP_ERROR' && flag === 'uncorrelated_rpc_error');
      const seen = {
        outcome: attributes['waybill.outcome'],
        reason: attributes['waybill.outcome_reason'],
        flags: ((attributes['waybill.flags'] ?? []) as readonly string[]).filter(beside),
      };
      // Stateless since 2026-07-28: no session, none to lose.
      const reason =
        era.version >= '2026-07-28' && entry.expect.reason === 'session_lost'
          ? undefined
          : entry.expect.reason;
      expect(seen).toEqual({
        outcome: expected,
        reason: reason !== undefined && expected !== 'TOOL_SUCCESS' ? reason : seen.reason,
        flags: (entry.expect.flags ?? []).filter(beside),
      });
      if (entry.expect.status !== undefined)
        expect(attributes['http.response.status_code']).toBe(entry.expect.status);
      if (entry.expect.late !== undefined) {
        // A client of 2026-07-28 closes the stream when it gives up.
        if (era.version >= '2026-07-28') return;
        const after = await eventually(() =>
          harness
            .spans()
            .find(
              ({ name, attributes: other }) =>
                name === 'waybill.late_result' && other['waybill.call.id'] === attributes['waybill.call.id'],
            ),
        );
        expect(after?.events[0]?.attributes?.['waybill.outcome']).toBe(entry.expect.late);
      } else if (entry.expect.code !== undefined) {
        expect(attributes['rpc.response.status_code']).toBe(String(entry.expect.code));
      }
      await client.close();
      await peer.close();
    },
    15_000,
  );
});
