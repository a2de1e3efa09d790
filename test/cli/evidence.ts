/** Small exports of our own making. */
interface Stage {
  readonly name: string;
  readonly ms: number;
}

export interface CallText {
  readonly operation?: string;
  readonly call?: string;
  readonly outcome?: string;
  readonly reason?: string;
  readonly effect?: 'confirmed' | 'open' | 'none';
  readonly tool?: string;
}

const START = 1_790_000_000_000_000_000n;
const nano = (ms: number): string => (START + BigInt(ms) * 1_000_000n).toString();
const text = (key: string, value: string) => ({ key, value: { stringValue: value } });

function span(
  side: 'client' | 'server',
  input: Required<Omit<CallText, 'reason' | 'effect'>> & { readonly reason?: string },
  stages: readonly Stage[],
) {
  const { operation, call, outcome, reason, tool } = input;
  const id = call.replace(/\D/g, '').padStart(15, '0');
  return {
    resource: { attributes: [text('service.name', side === 'client' ? 'agent' : 'todo')] },
    scopeSpans: [
      {
        scope: { name: '@waybill/instrumentation-mcp' },
        spans: [
          {
            traceId: '0af7651916cd43dd8448eb211c80319c',
            spanId: `${side === 'client' ? 'a' : 'b'}${id}`,
            ...(side === 'server' ? { parentSpanId: `a${id}` } : {}),
            name: `tools/call ${tool}`,
            kind: side === 'client' ? 3 : 2,
            startTimeUnixNano: nano(side === 'client' ? 0 : 40),
            endTimeUnixNano: nano(side === 'client' ? 100 : 62),
            attributes: [
              text('mcp.method.name', 'tools/call'),
              text('gen_ai.tool.name', tool),
              text('waybill.call.id', call),
              text('waybill.operation.id', operation),
              text('waybill.operation.source', 'caller'),
              text('waybill.run.id', 'run-1'),
              text('waybill.outcome', side === 'client' ? outcome : 'TOOL_SUCCESS'),
              ...(side === 'client' && reason !== undefined ? [text('waybill.outcome_reason', reason)] : []),
            ],
            events: stages.map(({ name, ms }, index) => ({
              name: `waybill.${name}`,
              timeUnixNano: nano(ms),
              attributes: [{ key: 'waybill.stage.seq', value: { intValue: String(index + 1) } }],
            })),
            status: outcome === 'TOOL_SUCCESS' || side === 'server' ? {} : { code: 2 },
          },
        ],
      },
    ],
  };
}

/** One call as a line of OTLP JSON, both sides, by our own emitter. */
export function exportOf(input: CallText = {}): string {
  const whole = {
    operation: input.operation ?? 'row-42:done:v1',
    call: input.call ?? 'c-1',
    outcome: input.outcome ?? 'TOOL_SUCCESS',
    tool: input.tool ?? 'set_status',
    ...(input.reason === undefined ? {} : { reason: input.reason }),
  };
  const answered = whole.outcome === 'TOOL_SUCCESS';
  const effect = input.effect ?? 'confirmed';
  const client = [
    { name: 'client.sent', ms: 1 },
    { name: answered ? 'client.result_received' : 'client.failed', ms: 99 },
  ];
  const server = [
    { name: 'server.received', ms: 42 },
    ...(effect === 'none' ? [] : [{ name: 'server.effect_requested', ms: 45 }]),
    ...(effect === 'confirmed' ? [{ name: 'server.effect_confirmed', ms: 58 }] : []),
    { name: 'server.result_sent', ms: 60 },
  ];
  return `${JSON.stringify({
    resourceSpans: [span('client', whole, client), span('server', whole, server)],
  })}\n`;
}

/** The receipt of that call as a line: read back, unsigned. */
export function receiptOf(
  input: { readonly operation?: string; readonly call?: string; readonly result?: string } = {},
): string {
  const result = input.result ?? 'applied';
  return `${JSON.stringify({
    operation_id: input.operation ?? 'row-42:done:v1',
    call_id: input.call ?? 'c-1',
    object: 'row-42',
    expected: 'done',
    observed: result === 'applied' ? 'done' : 'todo',
    version: result === 'applied' ? 2 : 1,
    result,
    at: nano(60),
    source: 'db-writer',
  })}\n`;
}

/** A span of something else. */
export const FOREIGN = `${JSON.stringify({
  resourceSpans: [
    {
      resource: { attributes: [text('service.name', 'shop')] },
      scopeSpans: [
        {
          scope: { name: 'http' },
          spans: [
            {
              traceId: '0af7651916cd43dd8448eb211c80319c',
              spanId: 'b7ad6b7169203331',
              name: 'GET /',
              kind: 3,
              startTimeUnixNano: nano(0),
              endTimeUnixNano: nano(1),
            },
          ],
        },
      ],
    },
  ],
})}\n`;
