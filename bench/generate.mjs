// Exports as a Collector's file exporter writes them, with planted faults and the findings they must lead to.
//
//   node bench/generate.mjs SPANS FOLDER      writes traces.jsonl, receipts.jsonl and truth.json
//
// Three of five spans are noise, as the instrumentations of HTTP and PostgreSQL write it, the rest are the two halves of
// tool calls, with the attributes and events that the plugin writes. The same seed gives the same bytes. Truth lists every finding of warning level and above that the auditor owes, and no other is allowed.
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const [count = '100000', folder = '.cache/bench'] = process.argv.slice(2);
const wanted = Number(count);
mkdirSync(folder, { recursive: true });

let state = 0x9e3779b9;
const random = () => {
  state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5) | 0;
  return (state >>> 0) / 4294967296;
};
const hex = (digits) => {
  let text = '';
  while (text.length < digits)
    text += Math.floor(random() * 4294967296)
      .toString(16)
      .padStart(8, '0');
  return text.slice(0, digits);
};

const text = (key, value) => ({ key, value: { stringValue: value } });
const int = (key, value) => ({ key, value: { intValue: String(value) } });
const bool = (key, value) => ({ key, value: { boolValue: value } });
const list = (key, values) => ({
  key,
  value: { arrayValue: { values: values.map((stringValue) => ({ stringValue })) } },
});
const uuid = () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`;
const stages = (names, start) =>
  names.map((name, index) => ({
    timeUnixNano: String(start + BigInt(index) * 900_000n),
    name: `waybill.${name}`,
    attributes: [int('waybill.stage.seq', index + 1)],
  }));

/** What a call meets, with its share and the findings it owes. */
const fates = [
  { name: 'clean', share: 0.92, findings: [] },
  { name: 'missing_stage', share: 0.03, findings: ['missing-stage', 'success-without-receipt'] },
  { name: 'stream', share: 0.03, findings: ['stream-without-result', 'reply-lost'] },
  { name: 'no_receipt', share: 0.02, findings: ['success-without-receipt'] },
];
const pick = () => {
  let left = random();
  for (const fate of fates) {
    left -= fate.share;
    if (left < 0) return fate;
  }
  return fates[0];
};

const tools = ['set_status', 'create_ticket', 'send_mail', 'charge_card', 'move_file', 'list_tickets'];
const services = ['agent', 'tickets-mcp', 'shop', 'orders-db'];
const resource = (service) => ({
  attributes: [
    text('host.name', 'node-17.example'),
    text('host.arch', 'amd64'),
    int('process.pid', 4259),
    text('process.executable.name', 'node'),
    text('process.runtime.name', 'nodejs'),
    text('process.runtime.version', '24.11.0'),
    text('service.name', service),
    text('service.version', '3.4.1'),
    text('telemetry.sdk.language', 'nodejs'),
    text('telemetry.sdk.name', 'opentelemetry'),
    text('telemetry.sdk.version', '2.2.0'),
  ],
});
const boundary = { client: uuid(), server: uuid() };

const truth = [];
const receipts = openSync(join(folder, 'receipts.jsonl'), 'w');
let number = 0;

/** Both halves of one call, and its receipt. */
function call(start) {
  number += 1;
  const tool = tools[Math.floor(random() * tools.length)] ?? 'set_status';
  const read = tool === 'list_tickets';
  const fate = read ? fates[0] : pick();
  const operationId = `${tool}:${number}:v1`;
  const callId = uuid();
  const traceId = hex(32);
  const clientId = hex(16);
  const kind = read ? 'read' : 'write';
  for (const rule of fate.findings) truth.push([rule, operationId]);
  const network = [text('network.transport', 'tcp'), text('network.protocol.name', 'http')];
  const named = [
    text('mcp.method.name', 'tools/call'),
    text('gen_ai.operation.name', 'execute_tool'),
    text('gen_ai.tool.name', tool),
  ];
  const rpc = text('jsonrpc.request.id', String(number % 97));
  const ids = (side) => [
    text('waybill.call.id', callId),
    int('waybill.call.attempt', 1),
    int('waybill.call.number', number),
    text('waybill.boundary.id', `${boundary[side]}:${side}`),
    text('waybill.operation.id', operationId),
    text('waybill.operation.source', 'caller'),
    text('waybill.effect.kind', kind),
    text('waybill.run.id', `run-${Math.floor(number / 7)}`),
    text('waybill.run.source', 'caller'),
  ];
  const cut = fate.name === 'stream';
  const effect = read ? [] : ['server.effect_requested', 'server.effect_confirmed'];
  if (fate.name === 'missing_stage') effect.pop();
  if (!read && fate.name !== 'missing_stage' && fate.name !== 'no_receipt') {
    const receipt = {
      operation_id: operationId,
      call_id: callId,
      object: `row-${number}`,
      expected: 'done',
      observed: 'done',
      version: 2,
      result: 'applied',
      at: String(start + 5_000_000n),
      source: 'db-writer',
    };
    writeSync(receipts, `${JSON.stringify(receipt)}\n`);
  }
  const outcome = cut
    ? [
        text('waybill.outcome', 'STREAM_INCOMPLETE'),
        text('waybill.outcome_layer', 'stream'),
        text('waybill.outcome_reason', 'closed_before_response'),
        text('waybill.outcome_source', 'wire'),
        text('error.type', 'stream_incomplete'),
      ]
    : [
        text('waybill.outcome', 'TOOL_SUCCESS'),
        text('waybill.outcome_layer', 'application'),
        text('waybill.outcome_source', 'wire'),
      ];
  const client = {
    traceId,
    spanId: clientId,
    name: `tools/call ${tool}`,
    kind: 3,
    startTimeUnixNano: String(start),
    endTimeUnixNano: String(start + 12_000_000n),
    attributes: [
      ...named,
      text('mcp.protocol.version', '2025-11-25'),
      ...network,
      text('server.address', 'tickets.example'),
      int('server.port', 8443),
      ...ids('client'),
      text('waybill.retry.origin', 'none'),
      rpc,
      ...outcome,
      int('http.response.status_code', 200),
      text('waybill.stream.kind', 'sse'),
      int('waybill.stream.events', cut ? 0 : 1),
      int('waybill.stream.bytes', cut ? 0 : 170 + (number % 40)),
      bool('waybill.stream.final_response', !cut),
      text('waybill.stream.end', cut ? 'eof' : 'result'),
      list(
        'waybill.stages',
        cut
          ? ['client.sent', 'client.stream_closed', 'client.timeout']
          : ['client.sent', 'client.result_received'],
      ),
    ],
    events: cut
      ? [
          ...stages(['client.sent', 'client.stream_closed'], start + 100_000n),
          {
            timeUnixNano: String(start + 11_900_000n),
            name: 'waybill.client.timeout',
            attributes: [int('waybill.stage.seq', 3)],
          },
        ]
      : [
          ...stages(['client.sent'], start + 100_000n),
          {
            timeUnixNano: String(start + 11_000_000n),
            name: 'waybill.client.result_received',
            attributes: [int('waybill.stage.seq', 2)],
          },
        ],
    status: cut ? { code: 2 } : {},
    flags: 257,
  };
  const passed = [
    'server.received',
    'server.handler_started',
    ...effect,
    'server.handler_returned',
    'server.result_sent',
    ...(cut ? [] : ['server.result_flushed']),
  ];
  const server = {
    traceId,
    spanId: hex(16),
    parentSpanId: clientId,
    name: `tools/call ${tool}`,
    kind: 2,
    startTimeUnixNano: String(start + 1_000_000n),
    endTimeUnixNano: String(start + 9_000_000n),
    attributes: [
      ...named,
      ...network,
      rpc,
      ...ids('server'),
      text('waybill.outcome', 'TOOL_SUCCESS'),
      text('waybill.outcome_layer', 'application'),
      text('waybill.outcome_source', 'wire'),
      text('waybill.reply.state', cut ? 'cut' : 'flushed'),
      list('waybill.stages', passed),
    ],
    events: stages(passed, start + 1_100_000n),
    status: {},
    flags: 769,
  };
  return [client, server];
}

function noise(start) {
  const database = random() < 0.5;
  return {
    traceId: hex(32),
    spanId: hex(16),
    parentSpanId: hex(16),
    name: database ? 'SELECT shop.orders' : 'GET /api/orders/:id',
    kind: database ? 3 : 2,
    startTimeUnixNano: String(start),
    endTimeUnixNano: String(start + 3_000_000n),
    attributes: database
      ? [
          text('db.system.name', 'postgresql'),
          text('db.namespace', 'shop'),
          text('db.operation.name', 'SELECT'),
          text('db.collection.name', 'orders'),
          text(
            'db.query.text',
            'SELECT id, tenant, state, total, placed_at FROM orders WHERE id = $1 AND tenant = $2 LIMIT 1',
          ),
          text('server.address', 'db.example'),
          int('server.port', 5432),
          text('network.peer.address', '10.0.3.17'),
          int('network.peer.port', 5432),
        ]
      : [
          text('http.request.method', 'GET'),
          text('http.route', '/api/orders/:id'),
          text('url.path', `/api/orders/${Math.floor(random() * 1e6)}`),
          text('url.scheme', 'https'),
          text('server.address', 'shop.example'),
          int('server.port', 443),
          text('client.address', '10.0.4.21'),
          text('network.peer.address', '10.0.4.21'),
          int('network.peer.port', 40_000 + (Math.floor(random() * 1e6) % 20_000)),
          text('network.protocol.version', '1.1'),
          text(
            'user_agent.original',
            'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
          ),
          int('http.response.status_code', 200),
        ],
    status: {},
    flags: 257,
  };
}

const scopes = {
  agent: { name: '@waybill/instrumentation-mcp', version: '0.1.0' },
  'tickets-mcp': { name: '@waybill/instrumentation-mcp', version: '0.1.0' },
  shop: { name: '@opentelemetry/instrumentation-http', version: '0.220.0' },
  'orders-db': { name: '@opentelemetry/instrumentation-pg', version: '0.66.0' },
};

const traces = openSync(join(folder, 'traces.jsonl'), 'w');
let written = 0;
let clock = 1_790_000_000_000_000_000n;
while (written < wanted) {
  const byService = new Map(services.map((service) => [service, []]));
  for (let held = 0; held < 300 && written < wanted;) {
    clock += 400_000n;
    if (random() < 0.25) {
      const [client, server] = call(clock);
      byService.get('agent').push(client);
      byService.get('tickets-mcp').push(server);
      held += 2;
      written += 2;
    } else {
      const span = noise(clock);
      byService.get(span.kind === 3 ? 'orders-db' : 'shop').push(span);
      held += 1;
      written += 1;
    }
  }
  const request = {
    resourceSpans: [...byService].map(([service, spans]) => ({
      resource: resource(service),
      scopeSpans: [{ scope: scopes[service], spans }],
    })),
  };
  writeSync(traces, `${JSON.stringify(request)}\n`);
}
closeSync(traces);
closeSync(receipts);
writeFileSync(join(folder, 'truth.json'), JSON.stringify({ spans: written, calls: number, findings: truth }));
process.stdout.write(`${written} spans, ${number} calls, ${truth.length} findings owed, in ${folder}\n`);
