/**
 * `npm run demo`: real MCP client and server in two processes, a proxy between them, one fault a round, the database
 * read by a third process, spans exported by OTLP to `waybill serve`, and the audit of what was exported.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { audit } from '@waybill/audit';
import { startCuttingProxy } from '@waybill/lab';
import { startGateway } from './gateway.js';
import type { CallOrder, ServerNews, ServerOrder, Told } from './messages.js';
import { nextMessage, runTarget, startInstrumented, startServe, stop } from './processes.js';
import { rounds, todoIds } from './rounds.js';
import type { Round } from './rounds.js';
import { renderTable } from './table.js';
import type { RoundResult, Seen } from './table.js';

const out = join(process.cwd(), 'demo-out');
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const file = (name: string): string => join(out, name);
const files = {
  database: file('todo.db'),
  receipts: file('receipts.jsonl'),
  targets: file('targets.jsonl'),
  traces: file('traces.jsonl'),
};

const serve = await startServe(out);
const otlp = { OTEL_EXPORTER_OTLP_ENDPOINT: serve.url };
const server = startInstrumented('server', {
  ...otlp,
  TODO_DATABASE: files.database,
  TODO_RECEIPTS: files.receipts,
});
const { url: serverUrl } = await nextMessage(server, isNews('listening'));
const client = startInstrumented('client', otlp);
const proxy = await startCuttingProxy({ target: { port: Number(new URL(serverUrl).port) } });
const gateway = await startGateway(serverUrl);

try {
  const results: RoundResult[] = [];
  for (const round of rounds) results.push(await play(round));
  // Both programs end by SIGTERM and flush what they have; only then is everything on disk.
  await stop(client);
  await stop(server);
  await serve.stop();

  const report = await audit({
    traces: [files.traces],
    receipts: [files.receipts],
    targets: [files.targets],
  });
  const shown = (path: string): string => relative(process.cwd(), path);
  process.stdout.write(
    [
      'Did it happen?',
      '',
      renderTable(results, report),
      `Evidence in ${shown(out)}/. The same judgement from the command line:`,
      `  npx waybill audit ${shown(files.traces)} --receipts ${shown(files.receipts)} --targets ${shown(files.targets)}`,
      '',
    ].join('\n'),
  );
} finally {
  gateway.close();
  await proxy.close();
  await Promise.all([stop(client), stop(server), serve.stop()]);
}

/** One round: reset, arm the fault, call, read the target. */
async function play(round: Round): Promise<RoundResult> {
  await runTarget(['reset', files.database, ...todoIds]);
  await order({ kind: 'fault', fault: round.storage });
  const base = round.path === 'gateway_503' ? gateway.url : proxy.url;
  await warmUp(base + round.endpoint);
  if (round.path === 'held_then_dropped') proxy.hold('to_server');
  if (round.path === 'reset_by_reply') proxy.plan({ form: 'rst', afterBytes: 0, upstream: 'drain' });
  const told = call(round, base);
  await interfere(round);
  const answer = await told;
  if (round.path === 'held_then_dropped') proxy.drop('to_server');
  return { round, told: answer, seen: await readTarget(round) };
}

/** What happens to the path while the server stands at its pause. */
async function interfere(round: Round): Promise<void> {
  if (round.path !== 'end_stream_at_pause') return;
  await nextMessage(server, isNews('paused'));
  proxy.cutNow('end_body', 'drain');
  server.send({ kind: 'go_on' } satisfies ServerOrder);
}

async function order(wanted: ServerOrder): Promise<void> {
  const armed = nextMessage(server, isNews('armed'));
  server.send(wanted);
  await armed;
}

/** Connects before a fault is armed, so that the fault meets the call and not the handshake. */
async function warmUp(url: string): Promise<void> {
  await ask({ url });
}

async function call(round: Round, base: string): Promise<Told> {
  const { operationId, tool, timeoutMs } = round;
  return ask({
    url: base + round.endpoint,
    call: { operationId, tool, arguments: round.arguments, timeoutMs },
  });
}

async function ask(wanted: CallOrder): Promise<Told> {
  const answer = nextMessage(client, (_message: Told): _message is Told => true);
  client.send(wanted);
  return answer;
}

async function readTarget(round: Round): Promise<Seen | undefined> {
  if (round.target === undefined) return undefined;
  const { id, expected } = round.target;
  const printed = await runTarget(['read', files.database, files.targets, round.operationId, id, expected]);
  return JSON.parse(printed) as Seen;
}

function isNews<K extends ServerNews['kind']>(kind: K) {
  return (news: ServerNews): news is Extract<ServerNews, { kind: K }> => news.kind === kind;
}
