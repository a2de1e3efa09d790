/**
 * The methods that are patched, by the class that owns them. A class is recognised by the methods of its prototype and
 * never by its name or by the file it came from: bundlers rename both. Read in SDK 1.10 to 1.32 and 2.0 to 2.4.
 */
export type PatchedClass =
  | 'Protocol'
  | 'Client'
  | 'McpServer'
  | 'StreamableHTTPClientTransport'
  | 'SSEClientTransport'
  | 'StdioClientTransport'
  | 'ReadBuffer';

export type HookPoint =
  | 'Protocol.connect'
  | 'Protocol.request'
  | 'Protocol._requestWithSchemaViaCodec'
  | 'Protocol._onclose'
  | 'Protocol._onrequest'
  | 'Protocol._onresponse'
  | 'Protocol._onnotification'
  | 'Client.callTool'
  | 'Client._resolveNonCompleteResult'
  | 'McpServer.connect'
  | 'StreamableHTTPClientTransport.start'
  | 'StreamableHTTPClientTransport._handleSseStream'
  | 'SSEClientTransport.start'
  | 'StdioClientTransport.start'
  | 'ReadBuffer.append';

export interface HookDefinition {
  readonly point: HookPoint;
  readonly class: PatchedClass;
  readonly method: string;
  /** `optional`: exists in one SDK major only, so that its absence costs nothing. */
  readonly need: 'required' | 'optional';
  /** What can no longer be seen when the method is not there. */
  readonly lost: string;
}

export const HOOKS: readonly HookDefinition[] = [
  {
    point: 'Protocol.connect',
    class: 'Protocol',
    method: 'connect',
    need: 'required',
    lost: 'messages sent before the first request of a connection',
  },
  {
    // One of the two request funnels exists: `missing` is told by `patchExports` when neither does.
    point: 'Protocol._requestWithSchemaViaCodec',
    class: 'Protocol',
    method: '_requestWithSchemaViaCodec',
    need: 'optional',
    lost: 'retries inside the SDK (2.x)',
  },
  {
    point: 'Protocol.request',
    class: 'Protocol',
    method: 'request',
    need: 'required',
    lost: 'every outgoing request',
  },
  {
    point: 'Protocol._onclose',
    class: 'Protocol',
    method: '_onclose',
    need: 'optional',
    lost: 'the duration of sessions',
  },
  {
    point: 'Protocol._onrequest',
    class: 'Protocol',
    method: '_onrequest',
    need: 'required',
    lost: 'every incoming request',
  },
  {
    point: 'Protocol._onresponse',
    class: 'Protocol',
    method: '_onresponse',
    need: 'required',
    lost: 'client.result_received, late results, strict ids',
  },
  {
    point: 'Protocol._onnotification',
    class: 'Protocol',
    method: '_onnotification',
    need: 'required',
    lost: 'progress seen before a timeout',
  },
  {
    point: 'Client.callTool',
    class: 'Client',
    method: 'callTool',
    need: 'required',
    lost: 'local validation of results, legs of one call',
  },
  {
    point: 'Client._resolveNonCompleteResult',
    class: 'Client',
    method: '_resolveNonCompleteResult',
    need: 'optional',
    lost: 'the end of a leg that asks for input (2.x)',
  },
  {
    point: 'McpServer.connect',
    class: 'McpServer',
    method: 'connect',
    need: 'required',
    lost: 'annotations of the registered tools before tools/list',
  },
  {
    point: 'StreamableHTTPClientTransport.start',
    class: 'StreamableHTTPClientTransport',
    method: 'start',
    need: 'required',
    lost: 'HTTP status, content type and bytes',
  },
  {
    point: 'StreamableHTTPClientTransport._handleSseStream',
    class: 'StreamableHTTPClientTransport',
    method: '_handleSseStream',
    need: 'required',
    lost: 'how an event stream ended',
  },
  {
    point: 'SSEClientTransport.start',
    class: 'SSEClientTransport',
    method: 'start',
    need: 'required',
    lost: 'HTTP status of posts',
  },
  {
    point: 'StdioClientTransport.start',
    class: 'StdioClientTransport',
    method: 'start',
    need: 'required',
    lost: 'how a pipe ended',
  },
  {
    point: 'ReadBuffer.append',
    class: 'ReadBuffer',
    method: 'append',
    need: 'required',
    lost: 'bytes of reply lines that never ended',
  },
];
