import { startLegacySseServer, stdioPeer, type LegacyReply } from '@waybill/lab';
import { expect, it } from 'vitest';
import { runApplication, type CallSpec, type Job } from '../wire/support/application.js';

const call: CallSpec = { params: { name: 't', arguments: {} }, options: { timeout: 10_000 } };
const ok = '"result":{"resultType":"complete","content":[{"type":"text","text":"ok"}]}';

/** What the answers to the calls hold, by the order of the calls; and the order in which they come, in one chunk. */
const MEMBERS = [
  ok,
  '"result":{"resultType":"complete","content":[],"isError":true}',
  '"error":{"code":-32603,"message":"no"}',
  '"result":{"content":"not an array"}',
  ok,
  '"result":{"resultType":"complete","content":[],"structuredContent":{"a":1}}',
];
const ORDER = [3, 0, 5, 2, 1, 4];

/** A legacy HTTP+SSE server that answers all calls of a burst in one chunk of its stream, once the last one is in. */
async function burstOverLegacySse(client: 'v1' | 'v2', plugin: boolean): Promise<unknown> {
  const ids = new Map<number, string>();
  const server = await startLegacySseServer({
    reply: ({ id, arguments: args }): LegacyReply => {
      ids.set((args as { n: number }).n, JSON.stringify(id));
      const answers = ORDER.map(
        (n) => `event: message\ndata: {"jsonrpc":"2.0","id":${ids.get(n)},${MEMBERS[n]}}\n\n`,
      );
      const all = ids.size === MEMBERS.length;
      return {
        order: 'post_first',
        post: { status: 202, body: 'Accepted' },
        // The last POST was answered when the chunk comes, on each machine.
        stream: { chunks: all ? [[300, answers.join('')]] : [], end: 'hold' },
      };
    },
  });
  try {
    const job: Job = {
      key: 'burst',
      client,
      transport: { kind: 'legacy', url: server.url },
      calls: MEMBERS.map((_, n) => ({ ...call, params: { name: 't', arguments: { n } } })),
    };
    return (await runApplication([job], { plugin })).observed.get('burst');
  } finally {
    await server.close();
  }
}

it.each(['v1', 'v2'] as const)(
  '%s settles six calls, answered in one chunk, in the same order with the plugin as without it',
  async (client) => {
    const off = await burstOverLegacySse(client, false);
    expect(off).toMatchObject({ onerror: [] });
    expect((off as { order: number[] }).order).toHaveLength(MEMBERS.length);
    expect(await burstOverLegacySse(client, true)).toEqual(off);
  },
);

it.each(['v1', 'v2', 'v2_2026'] as const)(
  '%s settles two calls over stdio, answered in reverse in one chunk, in the same order with the plugin as without it',
  async (client) => {
    const line = (id: string): string => `{"jsonrpc":"2.0","id":${id},${ok}}\n`;
    const peer = stdioPeer({ calls: 2, chunks: [[0, `${line('$SECOND_ID')}${line('$FIRST_ID')}`]] });
    const job: Job = { key: 'pair', client, transport: { kind: 'stdio', ...peer }, calls: [call, call] };
    const off = (await runApplication([job], { plugin: false })).observed.get('pair');
    expect(off?.order).toEqual([1, 0]);
    expect((await runApplication([job], { plugin: true })).observed.get('pair')).toEqual(off);
  },
);
