// A stdio server that plays one transcript, given as JSON in WAYBILL_LAB_REPLY. Run as a child by an SDK client.
import { closeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { cannedAnswer, parseMessage, toolCall, type ToolCall } from './canned.js';
import { REPLIES, fillIds, type StdioReply, type TimedText } from './transcript.js';

const given = process.env['WAYBILL_LAB_REPLY'];
const reply: StdioReply = given === undefined ? REPLIES.stdio : (JSON.parse(given) as StdioReply);
const calls: ToolCall[] = [];

const write = (text: string): Promise<void> =>
  new Promise((resolve) => {
    process.stdout.write(text, () => resolve());
  });

async function play(call: ToolCall): Promise<void> {
  const texts: readonly TimedText[] =
    reply.chunks ?? (reply.lines ?? []).map(([delay, line]): TimedText => [delay, `${line}\n`]);
  for (const [delay, text] of texts) {
    if (delay > 0) await sleep(delay);
    await write(fillIds(fillPair(text), call));
  }
  switch (reply.after) {
    case undefined:
    case 'stay':
      return;
    case 'exit':
      process.exit(reply.exit_code ?? 0);
      return;
    case 'kill':
      process.kill(process.pid, 'SIGKILL');
      return;
    case 'close_stdout':
      // Node keeps the descriptor of process.stdout open whatever is asked of the stream.
      closeSync(1);
      return;
    default:
      reply.after satisfies never;
  }
}

function fillPair(text: string): string {
  return text
    .replaceAll('$FIRST_ID', () => JSON.stringify(calls[0]?.id))
    .replaceAll('$SECOND_ID', () => JSON.stringify(calls[1]?.id));
}

async function take(line: string): Promise<void> {
  const message = parseMessage(line);
  if (message === undefined) return;
  const call = toolCall(message, calls.length);
  if (call !== undefined) {
    calls.push(call);
    if (calls.length >= (reply.calls ?? 1)) await play(call);
    return;
  }
  const answer = cannedAnswer(message);
  if (answer !== undefined) await write(`${JSON.stringify(answer)}\n`);
}

process.on('SIGTERM', () => process.exit(0));
const lines = createInterface({ input: process.stdin, crlfDelay: Infinity });
lines.on('line', (line) => void take(line));
lines.on('close', () => process.exit(0));
