// A stdio server that is correct but for tools/call, which gets the bytes of the input with that number. Argument: a file
// with the inputs of its lane.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const inputs = new Map(JSON.parse(readFileSync(process.argv[2], 'utf8')));
const send = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  switch (method) {
    case 'initialize': {
      const { protocolVersion } = params;
      const serverInfo = { name: 'fuzz', version: '0' };
      send({ jsonrpc: '2.0', id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } });
      break;
    }
    case 'tools/list':
      send({ jsonrpc: '2.0', id, result: { tools: [{ name: 't', inputSchema: { type: 'object' } }] } });
      break;
    case 'tools/call': {
      // What an earlier reply left unfinished ends here.
      process.stdout.write('\n');
      for (const [, chunk] of inputs.get(params.arguments.n).chunks) {
        const template = Buffer.from(chunk, 'base64').toString('latin1');
        const filled = template
          .replaceAll('$STR', JSON.stringify(String(id)))
          .replaceAll('$ID', JSON.stringify(id))
          .replaceAll('$TOK', JSON.stringify(id));
        process.stdout.write(Buffer.from(filled, 'latin1'));
      }
      break;
    }
    default:
      send({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } });
  }
});
