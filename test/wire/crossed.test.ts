import { audit } from '@waybill/audit';
import { META_CALL_ID } from '@waybill/core';
import { startFaultServer, type ToolCall } from '@waybill/lab';
import { describe, expect, it } from 'vitest';
import { asSource } from '../audit/inputs.js';
import { CLIENTS, runApplication } from './support/application.js';

/** Two calls at once, whose replies the peer gives out; `crossed` gives each the reply of the other. */
async function peerOf(crossed: boolean): ReturnType<typeof startFaultServer> {
  const held: { readonly call: ToolCall; readonly answer: (whose: ToolCall) => void }[] = [];
  const whoseReply = (call: ToolCall): Promise<ToolCall> =>
    new Promise((resolve) => {
      held.push({ call, answer: resolve });
      const [first, second] = held;
      if (first === undefined || second === undefined) return;
      first.answer(crossed ? second.call : first.call);
      second.answer(crossed ? first.call : second.call);
    });
  return startFaultServer({
    reply: async (call) => {
      const { meta } = await whoseReply(call);
      const result = {
        resultType: 'complete',
        content: [],
        _meta: { [META_CALL_ID]: meta[META_CALL_ID] },
      };
      return {
        headers: { 'content-type': 'application/json' },
        chunks: [[0, JSON.stringify({ jsonrpc: '2.0', id: call.id, result })]],
        end: 'fin',
      };
    },
  });
}

async function findings(client: (typeof CLIENTS)[number], crossed: boolean): Promise<readonly object[]> {
  const peer = await peerOf(crossed);
  try {
    const call = (name: string) => ({ params: { name }, options: { timeout: 15_000 } });
    const { otlp } = await runApplication(
      [
        {
          key: 'crossed',
          client,
          transport: { kind: 'http', url: peer.url },
          calls: [call('one'), call('two')],
        },
      ],
      { plugin: true },
    );
    const report = await audit({ traces: [asSource(`${otlp.join('\n')}\n`)] }, { graceMs: 0 });
    return report.findings.filter(({ rule }) => rule === 'crosswired-reply');
  } finally {
    await peer.close();
  }
}

describe.each(CLIENTS)('replies of two calls of %s', (client) => {
  it('that are exchanged are found by the auditor, by what the server wrote into them, without digests', async () => {
    const proven = { level: 'error', certainty: 'proven' };
    expect(await findings(client, true)).toMatchObject([proven, proven]);
  });

  it('that are not exchanged give no finding', async () => {
    expect(await findings(client, false)).toEqual([]);
  });
});
