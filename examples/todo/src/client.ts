/**
 * A todo client as an application would write it. It names its intention with `withOperation`, and that is all it
 * knows of Waybill; spans come from `--import otel.mjs`.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { withOperation } from '@waybill/api';
import type { CallOrder, Told } from './messages.js';

const clients = new Map<string, Promise<Client>>();

async function connect(url: string): Promise<Client> {
  const client = new Client({ name: 'todo-client', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  await client.listTools();
  return client;
}

async function carryOut({ url, call }: CallOrder): Promise<Told> {
  try {
    const connected = clients.get(url) ?? connect(url);
    clients.set(url, connected);
    const client = await connected;
    if (call === undefined) return { kind: 'result', isError: false, text: 'connected' };
    const result = await withOperation(call.operationId, () =>
      client.callTool({ name: call.tool, arguments: { ...call.arguments } }, { timeout: call.timeoutMs }),
    );
    const first = result.content[0];
    return {
      kind: 'result',
      isError: result.isError === true,
      text: first?.type === 'text' ? first.text : '',
    };
  } catch (error) {
    const { name, code, message } = error as Error & { code?: string | number };
    return { kind: 'error', name, code: code === undefined ? '' : String(code), message };
  }
}

process.on('message', (order: CallOrder) => {
  void carryOut(order).then((told) => process.send?.(told));
});
// The driver hangs up when it is done; nothing then keeps this process, and its spans are flushed on the way out.
process.once('disconnect', () => {
  for (const client of clients.values()) void client.then((connected) => connected.close());
});
