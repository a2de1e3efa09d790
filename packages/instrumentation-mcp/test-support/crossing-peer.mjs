// An MCP server on stdio whose replies may be crossed: it waits for two calls and then answers both. Arguments: how the
// two are answered (`right`, `swapped`, `second_twice`), and `echo` where a result says whose it is, as our plugin's
// server side does.
import { createInterface } from 'node:readline';

const [, , mode, echo] = process.argv;
const write = (value) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...value })}\n`);
const held = [];

const resultOf = ({ params }) => ({
  content: [{ type: 'text', text: params.arguments.text }],
  ...(echo === 'echo' ? { _meta: { 'io.waybill/callId': params['_meta']['io.waybill/callId'] } } : {}),
});
createInterface({ input: process.stdin }).on('line', (line) => {
  const request = JSON.parse(line);
  const { id, method, params } = request;
  if (method === 'initialize') {
    const { protocolVersion } = params;
    const serverInfo = { name: 'crossing', version: '1' };
    write({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } });
  }
  if (method !== 'tools/call' || held.push(request) < 2) return;
  const [first, second] = held.splice(0);
  write({ id: first.id, result: resultOf(mode === 'right' ? first : second) });
  write({ id: second.id, result: resultOf(mode === 'swapped' ? first : second) });
});
