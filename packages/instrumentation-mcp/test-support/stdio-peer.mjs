// Plays an MCP server on stdio: the handshake by the book, tools/call as the first argument says. The second one names a
// file that takes a line for each process.
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [, , mode, processes] = process.argv;
if (processes !== undefined) appendFileSync(processes, `${process.pid}\n`);
const result = { content: [{ type: 'text', text: 'x' }] };
const write = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize') {
    write({
      jsonrpc: '2.0',
      id,
      result: {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'pipe', version: '1' },
      },
    });
  }
  if (method === 'server/discover')
    write({ jsonrpc: '2.0', id, error: { code: -32601, message: 'unknown' } });
  if (method !== 'tools/call') return;
  if (mode === 'ok') write({ jsonrpc: '2.0', id, result });
  if (mode === 'noise') process.stdout.write('not json\n', () => write({ jsonrpc: '2.0', id, result }));
  if (mode === 'half') process.stdout.write(`{"jsonrpc":"2.0","id":${id},"res`, () => process.exit(1));
  if (mode === 'die') process.exit(1);
  if (mode === 'wrong-id') write({ jsonrpc: '2.0', id: 4711, result });
});
