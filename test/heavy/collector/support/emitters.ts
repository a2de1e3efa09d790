import type { Attributes, SpanInput } from './otlp.js';

/** A secret or private text, and the part of it that must be nowhere in what leaves. */
export interface Secret {
  readonly class: string;
  readonly text: string;
  readonly needle: string;
  /** Recognizable by its form, wherever it stands; the others are only kept in by the lists of names. */
  readonly form: boolean;
}

const jwt = ['eyJhbGciOiJIUzI1NiJ9', 'eyJzdWIiOiJqd3RzdWJqZWN0In0', 'c2lnbmF0dXJlb2Zqd3Q'].join('.');

export const secrets: readonly Secret[] = [
  { class: 'e-mail', text: 'write to jane.roe@mail.example', needle: 'jane.roe', form: true },
  {
    class: 'bearer',
    text: 'Authorization: Bearer opaque-credential-77',
    needle: 'opaque-credential',
    form: true,
  },
  { class: 'JWT', text: jwt, needle: 'eyJzdWIi', form: true },
  { class: 'card', text: 'card 4111 1111 1111 1111', needle: '1111 1111', form: true },
  {
    class: 'key in URL',
    text: 'https://api.example/v1?api_key=urlkey993311',
    needle: 'urlkey993311',
    form: true,
  },
  { class: 'cookie', text: 'Cookie: sid=cookievalue4242; theme=dark', needle: 'cookievalue4242', form: true },
  {
    class: 'basic auth',
    text: 'Authorization: Basic dXNlcjpodW50ZXIy',
    needle: 'dXNlcjpodW50ZXIy',
    form: true,
  },
  {
    class: 'private key',
    text: '-----BEGIN PRIVATE KEY-----\nMIIEvprivatekeybody\n-----END PRIVATE KEY-----',
    needle: 'privatekeybody',
    form: true,
  },
  { class: 'phone', text: 'call +49 30 5550 1234', needle: '5550 1234', form: true },
  {
    class: 'arguments',
    text: '{"title":"raise salaries of the night shift"}',
    needle: 'night shift',
    form: false,
  },
  {
    class: 'result text',
    text: 'The patient was told about the diagnosis',
    needle: 'diagnosis',
    form: false,
  },
  {
    class: 'stack',
    text: 'Error: boom\n    at chargeCard (/srv/shop/billing.js:10:5)\n    at run (/srv/shop/main.js:3:1)',
    needle: 'chargeCard',
    form: true,
  },
];

/** Where an instrumentation puts text of the application, by what its authors write or by what was seen. */
export interface Emitter {
  readonly name: string;
  readonly scope: string;
  /** What its span of a tool call looks like, apart from the text. */
  readonly span: Pick<SpanInput, 'name' | 'kind'> & { readonly attributes: Attributes };
  /** Span attributes that carry text. */
  readonly attributes: readonly string[];
  /** Events and their attributes that carry text. */
  readonly events: readonly (readonly [event: string, attribute: string])[];
  /** Log records that carry text: event name, attribute beside the body. */
  readonly log: readonly [event: string, attribute: string];
  /** Resource attributes that carry text. */
  readonly resource: readonly string[];
}

const semconv: Attributes = {
  'mcp.method.name': 'tools/call',
  'gen_ai.tool.name': 'set_status',
  'gen_ai.operation.name': 'execute_tool',
};
const exception: readonly (readonly [string, string])[] = [
  ['exception', 'exception.message'],
  ['exception', 'exception.stacktrace'],
];
const process = ['process.command_args', 'process.command_line', 'enduser.note'];

export const emitters: readonly Emitter[] = [
  {
    name: 'Waybill',
    scope: '@waybill/instrumentation-mcp',
    span: {
      name: 'tools/call set_status',
      kind: 'client',
      attributes: { ...semconv, 'waybill.call.id': 'c-1' },
    },
    attributes: ['gen_ai.tool.call.arguments', 'gen_ai.tool.call.result', 'waybill.unknown'],
    events: [['waybill.client.failed', 'detail'], ...exception],
    log: ['waybill.client.failed', 'detail'],
    resource: process,
  },
  {
    name: 'Traceloop',
    scope: '@traceloop/instrumentation-mcp',
    span: {
      name: 'set_status.tool',
      kind: 'client',
      attributes: { 'traceloop.span.kind': 'tool', 'traceloop.entity.name': 'set_status' },
    },
    attributes: ['traceloop.entity.input', 'traceloop.entity.output'],
    events: exception,
    log: ['traceloop.content', 'traceloop.entity.output'],
    resource: process,
  },
  {
    name: 'OpenInference',
    scope: '@arizeai/openinference-instrumentation-mcp',
    span: {
      name: 'set_status',
      kind: 'internal',
      attributes: { ...semconv, 'openinference.span.kind': 'TOOL' },
    },
    attributes: ['input.value', 'output.value', 'tool.parameters', 'metadata'],
    events: exception,
    log: ['', 'input.value'],
    resource: process,
  },
  {
    name: 'shinzo',
    scope: '@shinzolabs/instrumentation-mcp',
    span: {
      name: 'tools/call set_status',
      kind: 'internal',
      attributes: { 'mcp.method.name': 'tools/call' },
    },
    attributes: ['mcp.request.argument.title', 'client.address', 'mcp.tool.name'],
    events: exception,
    log: ['', 'mcp.request.argument.title'],
    resource: process,
  },
  {
    name: 'mcp-otel',
    scope: 'mcp-otel',
    span: { name: 'tools/call set_status', kind: 'server', attributes: { 'mcp.method': 'tools/call' } },
    attributes: ['mcp.session.id', 'mcp.tool.name'],
    events: exception,
    log: ['', 'mcp.session.id'],
    resource: process,
  },
  {
    name: 'autotel',
    scope: 'autotel-mcp-instrumentation',
    span: { name: 'tools/call set_status', kind: 'client', attributes: semconv },
    attributes: ['error.message', 'error.stack', 'error.code', 'mcp.failure.fingerprint', 'code.function'],
    events: [...exception, ['exception', 'exception.message']],
    log: ['', 'error.stack'],
    resource: process,
  },
  {
    name: 'Sentry',
    scope: '@sentry/node',
    span: { name: 'tools/call set_status', kind: 'server', attributes: { 'mcp.method.name': 'tools/call' } },
    attributes: [
      'mcp.request.argument.title',
      'mcp.tool.result.content',
      'mcp.client.title',
      'mcp.session.id',
    ],
    events: exception,
    log: ['', 'mcp.tool.result.content'],
    resource: process,
  },
  {
    name: 'dd-trace, through an OTLP exporter',
    scope: 'dd-trace',
    span: { name: 'mcp.request', kind: 'client', attributes: { 'resource.name': 'client_tool_call' } },
    attributes: ['error.message', 'error.stack', 'resource.name', '_ml_obs.meta.output.value'],
    events: exception,
    log: ['', 'error.stack'],
    resource: process,
  },
  {
    name: 'agentcat',
    scope: 'mcpcat',
    span: { name: 'mcp:tools/call', kind: 'server', attributes: { 'mcp.event_type': 'mcp:tools/call' } },
    attributes: ['mcp.user_intent', 'mcp.actor_name', 'mcp.actor_id', 'mcp.resource_name'],
    events: exception,
    log: ['', 'mcp.user_intent'],
    resource: process,
  },
  {
    name: 'mcp-trace (records, no spans)',
    scope: 'mcp-trace',
    span: { name: 'tools/call', kind: 'internal', attributes: { 'mcp.method.name': 'tools/call' } },
    attributes: ['request.params', 'response.result', 'entity_params', 'entity_response'],
    events: exception,
    log: ['', 'entity_response'],
    resource: process,
  },
  {
    name: 'Python SDK',
    scope: 'mcp-python-sdk',
    span: { name: 'tools/call set_status', kind: 'server', attributes: semconv },
    attributes: ['mcp.resource.uri', 'gen_ai.prompt.variable.name', 'gen_ai.tool.call.arguments'],
    events: exception,
    log: ['', 'gen_ai.tool.call.result'],
    resource: process,
  },
  {
    name: 'C# SDK',
    scope: 'Experimental.ModelContextProtocol',
    span: { name: 'tools/call set_status', kind: 'server', attributes: semconv },
    attributes: ['mcp.resource.uri', 'gen_ai.tool.call.arguments', 'mcp.session.id'],
    events: exception,
    log: ['', 'gen_ai.tool.call.arguments'],
    resource: process,
  },
  {
    name: 'FastMCP',
    scope: 'fastmcp',
    span: { name: 'tools/call set_status', kind: 'server', attributes: semconv },
    attributes: ['enduser.id', 'enduser.scope', 'fastmcp.component.key', 'fastmcp.server.name'],
    events: exception,
    log: ['', 'enduser.id'],
    resource: process,
  },
  {
    name: 'agentgateway',
    scope: 'agentgateway',
    span: { name: 'upstream', kind: 'client', attributes: semconv },
    attributes: ['mcp.error.message', 'mcp.target', 'mcp.resource.uri', 'mcp.session.id'],
    events: exception,
    log: ['', 'mcp.error.message'],
    resource: process,
  },
  {
    name: 'Envoy AI gateway',
    scope: 'envoyproxy/ai-gateway',
    span: { name: 'CallTool', kind: 'client', attributes: semconv },
    attributes: ['mcp.request.arguments', 'mcp.session.id', 'mcp.tool.result'],
    events: exception,
    log: ['', 'mcp.request.arguments'],
    resource: process,
  },
  {
    name: 'HTTP and database instrumentations',
    scope: '@opentelemetry/instrumentation-http',
    span: { name: 'POST', kind: 'client', attributes: { 'http.request.method': 'POST' } },
    attributes: ['url.full', 'url.path', 'url.query', 'http.request.header.authorization', 'db.query.text'],
    events: exception,
    log: ['', 'url.full'],
    resource: process,
  },
];

/** Names that may leave and hold free text: only what is recognizable by its form is kept in here. */
export const freeFormKeys: readonly string[] = [
  'waybill.operation.id',
  'waybill.run.id',
  'jsonrpc.request.id',
  'server.address',
  'gen_ai.request.model',
];
/** Names that may leave and hold a name: text in them is replaced as a whole. */
export const nameKeys: readonly string[] = [
  'gen_ai.tool.name',
  'error.type',
  'mcp.method.name',
  'gen_ai.prompt.name',
];
